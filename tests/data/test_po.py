"""Files of gettext: translated messages and their plural forms become pairs, all else is counted with the reason."""

import gzip

import polib
import pytest
from helpers.segment_files import SegmentFiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt.data.formats import whole_text
from nmt.data.formats.po import Plurals, _plurals
from nmt.errors import ConfigError, DataError

FILES = SegmentFiles("po", "de.po")
split_of, pairs, refusal = FILES.split, FILES.pairs, FILES.refusal
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x00"), max_size=20)


def header(language="de", charset="UTF-8", plural="nplurals=2; plural=(n != 1);"):
    lines = [f"Language: {language}", f"Content-Type: text/plain; charset={charset}", f"Plural-Forms: {plural}"]
    return 'msgid ""\nmsgstr ""\n' + "".join(f'"{line}\\n"\n' for line in lines)


def message(src="A dog.", tgt="Ein Hund.", before=""):
    return f'\n{before}msgid "{src}"\nmsgstr "{tgt}"\n'


def plural(one, many, *forms):
    return f'\nmsgid "{one}"\nmsgid_plural "{many}"\n' + "".join(
        f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms)
    )


def test_messages_are_pairs_and_the_rest_is_counted(tmp_path):
    messages = [
        message(),
        message("May", "Mai", 'msgctxt "month"\n'),
        message("May", "Darf", '#| msgid "Might"\nmsgctxt "verb"\n'),
        '\nmsgid ""\n"Please "\n"wait"\nmsgstr ""\n"Bitte "\n"warten"\n',
        message("one\\ntwo", 'eins\\n\\"zwei\\"'),
        message("Open", "Öffnen", "#, fuzzy, c-format\n"),
        message("Save", ""),
        message("100 %", "100 %"),
        message("Menu", "Menu"),
        '\n#~ msgid "Old"\n#~ msgstr "Alt"\n',
    ]
    split = split_of(tmp_path, header() + "".join(messages))
    assert list(split.pairs()) == [
        ("A dog.", "Ein Hund."), ("May", "Mai"), ("May", "Darf"), ("Please wait", "Bitte warten"),
        ("one two", 'eins "zwei"'), ("100 %", "100 %"),
    ]  # fmt: skip
    counts = {"fuzzy": 1, "empty": 1, "copied from the source": 1, "obsolete": 1}
    assert split.tallies[0].left_out == counts
    assert str(split.tallies[0]).startswith("de.po: 10 segments, 6 pairs; left out: 1 ")


PLURALS = {
    "nplurals=1; plural=0;": (["[0]"], 0, 0),
    "nplurals=2; plural=(n != 1);": (["[0]", "[1]"], 0, 1),
    "nplurals=2; plural=(n > 1);": (["[0]", "[1]"], 0, 1),
    # Polish: one, few, many. Latvian: one, several, none.
    "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);": (["0", "1", "2"], 0, 2),
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);": (["0", "1", "2"], 0, 1),
    # Arabic: none, one, two, few, many, other
    "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);": (
        list("012345"), 1, 5,
    ),
    "nplurals=INTEGER; plural=EXPRESSION;": (["0", "1", "2"], 0, 2),
    "nplurals=2; plural=n/0;": (["0", "1"], 0, 1),
    "": (["0", "1"], 0, 1),
    # the rule asks for a form that is not there
    "nplurals=3; plural=(n==1 ? 0 : 2); ": (["0", "1"], 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("rule", PLURALS)
def test_singular_and_plural_have_the_forms_of_the_rule(tmp_path, rule):
    forms, one, several = PLURALS[rule]
    content = header(plural=rule) + plural("%d dog", "%d dogs", *forms)
    assert pairs(tmp_path, content) == [("%d dog", forms[one]), ("%d dogs", forms[several])]


def test_forms_that_are_not_translated_are_counted_one_by_one(tmp_path):
    content = header() + message() + plural("%d dog", "%d dogs", "", "%d Hunde") + plural("a", "b", "", "")
    split = split_of(tmp_path, content)
    assert list(split.pairs()) == [("A dog.", "Ein Hund."), ("%d dogs", "%d Hunde")]
    assert split.tallies[0].left_out == {"empty": 3}
    assert split.tallies[0].units == 5


def test_the_language_of_the_header_decides_the_direction(tmp_path):
    for language in ("de", "de_AT", "de_DE.UTF-8", "German", "", "de@informal"):
        assert pairs(tmp_path, header(language) + message()) == [("A dog.", "Ein Hund.")]
    assert pairs(tmp_path, header() + message(), src_lang="de", tgt_lang="en") == [("Ein Hund.", "A dog.")]
    assert "fr" in refusal(tmp_path, header("fr") + message(), ConfigError, src_lang=None)
    text = refusal(tmp_path, header("fr") + message())
    assert "1 without German" in text
    assert text.endswith("languages that are there: en, fr")


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "windows-1252", "utf8", "CHARSET"])
def test_the_charset_of_the_header_is_read(tmp_path, charset):
    encoding = "utf-8" if charset == "CHARSET" else charset
    content = (header(charset=charset) + message("Ferry", "Fähre")).encode(encoding)
    for variant in (content, content.replace(b"\n", b"\r\n"), content.replace(b"\n", b"\r\r\n"),
                    content.replace(b"\n", b"\r"), gzip.compress(content)):  # fmt: skip
        assert pairs(tmp_path, variant) == [("Ferry", "Fähre")]


