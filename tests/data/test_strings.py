"""Strings of apps: what has the same key in two files is a pair, all else is counted with the reason."""

import gzip
import json
import plistlib
import re
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import javaproperties
import pytest
import yaml
from helpers.small_corpora import data_config
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.formats.icu import MOST_FORMS, forms_of
from nmt.data.formats.keyed import Place
from nmt.data.formats.strings import read_strings
from nmt.data.readers import find_split
from nmt.data.split import Split
from nmt.errors import ConfigError, DataError, NmtError

Files = dict[str, str | bytes]
TEXTS = {"greeting": "Hello!", "sign.in": "Sign in", "left": "Left"}
NAMES = st.text("abcXYZ_", min_size=1, max_size=8)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)


def split_of(folder: Path, files: Files, **changes: object) -> Split:
    """The training split of two files, the source first."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    src, tgt = files
    given = {"src_lang": "en", "tgt_lang": "de", "root": str(folder)} | changes
    split = find_split(data_config("auto", train=SplitConfig(src, tgt, None), **given), "train", folder)
    assert split is not None
    return split


def pairs_and_counts(folder: Path, files: Files, **changes: object) -> tuple[list[tuple[str, str]], str]:
    """The pairs, and what the report says of them."""
    split = split_of(folder, files, **changes)
    return list(split.pairs()), str(split.tallies[0])


def refusal(folder: Path, files: Files, kind: type[NmtError] = DataError, **changes: object) -> str:
    """The one line that says why the files cannot be read."""
    with pytest.raises(kind) as error:
        list(split_of(folder, files, **changes).pairs())
    text = str(error.value)
    assert "\n" not in text
    assert "; " in text
    return text


def android(body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">'
        f"{body}</resources>"
    )


def test_yaml_of_rails(tmp_path: Path) -> None:
    source = """en:
  hello: "Hello"
  no: No way
  count: 12
  switch: yes
  nested: {deeper: {still: "Deep", none: ~}}
  steps: [First, Second]
  files:
    one: one file
    other: "%{count} files"
  only_here: Only here
  name: WordPress
"""
    target = """de:
  name: WordPress
  steps: [Erstens, Zweitens]
  files: {one: eine Datei, other: "%{count} Dateien"}
  nested: {deeper: {still: Tief}}
  no: Auf keinen Fall
  hello: Hallo
  only_there: Nur da
