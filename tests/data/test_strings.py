"""Strings of apps: texts with the same key in two files are a pair, all others are counted with the reason."""

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
from nmt.data.corpus import read_corpus
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


def test_another_encoding_is_another_corpus(tmp_path: Path) -> None:
    plain = "".join(f"k{n}=House {n}\n" for n in range(5))
    other = "".join(f"k{n}=Дом {n}\n" for n in range(5)).encode("cp1251")
    for name, content in (("s.en.properties", plain.encode()), ("s.ru.properties", other)):
        (tmp_path / name).write_bytes(content)
    found = []
    for encoding in ("cp1252", "cp1251"):
        train = SplitConfig("s.en.properties", "s.ru.properties", None)
        data = data_config(
            "auto", root=str(tmp_path), train=train, encoding=encoding, tgt_lang="ru", dev_size=0, test_size=0
        )
        found.append(read_corpus(data, tmp_path / "cache").train[0]["tgt"])
    assert found == ["Äîì 0", "Дом 0"]


def android(body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">'
        f"{body}</resources>"
    )


def resx(body: str) -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<root>
  <!-- Microsoft ResX Schema -->
  <resheader name="resmimetype"><value>text/microsoft-resx</value></resheader>
  {body}
</root>"""


def test_resources_of_net(tmp_path: Path) -> None:
    source = resx("""<data name="Hello" xml:space="preserve"><value>Hello {0}</value><comment>greeting</comment></data>
  <data name="$this.Text"><value>Window</value></data>
  <data name="$this.Size" type="System.Drawing.Size, System.Drawing"><value>10, 20</value></data>
  <data name="Logo" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>logo.png;System</value></data>
  <data name="icon" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>AAEC</value></data>
  <data name="&gt;&gt;label.Name"><value>label</value></data>
  <data name="Typed" type="System.String, mscorlib"><value>Two
  lines &amp; more</value></data>
  <data name="None"/>
  <data name="Left"><value>Left</value></data>""")
    target = resx("""<data name="Typed"><value>Zwei Zeilen</value></data>
  <data name="Hello"><value>Hallo {0}</value></data>
  <data name="None"><value>Nichts</value></data>
  <data name="$this.Text"><value>Fenster</value></data>""")
    pairs, said = pairs_and_counts(tmp_path, {"Texts.en.resx": source, "Texts.de.resx": target})
    assert pairs == [("Hello {0}", "Hallo {0}"), ("Window", "Fenster"), ("Two lines & more", "Zwei Zeilen")]
    assert said.endswith("; left out: 1 empty, 1 without German")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.resx", '<root><data name="a">&e;<value>b</value></data></root>'),
        ("a.xml", '<resources><plurals name="a">&e;<item quantity="one">b</item></plurals></resources>'),
        ("b.xml", '<resources><string name="a">b&e;</string></resources>'),
    ],
)
def test_entities_are_refused_wherever_they_are(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(f'<!DOCTYPE x [<!ENTITY e "x">]>\n{content}')
    with pytest.raises(DataError, match="&e; is an entity, which nmt never expands; write its text in its place"):
        read_strings(tmp_path / name, None)


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
    assert said.endswith(f"left out: {unused} in plural forms without a counterpart" if unused else "2 pairs")
    back, _ = pairs_and_counts(tmp_path, dict(reversed(files.items())), src_lang=language, tgt_lang="en")
    assert set(back) == {(several, "files"), *([] if singular == several else [(singular, "file")])}


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
        "version": 3, "some_one": "Somebody",
    }  # fmt: skip
    target = {
        "menu": {"file": "Datei", "items_one": "{{count}} Eintrag", "items_other": "{{count}} Einträge"},
        "version": 3, "some_one": "Jemand",
    }  # fmt: skip
    pairs, _ = pairs_and_counts(tmp_path, {"en.json": json.dumps(source), "de.json": json.dumps(target)})
    assert pairs == [
        ("File", "Datei"), ("{{count}} item", "{{count}} Eintrag"), ("{{count}} items", "{{count}} Einträge"),
        ("Somebody", "Jemand"),
    ]  # fmt: skip
    files: Files = {
        "_locales/en/messages.json": '{"appName": {"message": "Bears", "description": "A name"}}',
        "_locales/de/messages.json": '{"appName": {"message": "Bären", "placeholders": {}}}',
    }
    assert pairs_and_counts(tmp_path, files) == (
        [("Bears", "Bären")],
        "en/messages.json and de/messages.json: 1 string, 1 pair",
    )


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


def test_names_without_quotation_marks_and_comments_within_entries_of_apple(tmp_path: Path) -> None:
    """As in InfoPlist.strings; the suffix decides, since the lines look like properties."""
    source = 'CFBundleName = "Photos";\nNSCamera /* why */ = \'The camera\';\nc = /* x */ "C" // y\n ;\n'
    pairs, _ = pairs_and_counts(tmp_path, {"en.strings": source, "de.strings": source.replace("e camera", "ie Kamera")})
    assert pairs == [("The camera", "Thie Kamera")]
    files: Files = {"en": 'a = "Pear";\nb = "Dog";\nc = "Cat";\n', "de": 'a = "Birne";\nb = "Hund";\nc = "Katze";\n'}
    assert pairs_and_counts(tmp_path, files)[0] == [("Pear", "Birne"), ("Dog", "Hund"), ("Cat", "Katze")]


def test_apostrophes_of_java_that_are_doubled_are_single(tmp_path: Path) -> None:
    source = "a=It is {0}''s file\nb=Don't ask '{0}'\nc=''quoted''\n"
    target = "a=L''objet de {0}\nb=N''importe\nc=d''ici\n"
    files: Files = {"m_en.properties": source, "m_fr.properties": target}
    assert pairs_and_counts(tmp_path, files, tgt_lang="fr")[0] == [
        ("It is {0}'s file", "L'objet de {0}"), ("Don't ask {0}", "N'importe"), ("''quoted''", "d'ici"),
    ]  # fmt: skip


def test_symbols_of_ruby_are_no_text(tmp_path: Path) -> None:
    files: Files = {"en.yml": "en:\n  order:\n  - :year\n  - :day\n  a: Pear\n  b: ':x'\n"}
    files["de.yml"] = "de:\n  order:\n  - :day\n  - :year\n  a: Birne\n  b: ':y'\n"
    assert pairs_and_counts(tmp_path, files)[0] == [("Pear", "Birne"), (":x", ":y")]


def test_json_of_several_lines_in_a_list_is_of_strings(tmp_path: Path) -> None:
    for name, text in {"en.json": "Pear", "de.json": "Birne"}.items():
        (tmp_path / name).write_text(json.dumps({"a": text}, indent=1))
    train = SplitConfig(None, None, ["de.json", "en.json"])
    split = find_split(
        data_config("auto", root=str(tmp_path), train=train, src_lang="en", tgt_lang="de"), "train", tmp_path
    )
    assert split is not None
    assert list(split.pairs()) == [("Pear", "Birne")]
    catalog = json.dumps({"sourceLanguage": "en", "strings": {}}, indent=1)
    assert "is a string catalog of Xcode; export it as XLIFF" in refusal(
        tmp_path, {"a.json": catalog, "b.json": catalog}
    )


def to_apple(texts: dict[str, str]) -> bytes:
    quoted = {key: text.replace("\\", "\\\\").replace('"', '\\"') for key, text in texts.items()}
    return "".join(f'"{key}" = "{text}";\n' for key, text in quoted.items()).encode()


def to_android(texts: dict[str, str]) -> bytes:
    escaped = {key: escape(re.sub(r"([\\'\"@?])", r"\\\1", text)) for key, text in texts.items()}
    return android("".join(f'<string name="{key}">{text}</string>' for key, text in escaped.items())).encode()


WRITERS: dict[str, Callable[[dict[str, str]], bytes]] = {
    "a.json": lambda texts: json.dumps(texts).encode(),
    "a.arb": lambda texts: json.dumps({"@@locale": "en", **texts}, ensure_ascii=False).encode("utf-8-sig"),
    "a.yml": lambda texts: yaml.safe_dump(texts, allow_unicode=True).encode(),
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
    if name == "a.yml":  # a symbol of Ruby, if it has no quotation marks
        expected = {key: text for key, text in expected.items() if not re.fullmatch(r":[A-Za-z_]\w*", text)}
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
    before, text = (re.sub(r"[{}']", "", part) for part in (before, text))
    branches = " ".join(f"{selector} {{{selector} # {text}}}" for selector in selectors)
    found = forms_of(f"{before}{{count, plural, offset:1 {branches} }}{text}")
    assert found == {(selector,): f"{before}{selector} # {text}{text}" for selector in selectors}


@pytest.mark.parametrize("message", ["plain {name}", "{n, plural}", "{", "{d, date, short}", "{n}, plural, {m}"])
def test_what_has_no_choice_is_a_plain_text(message: str) -> None:
    assert forms_of(message) == {(): message}


@pytest.mark.parametrize(
    "message",
    [
        "{n, plural, }", "{n, plural, one{a}", "{n, plural, one{a} other}", "{n, choice, 0#no files|1#one file}",
        "{n, plural, one{a} other{b}" + "{" * 30, "{n, plural, other{b}}" * 1000, "{n, select, a{" * 20 + "}}" * 20,
        "".join(f"{{n{i}, select, a{{x}} b{{y}} other{{z}}}}" for i in range(5)),
    ],
)  # fmt: skip
def test_choices_that_are_not_well_formed_or_too_many_are_left_out(tmp_path: Path, message: str) -> None:
    assert MOST_FORMS < 3**5
    assert forms_of(message) is None
    for name in ("a.json", "a.properties"):
        texts = {"a": message, "b": "Pear"}
        content = json.dumps(texts) if name == "a.json" else javaproperties.dumps(texts, timestamp=False)
        pairs, said = pairs_and_counts(tmp_path, {name: content, f"de/{name}": content.replace("Pear", "Birne")})
        assert pairs == [("Pear", "Birne")]
        assert said.endswith("left out: 1 with a choice of forms that is not well-formed")


def test_apostrophes_quote_braces_and_each_other_in_messages() -> None:
    message = "{user.n, plural, one{It''s '}' a file} other{'{'#'}' files}} d''ici"
    assert forms_of(message) == {("one",): "It's } a file d'ici", ("other",): "{#} files d'ici"}


def test_choices_within_choices_have_the_right_forms_each(tmp_path: Path) -> None:
    source = {"a": "{n, plural, one{# file} other{# files}} in {m, plural, one{# folder} other{# folders}}"}
    target = {
        "a": "{n, plural, one{# файл} few{# файла} many{# файлов} other{# файла}} в "
        "{m, plural, one{# папке} few{# папках} many{# папках} other{# папки}}"
    }
    files: Files = {"en.json": json.dumps(source), "ru.json": json.dumps(target)}
    pairs, said = pairs_and_counts(tmp_path, files, tgt_lang="ru")
    assert pairs == [
        ("# file in # folder", "# файл в # папке"), ("# file in # folders", "# файл в # папках"),
        ("# files in # folder", "# файлов в # папке"), ("# files in # folders", "# файлов в # папках"),
    ]  # fmt: skip
    assert said.endswith("left out: 12 in plural forms without a counterpart")


def test_plurals_without_a_general_form_and_of_older_i18next(tmp_path: Path) -> None:
    source = {"a": {"one": "file", "other": "files"}, "b_one": "day", "b_other": "days", "c": "cat", "c_plural": "cats"}
    target = {
        "a": {"one": "файл", "few": "файла", "many": "файлов"}, "b_one": "день", "b_few": "дня", "b_many": "дней",
        "c": "кот", "c_plural": "коты",
    }  # fmt: skip
    files: Files = {"en.json": json.dumps(source), "ru.json": json.dumps(target)}
    assert pairs_and_counts(tmp_path, files, tgt_lang="ru")[0] == [
        ("file", "файл"), ("files", "файлов"), ("day", "день"), ("days", "дней"), ("cat", "кот"), ("cats", "коты"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("roots", "languages"),
    [
        (("en", "es-419"), ("en", "es")), (("en", "zh-Hans-CN"), ("en", "zh")), (("en", "de_formal"), ("en", "de")),
        (("app", "app"), ("en", "de")), (("my", "my"), ("en", "de")), (("en", None), ("en", "de")),
        ((None, "no"), ("en", "nb")), (("en_GB", "sr-Latn-RS"), ("en", "sr")), (("nav", "app"), ("en", "de")),
    ],
)  # fmt: skip
def test_a_single_name_around_all_may_be_the_language(
    tmp_path: Path, roots: tuple[str | None, ...], languages: tuple[str, str]
) -> None:
    trees = [{"menu": {"file": text}, "b": text} for text in ("Pear", "Birne")]
    src, tgt = (json.dumps(tree if root is None else {root: tree}) for tree, root in zip(trees, roots, strict=True))
    pairs, _ = pairs_and_counts(tmp_path, {"a.json": src, "b.json": tgt}, src_lang=languages[0], tgt_lang=languages[1])
    assert pairs == [("Pear", "Birne")] * 2


def test_a_root_that_names_another_language_is_refused(tmp_path: Path) -> None:
    files: Files = {"a.yml": "en:\n  a: Pear\n", "b.yml": "fr:\n  a: Poire\n"}
    assert "b.yml is in fr, but data.tgt_lang=de; name another file, or set data.tgt_lang" in refusal(tmp_path, files)
    other: Files = {"a.json": '{"my": {"a": "Pear"}}', "b.json": '{"my": {"a": "Birne"}, "b": "c"}'}
    assert pairs_and_counts(tmp_path, other)[0] == [("Pear", "Birne")]


def test_names_of_messages_and_descriptions_are_texts_elsewhere(tmp_path: Path) -> None:
    source = {"error": {"message": "It failed", "description": "Try again"}, "b": "Pear"}
    target = {"error": {"message": "Fehler", "description": "Noch einmal"}, "b": "Birne"}
    files: Files = {"a.json": json.dumps(source), "b.json": json.dumps(target)}
    assert [src for src, _ in pairs_and_counts(tmp_path, files)[0]] == ["It failed", "Try again", "Pear"]


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
        ("a.strings", '"a" ' + "/* x */ // y\n" * 100 + "z", 'line 1: "a" /* x */ // y is not "KEY" = "TEXT"'),
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
    files["en.strings"] = '"a" = "Pâté";'  # in UTF-8, which the encoding of the other file leaves alone
    assert pairs_and_counts(tmp_path, files, encoding="cp1252")[0] == [("Pâté", "Süß")]


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


def test_a_wrong_escape_in_properties_names_its_line(tmp_path: Path) -> None:
    files = {"en.properties": "a=\\u12e4 Pear\n# not \\unset\nb=Set \\unset\n", "de.properties": "a=Birne\nb=c\n"}
    assert "en.properties, line 3: Invalid \\u escape sequence: \\unset; correct the file" in refusal(tmp_path, files)
