"""Translation memories: every unit becomes a pair or is counted with the reason; every damaged file is one line."""

import gzip
import os
import re
from dataclasses import replace
from xml.sax.saxutils import escape

import pytest
from helpers.segment_files import SegmentFiles
from helpers.small_corpora import data_config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.formats import xml_stream
from nmt.errors import ConfigError, DataError

HEADER = '<header srclang="en" segtype="sentence" datatype="plaintext"/>'
FILES = SegmentFiles("tmx", "memory.tmx")
split_of, pairs, refusal = FILES.split, FILES.pairs, FILES.refusal
# What XML can hold and a line of text keeps.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)


def variant(language, text, attribute="xml:lang"):
    return f'<tuv {attribute}="{language}"><seg>{text}</seg></tuv>'


def unit(src="A dog.", tgt="Ein Hund."):
    """A unit with this XML as its texts."""
    return f"<tu>{variant('en', src)}{variant('de', tgt)}</tu>"


def memory(*units, declaration="", header=HEADER):
    return f'{declaration}<tmx version="1.4">{header}<body>{"".join(units)}</body></tmx>'


@pytest.mark.parametrize("attribute", ["xml:lang", "lang"])
@pytest.mark.parametrize("tags", [("en", "de"), ("EN-us", "de_DE"), ("eng", "ger"), ("English", "german")])
def test_languages_are_found_however_they_are_written(tmp_path, attribute, tags):
    texts = [variant(tags[1], "Hund", attribute), variant("fr", "chien", attribute), variant(tags[0], "dog", attribute)]
    assert pairs(tmp_path, memory(f"<tu>{''.join(texts)}</tu>")) == [("dog", "Hund")]


def test_an_exact_tag_wins_and_a_region_that_is_asked_for_is_needed(tmp_path):
    one = memory(f"<tu>{variant('en-US', 'color')}{variant('en', 'hue')}{variant('de-AT', 'Farbe')}</tu>")
    assert pairs(tmp_path, one) == [("hue", "Farbe")]
    assert pairs(tmp_path, one, src_lang="en-US") == [("color", "Farbe")]
    assert refusal(tmp_path, one, src_lang="en-GB").endswith("that are there: en-US, en, de-AT")


def test_a_variety_is_not_taken_for_the_language_it_is_translated_from(tmp_path):
    one = memory(
        f"<tu>{variant('zh-Hant-TW', '貓')}{variant('zh-CN', '猫')}</tu>", f"<tu>{variant('zh-Hant', '貓')}</tu>"
    )
    split = split_of(tmp_path, one, src_lang="zh", tgt_lang="zh-Hant")
    assert list(split.pairs()) == [("猫", "貓")]
    assert split.tallies[0].left_out == {"without Chinese": 1}


def test_either_direction_of_a_memory_in_any_language_order(tmp_path):
    whole = memory(unit("dog", "Hund"), header='<header srclang="*all*"/>')
    assert pairs(tmp_path, whole) == [("dog", "Hund")]
    assert pairs(tmp_path, whole, src_lang="de", tgt_lang="en") == [("Hund", "dog")]


def test_units_that_give_no_pair_are_counted_with_the_reason(tmp_path):
    units = [
        unit(),
        "<tu></tu>",
        f"<tu>{variant('en', 'alone')}</tu>",
        f"<tu>{variant('en', 'also alone')}{variant('fr', 'seul')}</tu>",
        unit("empty", " \u200b"),
        unit("", "leer"),
        unit("<ph>{0}</ph>", "<ph>{0}</ph>"),
        '<tu><tuv xml:lang="en"/><tuv xml:lang="de"/></tu>',
        unit("OK", "OK"),
    ]
    split = split_of(tmp_path, memory(*units))
    for _ in range(2):  # each reading counts anew
        assert list(split.pairs()) == [("A dog.", "Ein Hund."), ("OK", "OK")]
        assert str(split.tallies[0]) == (
            "memory.tmx: 9 units, 2 pairs; left out: 3 empty, 2 without German, 1 without English, 1 of tags alone"
        )