"""
    pairs, said = pairs_and_counts(tmp_path, {"en.yml": source, "de.yml": target})
    assert pairs == [
        ("Hello", "Hallo"), ("No way", "Auf keinen Fall"), ("Deep", "Tief"), ("First", "Erstens"),
        ("Second", "Zweitens"), ("one file", "eine Datei"), ("%{count} files", "%{count} Dateien"),
    ]  # fmt: skip
    assert said == (
        "en.yml and de.yml: 10 strings, 7 pairs; left out: "
        "1 without German, 1 copied from the source, 1 without English"
    )


@pytest.mark.parametrize(
    ("language", "forms", "singular", "several"),
    [
        ("ru", {"one": "файл", "few": "файла", "many": "файлов", "other": "файла"}, "файл", "файлов"),
        ("cs", {"one": "soubor", "few": "soubory", "many": "souboru", "other": "souborů"}, "soubor", "souborů"),
        ("ja", {"other": "ファイル"}, "ファイル", "ファイル"),
        ("ar", dict.fromkeys(("zero", "two", "few", "many"), "x") | {"one": "ملف", "other": "ملفات"}, "ملف", "ملفات"),
    ],
)
def test_a_plural_with_more_or_fewer_forms_than_the_source(
    tmp_path: Path, language: str, forms: dict[str, str], singular: str, several: str
) -> None:
    """The form for one and that for a hundred, as CLDR has them for this language."""
    items = "".join(f'<item quantity="{quantity}">{text}</item>' for quantity, text in forms.items())
    files: Files = {
        "values/strings.xml": android(
            '<plurals name="files"><item quantity="one">file</item><item quantity="other">files</item></plurals>'
        ),
        "values-xx/strings.xml": android(f'<plurals name="files">{items}</plurals>'),
    }
    pairs, said = pairs_and_counts(tmp_path, files, tgt_lang=language)
    assert pairs == [("file", singular), ("files", several)]
    assert said.startswith("values/strings.xml and values-xx/strings.xml: ")
    unused = len(forms) - len({singular, several})
    assert said.endswith(f"left out: {unused} without English" if unused else "2 pairs")


def test_strings_of_android(tmp_path: Path) -> None:
    source = android(r"""
        <string name="a">Don\'t <b>panic</b>, <xliff:g id="who">%s</xliff:g>!<br/>Bye</string>
        <string name="key" translatable="false">api_key</string>
        <string name="other">@string/a</string>
        <string name="spaces">
            Two
            lines\nand \u00e9 \ud83d\ude00</string>
        <string name="kept">"It's \"so\""</string>
        <string name="device" product="tablet">Your tablet</string>
        <string name="device">Your phone</string>
        <string name="lonely">Lonely</string>
        <string-array name="days"><item>Monday</item><item>Tuesday</item></string-array>""")
    target = android(r"""
        <string name="days">Not an array</string>
        <string-array name="days"><item>Montag</item><item>Dienstag</item></string-array>
        <string name="device">Dein Handy</string>
        <string name="device" product="tablet">Dein Tablet</string>
        <string name="kept">Es ist so</string>
        <string name="spaces">Zwei Zeilen</string>
        <string name="other">@string/a</string>
        <string name="a">Keine <b>Panik</b>, <xliff:g id="who">%s</xliff:g>!<br/>Tschüss</string>""")
    files: Files = {"en.xml": source, "de.xml": target}
    pairs, said = pairs_and_counts(tmp_path, files)
    assert pairs == [
        ("Don't panic, %s! Bye", "Keine Panik, %s! Tschüss"), (" Two lines and é 😀", "Zwei Zeilen"),
        ('It\'s "so"', "Es ist so"), ("Your tablet", "Dein Tablet"), ("Your phone", "Dein Handy"),
        ("Monday", "Montag"), ("Tuesday", "Dienstag"),
    ]  # fmt: skip
    assert said.endswith("; left out: 2 without German, 1 not to be translated, 1 without English")
    kept, _ = pairs_and_counts(tmp_path, files, inline="keep")
    assert kept[0] == ("Don't <1>panic</1>, <2>%s</2>!<3/>Bye", "Keine <1>Panik</1>, <2>%s</2>!<3/>Tschüss")


def test_strings_of_flutter_with_plurals_of_icu(tmp_path: Path) -> None:
    source = {
        "@@locale": "en", "hello": "Hello {name}", "@hello": {"placeholders": {"name": {}}},
        "mail": "You have {n, plural, =0{no mail} one{one mail} other{{n} mails}}.",
        "who": "{sex, select, female{her {n, plural, one{hat} other{hats}}} other{their hats}}",
    }  # fmt: skip
    target = {
        "@@locale": "de", "hello": "Hallo {name}",
        "mail": "Sie haben {n, plural, =0{keine Post} =1{eine Nachricht} other{{n} Nachrichten}}.",
        "who": "{sex, select, female{ihr{n, plural, one{ Hut} other{e Hüte}}} other{ihre Hüte}}",
    }  # fmt: skip
    files: Files = {"app_en.arb": json.dumps(source), "app_de.arb": json.dumps(target, indent=1)}
    pairs, said = pairs_and_counts(tmp_path, files)
    assert pairs == [
        ("Hello {name}", "Hallo {name}"), ("You have no mail.", "Sie haben keine Post."),
        ("You have one mail.", "Sie haben eine Nachricht."), ("You have {n} mails.", "Sie haben {n} Nachrichten."),
        ("her hat", "ihr Hut"), ("her hats", "ihre Hüte"), ("their hats", "ihre Hüte"),
    ]  # fmt: skip
    assert said == "app_en.arb and app_de.arb: 7 strings, 7 pairs"
    assert "app_de.arb is in de, but data.tgt_lang=fr; name another file" in refusal(tmp_path, files, tgt_lang="fr")
    assert list(split_of(tmp_path, files, src_lang=None, tgt_lang=None).pairs()) == pairs


def test_json_of_i18next_and_of_extensions(tmp_path: Path) -> None:
    source = {
        "menu": {"file": "File", "items_one": "{{count}} item", "items_other": "{{count}} items"},
        "appName": {"message": "Bears", "description": "A name"}, "version": 3, "some_one": "Somebody",
    }  # fmt: skip
    target = {
        "menu": {"file": "Datei", "items_one": "{{count}} Eintrag", "items_other": "{{count}} Einträge"},
        "appName": {"message": "Bären", "placeholders": {}}, "version": 3, "some_one": "Jemand",
    }  # fmt: skip
    pairs, _ = pairs_and_counts(tmp_path, {"en.json": json.dumps(source), "de.json": json.dumps(target)})
    assert pairs == [
        ("File", "Datei"), ("{{count}} item", "{{count}} Eintrag"), ("{{count}} items", "{{count}} Einträge"),
        ("Bears", "Bären"), ("Somebody", "Jemand"),
    ]  # fmt: skip


def test_strings_of_apple(tmp_path: Path) -> None:
    source = '/* A "greeting" */\n"hi" = "Hello \\"you\\"\\nthere";\n// more\n"Sign in";\nbare = "Bare"; "c"="C";'
    target = '"hi"\t=\t"Hallo \\U00e4\\ud83d\\ude00";\n"Sign in" = "Anmelden";\nbare = word;\n"d" = "D";'
    pairs, said = pairs_and_counts(tmp_path, {"en.strings": source.encode("utf-16"), "de.strings": target})
    assert pairs == [('Hello "you" there', "Hallo ä😀"), ("Sign in", "Anmelden"), ("Bare", "word")]
    assert said.endswith("left out: 1 without German, 1 without English")


def test_properties_of_java(tmp_path: Path) -> None:
    source = "# A comment\n! another\nhello=Hello\nlong : one \\\n    two\nkey\\ with\\ spaces value\nempty=\n"
    target = "hello=Gr\\u00fc\u00df dich\nlong=eins zwei\nkey\\ with\\ spaces=Wert\nempty=leer\n"
    pairs, said = pairs_and_counts(tmp_path, {"m_en.properties": source, "m_de.properties": target})
    assert pairs == [("Hello", "Grüß dich"), ("one two", "eins zwei"), ("value", "Wert")]
    assert said.endswith("left out: 1 empty")


def to_apple(texts: dict[str, str]) -> bytes:
    quoted = {key: text.replace("\\", "\\\\").replace('"', '\\"') for key, text in texts.items()}
    return "".join(f'"{key}" = "{text}";\n' for key, text in quoted.items()).encode()


def to_android(texts: dict[str, str]) -> bytes:
    escaped = {key: escape(re.sub(r"([\\'\"@?])", r"\\\1", text)) for key, text in texts.items()}
    return android("".join(f'<string name="{key}">{text}</string>' for key, text in escaped.items())).encode()


WRITERS: dict[str, Callable[[dict[str, str]], bytes]] = {
    "a.json": lambda texts: json.dumps(texts).encode(),
    "a.arb": lambda texts: json.dumps({"@@locale": "en", **texts}, ensure_ascii=False).encode("utf-8-sig"),
    "a.yml": lambda texts: yaml.safe_dump({"en": texts}, allow_unicode=True).encode(),
    "a.yaml.gz": lambda texts: gzip.compress(yaml.safe_dump(texts, default_style='"').encode()),
    "a.properties": lambda texts: javaproperties.dumps(texts, timestamp=False).encode(),
    "a.strings": to_apple,
    "strings.xml": to_android,
}


@pytest.mark.parametrize("name", WRITERS)
@given(texts=st.dictionaries(NAMES, ANY_TEXT, min_size=1, max_size=5))
def test_what_others_write_is_read(tmp_path_factory: pytest.TempPathFactory, name: str, texts: dict[str, str]) -> None:
    """By the writers of the standard library and others; Android's spaces are one."""
    path = tmp_path_factory.mktemp("strings") / name
    path.write_bytes(WRITERS[name](texts))
    found = read_strings(path, None).texts
    expected = {Place(key): text for key, text in texts.items()}
    if name == "strings.xml":
        expected = {key: re.sub(r"\s+", " ", text) for key, text in expected.items()}
    assert {place: "".join(map(str, keyed.text)) for place, keyed in found.items()} == expected