def test_other_charsets_and_byte_order_marks_are_read(tmp_path):
    whole = header(charset="Shift_JIS") + message("Dog", "犬\\n表")  # whose second bytes may be backslashes
    assert pairs(tmp_path, whole.encode("shift_jis")) == [("Dog", "犬 表")]
    for encoding in ("utf-8-sig", "utf-16"):
        assert pairs(tmp_path, (header() + message("Ferry", "Fähre")).encode(encoding)) == [("Ferry", "Fähre")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ((header(charset="UTF-8") + message("Ferry", "Fähre")).encode("latin-1"), ", line 8: byte 0xe4 is not valid"),
        ((header(charset="ISO-8859-1") + message("F", "ähr")).encode(), ", line 4: its header names charset=ISO"),
        (header(charset="martian") + message(), ", line 4: charset=martian is unknown"),
        (header(charset="idna") + message(), ", line 4: charset=idna is unknown"),
        (header(charset="zlib") + message(), ", line 4: charset=zlib is unknown"),
        (header() + message()[:-3], ", line 8: not a PO file (a string without quotation marks)"),
        (header() + message("a", 'b" c'), ", line 8: not a PO file (a string"),
        (header() + '\n#~ msgid "a\n#~ msgstr "b"\n', ", line 7: not a PO file (a string"),
        (header() + "\nnonsense\n", ", line 7: not a PO file (wrong syntax)"),
        (header() + '\nmsgstr "b"\nmsgstr "c"\n', ", line 7: not a PO file (wrong syntax)"),
        ("A dog.\nEin Hund.\n", ", line 1: not a PO file (wrong syntax)"),
        ("", ": 0 segments, 0 pairs; no pair is left"),
        (header(), ": 0 segments, 0 pairs; no pair is left"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_line_with_its_place(tmp_path, content, expected):
    assert f"de.po{expected}" in refusal(tmp_path, content)


def test_a_file_that_is_too_large_to_be_read_as_a_whole_is_refused(tmp_path, monkeypatch):
    content = header() + message()
    monkeypatch.setattr(whole_text, "MOST_BYTES", len(content))
    assert pairs(tmp_path, content)
    assert "has more than 0 MB" in refusal(tmp_path, content + "\n")
    assert "has more than 0 MB" in refusal(tmp_path, gzip.compress(content.encode() + b"\n" * 1000))


@pytest.mark.slow
def test_strings_and_comments_of_many_lines_take_time_in_proportion(tmp_path):
    content = (
        header() + '\nmsgid ""\n' + '"a"\n' * 300_000 + '\nmsgstr "b"\n' + '"c"\n"d"\n\n#: x\n' + message("e", "f")
    )
    content += "#. x\n" * 300_000 + message("g", "h", "#, fuzzy\n")
    assert pairs(tmp_path, content) == [("a" * 300_000, "bcd"), ("e", "f")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_messages_come_back_as_they_were_written(tmp_path, written):
    written = [(f"a{src}", f"b{tgt}") for src, tgt in written]
    content = header() + "".join(message(polib.escape(src), polib.escape(tgt)) for src, tgt in written)
    assert pairs(tmp_path, content) == written


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), min_size=1, max_size=4))
def test_any_damage_ends_in_pairs_or_in_one_refusal(tmp_path, damage):
    content = (
        header() + message(before='#, fuzzy\n#| msgid "x"\nmsgctxt "c"\n') + message() + plural("a", "b", "c", "d")
    )
    blob = bytearray(content.encode())
    for place, change in damage:
        at = place % len(blob)
        blob[at : at + len(change) or at + 1] = change
    refused = ""
    try:
        pairs(tmp_path, bytes(blob))
    except DataError as error:
        refused = str(error)
    assert "\n" not in refused