def test_the_report_of_a_corpus_says_it(tmp_path):
    (tmp_path / "a.tmx").write_text(memory(unit("one", "eins"), f"<tu>{variant('en', 'x')}</tu>"))
    (tmp_path / "b.tmx").write_text(memory(unit("two", "zwei")))
    options = {"root": str(tmp_path), "src_lang": "en", "tgt_lang": "de", "dev_size": 0, "test_size": 0}

    def report(files, **changes):
        data = data_config("tmx", train=SplitConfig(None, None, files), **(options | changes))
        return read_corpus(data, tmp_path / "cache").report

    assert report("a.tmx")[:2] == [
        "train: a.tmx: 2 units, 1 pair; left out: 1 without German",
        "train: 1 pair read, dropped: 0 empty",
    ]
    assert report("*.tmx")[0] == "train: 2 files: 3 units, 2 pairs; left out: 1 without German"
    assert report("b.tmx", src_lang="de", tgt_lang="en")[0] == "train: b.tmx: 1 unit, 1 pair"
    (tmp_path / "b.tmx").rename(tmp_path / "c.tmx")
    assert report("c.tmx", src_lang="de", tgt_lang="en")[0] == "train: c.tmx: 1 unit, 1 pair"


CODES = {
    "Click <bpt i='1'>&lt;b&gt;</bpt>here<ept i='1'>&lt;/b&gt;</ept>.": ("Click here.", "Click <1>here</1>."),
    "Save <ph x='1'>{0}</ph> now": ("Save now", "Save <1/> now"),
    "one<ph>&lt;br/&gt;</ph>two": ("one two", "one<1/>two"),
    "one<ph type='lb'/>two": ("one two", "one<1/>two"),
    "a <hi type='term'>memory</hi> of <it pos='begin'>&lt;i&gt;</it>it": (
        "a memory of it",
        "a <1>memory</1> of <2/>it",
    ),
    "See<ph>\\footnote{<sub>An animal.</sub>}</ph> it": ("See An animal. it", "See<1/> An animal. it"),
    "<ut>{\\b </ut>bold<ut>}</ut>": ("bold", "<1/>bold<2/>"),
    "<hi>a <hi>nested</hi> one</hi>": ("a nested one", "<1>a <2>nested</2> one</1>"),
    "a <!-- note --><![CDATA[<b> & c]]>": ("a <b> & c", "a <b> & c"),
    "&lt;b&gt;bold&lt;/b&gt; &amp; &#228;": ("<b>bold</b> & ä", "<b>bold</b> & ä"),
    "wrapped\n      here": ("wrapped here", "wrapped here"),
}


@pytest.mark.parametrize("content", CODES)
def test_inline_codes_are_taken_out_or_kept_and_text_in_them_stays(tmp_path, content):
    stripped, kept = CODES[content]
    whole = memory(unit(content, content))
    assert pairs(tmp_path, whole) == [(stripped, stripped)]
    assert pairs(tmp_path, whole, inline="keep") == [(kept, kept)]


def test_kept_codes_that_belong_together_have_one_number(tmp_path):
    src = "<bpt i='1' x='7'>b</bpt>Save<ept i='1'>/b</ept> <ph x='8'>{0}</ph> as <ph x='9'>{1}</ph>"
    tgt = "<ph x='9'>{1}</ph> als <bpt i='4' x='7'>b</bpt>sichern<ept i='4'>/b</ept>: <ph x='8'>{0}</ph>"
    assert pairs(tmp_path, memory(unit(src, tgt)), inline="keep") == [
        ("<1>Save</1> <2/> as <3/>", "<3/> als <1>sichern</1>: <2/>")
    ]


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-8", "ISO-8859-1", "windows-1252", "utf-8-sig"])
def test_every_encoding_that_the_declaration_names_is_read(tmp_path, encoding):
    declared = encoding.removesuffix("-sig")
    whole = memory(unit("Fähre", "Öl"), declaration=f'<?xml version="1.0" encoding="{declared}"?>')
    assert pairs(tmp_path, whole.encode(encoding)) == [("Fähre", "Öl")]
    assert pairs(tmp_path, gzip.compress(whole.encode(encoding))) == [("Fähre", "Öl")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "shift_jis", "windows-1251", "koi8-r"])
def test_other_alphabets_and_utf16_without_a_mark_are_read(tmp_path, encoding):
    declared = "UTF-16" if encoding.startswith("utf-16") else encoding
    whole = memory(unit("дом", "Haus"), declaration=f'<?xml version="1.0" encoding="{declared}"?>')
    assert pairs(tmp_path, whole.encode(encoding)) == [("дом", "Haus")]