def test_apples_own_reader_agrees(tmp_path: Path) -> None:
    """The old property lists of the standard library are of XML; its texts are the same."""
    texts = {"a b": 'x "y" ü', "c": "d\\e"}
    (tmp_path / "a.strings").write_bytes(to_apple(texts))
    found = {place.key: keyed.text[0] for place, keyed in read_strings(tmp_path / "a.strings", None).texts.items()}
    assert found == plistlib.loads(plistlib.dumps(texts))


@given(st.lists(st.sampled_from(["one", "few", "other"]), min_size=1, max_size=3, unique=True), ANY_TEXT, ANY_TEXT)
def test_forms_of_a_message(selectors: list[str], before: str, text: str) -> None:
    """Each form is the message as it reads with that choice."""
    before, text = (re.sub(r"[{}]", "", part) for part in (before, text))
    branches = " ".join(f"{selector} {{{selector} # {text}}}" for selector in selectors)
    found = forms_of(f"{before}{{count, plural, offset:1 {branches} }}{text}")
    assert found == {(selector,): f"{before}{selector} # {text}{text}" for selector in selectors}


@pytest.mark.parametrize(
    "message",
    [
        "plain {name}", "{n, plural}", "{n, plural, }", "{n, plural, one{a}", "{n, plural, one{a} other}", "{",
        "{n, plural, one{a} other{b}" + "{" * 30, "{d, date, short}",
        "".join(f"{{n{i}, select, a{{x}} b{{y}} other{{z}}}}" for i in range(5)), "{n, select, a{" * 20 + "}}" * 20,
    ],
)  # fmt: skip
def test_what_is_no_choice_or_too_many_is_a_plain_text(message: str) -> None:
    assert MOST_FORMS < 3**5
    assert forms_of(message) == {(): message}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.yml", "en: {a: [b", "not valid YAML"),
        ("a.yml", "- just\n- a list\n", "is YAML without a name for each text"),
        ("a.yml", "a: &x [b]\nc: &y [*x, *x]\nd: [*y, *y]\n" + "e: " + "[" * 60 + "]" * 60, "nested more than 50"),
        ("a.json", '{"a": "b",}', "line 1: not valid JSON"),
        ("a.json", '{"a": "b"}\n{"a": "c"}\n', "read JSON lines with data=jsonl"),
        ("a.json", '[{"a": "b"}]', "is JSON without a name for each text; read rows with data=jsonl"),
        ("a.json", '{"a":' * 60 + '"b"' + "}" * 60, "nested more than 50 deep"),
        ("a.strings", '"a" = "b"\n"c" = "d";', 'line 1: "a" = "b" is not "KEY" = "TEXT"'),
        ("a.properties", "a=\\u12\n", "correct the file"),
        ("a.strings", b'"a" = "\xfcber";\n"b" = "\xe4hnlich";\n', "line 1: byte 0xfc is not valid UTF-8; set data.enc"),
        ("a.properties", b"a=b\0c\n", "line 1: has NUL characters"),
        ("a.xml", "<resources><string name='a'>&evil;</string></resources>", "not well-formed XML"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    text = refusal(tmp_path, {name: content, f"de/{name}": content})
    assert said in text
    assert str(tmp_path / name) in text


def test_other_files_are_no_strings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not hold strings of an app \(Android's XML, JSON, YAML"):
        read_strings(_written(tmp_path / "a.txt", b"Only text.\n"), None)
    with pytest.raises(DataError, match="does not hold strings of an app"):
        read_strings(_written(tmp_path / "b.tmx", b"<tmx>\n</tmx>"), None)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_an_encoding_may_be_set(tmp_path: Path) -> None:
    files: Files = {"en.strings": '"a" = "Pear";', "de.strings": '"a" = "Süß";'.encode("cp1252")}
    assert pairs_and_counts(tmp_path, files, encoding="cp1252")[0] == [("Pear", "Süß")]


def test_nothing_in_common_and_one_language_are_refused(tmp_path: Path) -> None:
    files: Files = {"en.json": '{"a": "b"}', "de.json": '{"c": "d"}'}
    said = "2 strings, 0 pairs; left out: 1 without German, 1 without English; no pair is left"
    assert said in refusal(tmp_path, files)
    assert "are both de" in refusal(tmp_path, files, ConfigError, src_lang="de")


def test_files_of_a_list_are_told_apart_by_names_and_folders(tmp_path: Path) -> None:
    for name, text in {"values-en/strings.xml": "Pear", "values-de/strings.xml": "Birne"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(android(f'<string name="a">{text}</string>'))
    train = SplitConfig(None, None, ["values-de/strings.xml", "values-en/strings.xml"])
    data = data_config("auto", root=str(tmp_path), train=train, src_lang="en", tgt_lang="de")
    split = find_split(data, "train", tmp_path)
    assert split is not None
    assert list(split.pairs()) == [("Pear", "Birne")]
    assert "train: values-en/strings.xml is read with values-de/strings.xml" in split.notes