@pytest.mark.parametrize(
    ("language", "forms", "one", "several"),
    [
        ("ar", ["صفر", "واحد", "اثنان", "بضعة", "كثير", "آخر"], "واحد", "آخر"),
        ("ru", ["%d файл", "%d файла", "%d файлов"], "%d файл", "%d файлов"),
        ("lv", ["%d fails", "%d faili", "%d failu"], "%d fails", "%d faili"),
        ("ja", ["%d 個"], "%d 個", "%d 個"),
    ],
)
def test_a_header_that_contradicts_the_forms_does_not_choose_among_them(tmp_path, language, forms, one, several):
    content = header(language) + plural("%d file", "%d files", *forms)
    assert pairs(tmp_path, content, tgt_lang=language) == [("%d file", one), ("%d files", several)]


def test_a_rule_that_python_cannot_compile_is_none():
    assert _plurals("nplurals=2; plural=(n != !1);") is None
    assert _plurals("nplurals=2; plural=(n != 1);") == Plurals(2, 0, 1)


@pytest.mark.parametrize(
    ("lines", "languages", "expected"),
    [
        (["X-Poedit-Language: German"], ("de", "en"), ("Guten Morgen", "Good morning")),
        (["Language-Team: German <de@li.org>"], ("de", "en"), ("Guten Morgen", "Good morning")),
        (["Language-Team: German <de@li.org>"], ("en", "de"), ("Good morning", "Guten Morgen")),
        ([], ("de", "en"), ("Guten Morgen", "Good morning")),  # messages are in English
        ([], ("fr", "de"), ("Good morning", "Guten Morgen")),
        (["Language-Team: Gnome"], ("en", "de"), ("Good morning", "Guten Morgen")),
    ],
)
def test_languages_that_a_header_does_not_name_as_such(tmp_path, lines, languages, expected):
    head = 'msgid ""\nmsgstr ""\n' + "".join(f'"{line}\\n"\n' for line in [*lines, "X-Generator: x"])
    content = head + message("Good morning", "Guten Morgen")
    assert pairs(tmp_path, content, src_lang=languages[0], tgt_lang=languages[1]) == [expected]


def test_the_language_of_the_template_in_the_header_turns_nothing_round(tmp_path):
    assert "without German" in refusal(tmp_path, header("en") + message("Good morning", "Guten Morgen"))


def test_windows_quotes_in_a_file_that_says_latin1_are_quotes(tmp_path):
    content = (header(charset="ISO-8859-1") + message("For you", "Für dich „gut“ – ja")).encode("cp1252")
    assert pairs(tmp_path, content) == [("For you", "Für dich „gut“ – ja")]


def test_flags_without_a_space_are_flags(tmp_path):
    content = header() + message() + message("Open", "Öffnen", "#,fuzzy\n")
    assert pairs(tmp_path, content) == [("A dog.", "Ein Hund.")]