def test_a_namespace_is_no_obstacle(tmp_path):
    whole = memory(unit()).replace("<tmx ", '<t:tmx xmlns:t="http://www.lisa.org/tmx14" ').replace("</tmx", "</t:tmx")
    assert pairs(tmp_path, re.sub("(</?)(tu|tuv|seg|body)(?=[ >])", r"\1t:\2", whole)) == [("A dog.", "Ein Hund.")]


def test_nothing_is_loaded_or_expanded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "local.dtd").write_text('<!ATTLIST tuv lang CDATA "fr"><!ELEMENT tmx EMPTY>')
    without_language = f"<tu><tuv><seg>chien</seg></tuv>{variant('de', 'Hund')}</tu>"
    for place in ("http://127.0.0.1:1/tmx14.dtd", "no such file", str(tmp_path / "local.dtd")):
        whole = f'<!DOCTYPE tmx SYSTEM "{place}">' + memory(unit(), without_language)
        assert pairs(tmp_path, whole) == [("A dog.", "Ein Hund.")]
        refusal(tmp_path, whole, src_lang="fr")
    for entity in (f'SYSTEM "{secret}"', '"text"'):
        doctype = f"<!DOCTYPE tmx [<!ENTITY e {entity}>]>\n"
        text = refusal(tmp_path, doctype + memory(unit("a &e; b")))
        assert text.endswith(
            "memory.tmx, line 2: &e; is an entity, which nmt never expands; write its text in its place"
        )
        for place in ("<tu>", "<seg>", "</seg>", "</tuv>"):
            refusal(tmp_path, doctype + memory(unit().replace(place, f"{place}&e;")))
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 100}">' for n in range(1, 20))
    refusal(tmp_path, f'<!DOCTYPE tmx [<!ENTITY e0 "bomb">{bomb}]>' + memory(unit("&e19;")))
    attribute = memory(f'<tu tuid="&e19;">{variant("en", "a")}{variant("de", "b")}</tu>')
    refusal(tmp_path, f'<!DOCTYPE tmx [<!ENTITY e0 "bomb">{bomb}]>' + attribute)


def test_languages_that_are_not_there_or_not_given_are_one_error_that_names_those_there(tmp_path):
    whole = memory(unit(), f"<tu>{variant('en-GB', 'x')}{variant('fr', 'y')}</tu>")
    for missing in ({"src_lang": None}, {"tgt_lang": None}, {"src_lang": None, "tgt_lang": None}):
        text = refusal(tmp_path, whole, ConfigError, **missing)
        assert f"data.{next(iter(missing))} is null" in text
        assert "set data.src_lang and data.tgt_lang" in text
        assert "en, de, en-GB, fr" in text
    text = refusal(tmp_path, whole, tgt_lang="cs")
    assert "2 units, 0 pairs; left out: 2 without Czech" in text
    assert all(language in text for language in ("data.tgt_lang=cs", "en", "de", "en-GB", "fr"))
    assert "both en" in refusal(tmp_path, whole, ConfigError, tgt_lang="en")
    assert "no pair is left" in refusal(tmp_path, memory(unit("", "")))
    assert "0 units" in refusal(tmp_path, memory())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text[:-20], r"memory\.tmx, line 3: not well-formed XML"),
        (lambda text: text.replace("</seg>", "</sag>", 1), r"line 2: not well-formed XML .*seg"),
        (lambda text: text.replace("dog", "d\x00g"), r"line 2: not well-formed XML"),
        (lambda text: text.replace("dog", "d&g;"), r"line 2: .*'g'"),
        (lambda text: text.replace("dog", "Köter").encode("latin-1"), r"line 2: .* convert the file"),
        (
            lambda text: '<?xml version="1.0" encoding="utf-16"?>' + text,
            r"line 1: .* declares the encoding utf-16, which is wrong",
        ),
        (lambda text: '<?xml version="1.0" encoding="martian"?>' + text, r"line 1: not well-formed XML .*martian"),
        (lambda text: "", r"memory\.tmx is empty"),
        (lambda text: text.replace("tmx", "xliff"), r"first element is <xliff>, not <tmx>"),
        (lambda text: "<html><body/></html>", r"first element is <html>, not <tmx>"),
        (lambda text: "A dog.\nEin Hund.\n", r"line 1: not well-formed XML"),
        (lambda text: gzip.compress(text.encode())[:-9], r"damaged gzip"),
    ],
)
def test_a_damaged_file_is_one_line_with_its_place(tmp_path, change, expected):
    whole = memory("\n", unit(), "\n", unit("two", "zwei"))
    assert re.search(expected, refusal(tmp_path, change(whole)))


