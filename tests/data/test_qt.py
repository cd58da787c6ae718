"""Files of Qt Linguist: every message becomes a pair or is counted with the reason."""

from pathlib import Path

import pytest
from helpers.segment_files import SegmentFiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FILES = SegmentFiles("qt", "app_de.ts")
split_of, pairs, refusal = FILES.split, FILES.pairs, FILES.refusal


def ts(*messages: str, languages: str = 'sourcelanguage="en_US" language="de_DE"') -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n'
        f'<TS version="2.1" {languages}><context><name>Window</name>{"".join(messages)}</context></TS>'
    )


def message(source: str, translation: str, kind: str = "", numerus: bool = False) -> str:
    of_kind, of_numbers = kind and f' type="{kind}"', ' numerus="yes"' if numerus else ""
    return (
        f'<message{of_numbers}><location filename="a.cpp" line="1"/><source>{source}</source><comment>x</comment>'
        f"<translation{of_kind}>{translation}</translation></message>"
    )


def test_messages_are_pairs_or_are_counted_with_the_reason(tmp_path: Path) -> None:
    split = split_of(
        tmp_path,
        ts(
            message("Open &amp;file", "Datei ö&amp;ffnen"),
            message("Close", "", "unfinished"),
            message("Save", "Sichern", "unfinished"),
            message("Old", "Alt", "vanished"),
            message("Older", "Älter", "obsolete"),
            message("OK", "OK"),
            "<message><source>Alone</source></message>",
        ),
    )
    assert list(split.pairs()) == [("Open &file", "Datei ö&ffnen"), ("OK", "OK")]  # somebody has finished it
    assert split.tallies[0].left_out == {"empty": 1, "fuzzy": 1, "obsolete": 2, "without German": 1}


def test_the_last_form_of_a_plural_translates_the_source(tmp_path: Path) -> None:
    forms = ("%n файл", "%n файла", "%n файлов")
    numbers = "".join(f"<numerusform>{form}</numerusform>" for form in forms)
    one = ts(message("%n file(s)", numbers, numerus=True), languages='sourcelanguage="en" language="ru"')
    split = split_of(tmp_path, one, tgt_lang="ru")
    assert list(split.pairs()) == [("%n file(s)", "%n файлов")]
    assert split.tallies[0].left_out == {"in plural forms without a counterpart": 2}
    unfinished = one.replace("<translation>", '<translation type="unfinished">')
    assert refusal(tmp_path, unfinished, tgt_lang="ru").endswith(
        "left out: 2 in plural forms without a counterpart, 1 fuzzy; no pair is left; name other files"
    )


def test_the_first_and_longest_of_several_lengths_is_read(tmp_path: Path) -> None:
    lengths = "<lengthvariant>Einstellungen</lengthvariant>\n<lengthvariant>Einst.</lengthvariant>"
    one = message("Settings", lengths).replace("<translation>", '<translation variants="yes">')
    assert pairs(tmp_path, ts(one)) == [("Settings", "Einstellungen")]


def test_characters_that_xml_cannot_hold_are_codes(tmp_path: Path) -> None:
    one = ts(message('a<byte value="x1b"/>b', 'c<byte value="x1b"/>d'))
    assert pairs(tmp_path, one) == [("ab", "cd")]


@pytest.mark.parametrize(
    ("languages", "direction", "expected"),
    [
        ('sourcelanguage="en" language="de_AT"', ("en", "de"), ("dog", "Hund")),
        ('sourcelanguage="en" language="de_AT"', ("de", "en"), ("Hund", "dog")),
        ('language="de"', ("en", "de"), ("dog", "Hund")),  # a source that the file does not name
        ('language="de"', ("de", "en"), ("Hund", "dog")),
        ("", ("en", "de"), ("dog", "Hund")),
    ],
)
def test_languages_of_the_file_decide_the_sides(tmp_path, languages, direction, expected):
    one = ts(message("dog", "Hund"), languages=languages)
    assert pairs(tmp_path, one, src_lang=direction[0], tgt_lang=direction[1]) == [expected]


def test_languages_that_are_not_there_are_one_error(tmp_path: Path) -> None:
    said = refusal(tmp_path, ts(message("dog", "Hund")), tgt_lang="fr")
    assert said.endswith("set them to languages that are there: en_US, de_DE")


@pytest.mark.parametrize("inside", ["message", "translation", "source"])
def test_entities_are_refused_wherever_they_are(tmp_path: Path, inside: str) -> None:
    one = ts(message("dog", "Hund")).replace("<!DOCTYPE TS>", '<!DOCTYPE TS [<!ENTITY e "x">]>')
    assert "&e; is an entity, which nmt never expands" in refusal(
        tmp_path, one.replace(f"</{inside}>", f"&e;</{inside}>")
    )


def test_files_of_another_kind_are_named(tmp_path: Path) -> None:
    assert "its first element is <tmx>, not <ts>; name another file" in refusal(tmp_path, "<tmx/>")


@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("ab <>&é"), max_size=4),
            st.lists(st.text(st.sampled_from("cd <>&ü"), max_size=4), min_size=1, max_size=3),
            st.sampled_from(["", "unfinished", "vanished", "obsolete"]),
        ),
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_message_is_one_pair_or_one_reason(tmp_path, messages):
    """Against the rules once more, on random messages."""

    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    written, expected = [], []
    for source, forms, kind in messages:
        inside = "".join(f"<numerusform>{escaped(form)}</numerusform>" for form in forms)
        written.append(message(escaped(source), inside if len(forms) > 1 else escaped(forms[0]), kind))
        if not kind and source.strip() and forms[-1].strip():
            expected.append((source, forms[-1]))
    units = sum(len(forms) for _, forms, _ in messages)
    if not expected:
        refusal(tmp_path, ts(*written))
        return
    split = split_of(tmp_path, ts(*written))
    assert list(split.pairs()) == expected
    assert split.tallies[0].units == units
    assert sum(split.tallies[0].left_out.values()) == units - len(expected)