def test_memory_is_bounded_where_no_unit_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_stream, "MOST_BYTES", 200_000)
    whole = memory("<prop>x</prop>" * 30_000, unit())
    assert "no <tu> ends within 0 MB" in refusal(tmp_path, whole)
    assert len(pairs(tmp_path, memory(*[unit()] * 5_000))) == 5_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), st.sampled_from(["utf-8", "utf-16"]))
def test_units_come_back_as_they_were_written(tmp_path, written, encoding):
    whole = memory(
        *(unit(escape(src), escape(tgt)) for src, tgt in [*written, ("last", "letzter")]),
        declaration=f'<?xml version="1.0" encoding="{encoding}"?>',
    )
    found = pairs(tmp_path, whole.encode(encoding))
    assert set(found) <= {*written, ("last", "letzter")}
    assert {(src, tgt) for src, tgt in written if src.strip().isalnum() and tgt.strip().isalnum()} <= set(found)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), min_size=1, max_size=4))
def test_any_damage_ends_in_pairs_or_in_one_refusal(tmp_path, damage):
    content = memory(unit(), unit(*[next(iter(CODES))] * 2), declaration='<?xml version="1.0" encoding="UTF-8"?>')
    blob = bytearray(content.encode())
    for place, new in damage:
        at = place % len(blob)
        blob[at : at + len(new) or at + 1] = new
    refused = ""
    try:
        pairs(tmp_path, bytes(blob))
    except DataError as error:
        refused = str(error)
    assert "\n" not in refused


def test_a_file_name_in_another_encoding_is_in_the_report(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.tmx")
    path.write_text(memory(*[unit()] * 3))
    data = replace(FILES.data, train=SplitConfig(None, None, str(path)))
    assert read_corpus(data, tmp_path / "cache").report[0] == "train: caf\\udce9.tmx: 3 units, 3 pairs"


@pytest.mark.parametrize("declared", ["ISO-8859-1", "windows-1252", "iso-8859-15", "KOI8-R"])
def test_a_declared_encoding_of_one_byte_over_utf8_is_refused(tmp_path, declared):
    content = memory(unit("For you", "Für dich"), declaration=f'<?xml version="1.0" encoding="{declared}"?>')
    text = refusal(tmp_path, content)
    said = f"line 1: it declares the encoding {declared.lower()}, which is wrong; declare the right one"
    assert said in text
    late = memory(
        *[unit()] * 2000, unit("For you", "Für dich"), declaration=f'<?xml version="1.0" encoding="{declared}"?>'
    )
    assert len(late) > 100_000
    assert said in refusal(tmp_path, late)


def test_windows_quotes_in_a_file_that_says_latin1_are_quotes(tmp_path):
    declaration = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    content = memory(unit("For you", "Für dich „gut“ – ja"), unit(), declaration=declaration).encode("cp1252")
    assert pairs(tmp_path, content) == [("For you", "Für dich „gut“ – ja"), ("A dog.", "Ein Hund.")]


def test_many_spaces_take_no_longer_than_other_text(tmp_path):
    spaces = " " * 500_000
    assert pairs(tmp_path, memory(unit(f"A\ndog{spaces}x", "Ein Hund"))) == [(f"A dog{spaces}x", "Ein Hund")]


@pytest.mark.parametrize("tag", ["German (Germany)", "German DE", "german_de", "DE (x)"])
def test_names_with_a_country_are_languages(tmp_path, tag):
    content = memory(f"<tu>{variant('en', 'A dog.')}{variant(tag, 'x')}</tu>")
    assert pairs(tmp_path, content) == [("A dog.", "x")]


@pytest.mark.parametrize(
    ("asked", "tag"), [("zh", "cmn"), ("fa", "pes"), ("no", "nb"), ("nb", "nob"), ("ar", "arb"), ("zh-CN", "cmn-CN")]
)
def test_the_main_member_of_a_macrolanguage_is_the_language(tmp_path, asked, tag):
    content = memory(f"<tu>{variant('en', 'A dog.')}{variant(tag, 'x')}</tu>")
    assert pairs(tmp_path, content, tgt_lang=asked) == [("A dog.", "x")]
    other = memory(f"<tu>{variant('en', 'A dog.')}{variant('yue', 'x')}</tu>")
    assert "without" in refusal(tmp_path, other, tgt_lang=asked)
