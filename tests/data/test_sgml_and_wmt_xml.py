"""Test sets in SGML and XML: segments are joined by document and number, and every damaged file is one line."""

import gzip
import re

import pytest
from helpers.small_corpora import data_config
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.formats import sgml, test_sets
from nmt.data.readers import find_split
from nmt.errors import ConfigError, DataError, NmtError

SRC = """<srcset setid="x" srclang="en" trglang="any">
<DOC docid=a genre="news">
<hl><seg id=1>R&D &amp;amp; &#228;&#x41; &nbsp; &#0;</seg></hl>
<p>
<seg id="2"> two
lines <b>here</b> 1 < 2
<seg id="3">three</p>
<!-- <seg id="4">no</seg> -->
</DOC>
<doc docid="b"><seg id="1">b one</seg><seg id="2">only here</seg><seg id="3">void</seg></doc>
</srcset>
"""
REF = """<REFSET setid="x" srclang="en" trglang="de">
<doc sysid="ref" docid="b"><seg id="3"> </seg><seg id="1">b eins</seg><seg id="9">nur hier</seg></doc>
<doc docid="a" sysid="ref"><seg id="3">drei</seg><seg id="2">zwei</seg><seg id="1">eins</seg></doc>
</REFSET>
"""
PAIRS = [
    ("R&D &amp; äA &nbsp; &#0;", "eins"),
    ("two lines <b>here</b> 1 < 2", "zwei"),
    ("three", "drei"),
    ("b one", "b eins"),
]
WMT = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="x"><collection id="general">
<doc origlang="en" id="a"><src lang="en"><p><seg id="1">one &amp; two</seg></p><p><seg id="2">second</seg></p></src>
<ref lang="de" translator="A"><p><seg id="1">eins</seg></p></ref>
<ref lang="de" translator="B"><p><seg id="2">zweites</seg><seg id="1">1</seg></p></ref>
<hyp lang="de" system="S"><p><seg id="1">falsch</seg></p></hyp></doc>
<doc origlang="de" id="b"><src lang="en"><p><seg id="1">no reference</seg></p></src></doc>
</collection></dataset>
"""
TALK = """<url>http://x</url>
<talkid>1</talkid>
<title>{0} title</title>
<description>{0} description</description>
{0} one
<i>{0}</i> two
"""


def split_of(folder, src, tgt=None, **changes):
    for name, content in (("src", src), ("tgt", tgt)):
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    if tgt is None:
        data = data_config("wmt_xml", train=SplitConfig(None, None, str(folder / "src")), **changes)
    else:
        data = data_config("sgm", train=SplitConfig(str(folder / "src"), str(folder / "tgt"), None), **changes)
    return find_split(data, "train", folder)


def refusal(folder, *contents, **changes):
    with pytest.raises(NmtError) as error:
        list(split_of(folder, *contents, **changes).pairs())
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text
    return text


def test_segments_are_joined_by_document_and_number(tmp_path):
    split = split_of(tmp_path, SRC, gzip.compress(REF.encode()), src_lang="en", tgt_lang="de")
    for _ in range(2):  # each reading counts anew
        assert list(split.pairs()) == PAIRS
        assert str(split.tallies[0]) == (
            "src: 7 segments, 4 pairs; left out: 1 without reference, 1 empty, 1 without source"
        )


def test_the_xml_of_iwslt_is_read_alike(tmp_path):
    src, ref = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n{text.replace("DOC", "doc")}</mteval>\n'
        for text in (SRC, REF)
    )
    assert list(split_of(tmp_path, src, ref).pairs()) == PAIRS


def test_the_report_of_a_corpus_counts_what_is_left_out(tmp_path):
    split_of(tmp_path, SRC, REF)
    train = SplitConfig("src", "tgt", None)
    report = read_corpus(data_config("sgm", root=str(tmp_path), train=train), tmp_path / "cache").report
    assert report[0].startswith("train: src: 7 segments, 4 pairs; left out: ")


def test_of_several_versions_the_first_is_trained_on_and_all_are_references(tmp_path):
    more = REF.replace("</REFSET>", '<doc docid="a" sysid="two"><seg id="1">EINS</seg></doc></REFSET>')
    split = split_of(tmp_path, SRC, more)
    assert list(split.pairs()) == PAIRS
    assert next(list(references.values()) for _, references in split.references) == ["eins", "EINS"]


def test_wmt_xml_has_all_references_by_translator(tmp_path):
    split = split_of(tmp_path, WMT)
    assert list(split.references) == [("one & two", {"A": "eins", "B": "1"}), ("second", {"B": "zweites"})]
    assert list(split.pairs()) == [("one & two", "eins"), ("second", "zweites")]
    assert str(split.tallies[0]) == "src: 3 segments, 2 pairs; left out: 1 without reference"


def test_wmt_xml_serves_both_directions(tmp_path):
    one = list(split_of(tmp_path, WMT, src_lang="en", tgt_lang="de").pairs())
    assert one == [("one & two", "eins"), ("second", "zweites")]
    assert list(split_of(tmp_path, WMT, src_lang="de", tgt_lang="en").pairs()) == [("eins", "one & two")]
    assert "0 pairs; left out: 3 without reference" in refusal(tmp_path, WMT, src_lang="en", tgt_lang="fr")
    assert "both en" in refusal(tmp_path, WMT, src_lang="en", tgt_lang="en")
    several = WMT.replace('<ref lang="de" translator="B">', '<ref lang="cs" translator="B">')
    assert "references in several languages (de, cs); set data.tgt_lang" in refusal(tmp_path, several)


def test_tagged_lines_are_joined_by_line(tmp_path):
    src = TALK.format("en")
    tgt = TALK.format("de") + "<reviewer href='x'>Y</reviewer>\n"
    kinds = ("{0} title", "{0} description", "{0} one", "<i>{0}</i> two")
    expected = [(text.format("en"), text.format("de")) for text in kinds]
    assert list(split_of(tmp_path, src, tgt).pairs()) == expected
    shifted = tgt.replace("<title>de title</title>\n", "")
    assert re.search(
        "src, line 3, a title, would be paired with .*tgt, line 3, a description", refusal(tmp_path, src, shifted)
    )
    assert "tgt, which has ended" in refusal(tmp_path, src, tgt.replace("de one\n", ""))
    assert re.search("src is text with lines of tags, but .*tgt is not", refusal(tmp_path, src, REF))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('<seg id="3">void</seg>', '<seg id="1">void</seg>'), "line 10: <seg id=1> of doc"),
        (lambda text: text.replace("docid=a ", ""), "src, line 2: <doc> without docid"),
        (lambda text: text.replace("<seg id=1>", "<seg>"), "src, line 3: <seg> without id"),
        (lambda text: text.replace("<DOC docid=a genre", "<x genre"), "src, line 3: <seg> outside of <doc"),
        (
            lambda text: text[: text.index("b one") + 2],
            "src, line 10: the file ends within a segment; download it again",
        ),
        (lambda text: text[: text.index(" genre")], "src, line 2: the file ends within a tag"),
        (lambda text: text[: text.index("no</seg>")], "src, line 8: the file ends within a comment"),
        (lambda text: f"{text}{REF}", "src, line 12: <refset> after <srcset>"),
        (lambda text: text.replace("setid=", f"x={'y' * 9000} setid="), "line 1: a tag of more than 8,192 characters"),
        (lambda text: text.replace("seg", "sag"), "src has no <seg id="),
        (lambda text: "", "src has no <seg id="),
        (lambda text: "a\nb\n", "src has no <seg id="),
        (lambda text: text.replace('srclang="en"', 'srclang="cs"'), "src is in cs, but data.src_lang=en"),
        (lambda text: text.replace('docid="b"', 'docid="c"').replace("docid=a", "docid=d"), "no pair is left"),
        (lambda text: text.replace("three", "\xff").encode("latin-1"), "src, line 7: byte 0xff is not valid UTF-8"),
        (lambda text: text.encode("utf-16"), "src is UTF-16 text"),
        (lambda text: b"\0\1\2\5\n" * 9, "src is binary"),
        (lambda text: b"%PDF-1.4\n", "src is a PDF document"),
        (lambda text: WMT, "src is WMT XML; read it with data=wmt_xml"),
        (lambda text: gzip.compress(text.encode())[:-9], "damaged gzip"),
    ],
)
def test_a_damaged_test_set_is_one_line(tmp_path, change, said):
    assert said in refusal(tmp_path, change(SRC), REF, src_lang="en")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-30], "not well-formed XML"),
        (lambda text: text.replace('<seg id="2">second', '<seg id="1">second'), "line 3: <seg id=1> is there twice"),
        (lambda text: text.replace('<seg id="2">second', "<seg>second"), "line 3: <seg> without id"),
        (lambda text: text.replace('"B"', '"A"'), "line 5: two references by translator A in one <doc>"),
        (lambda text: text.replace("second", "&x;"), "not well-formed XML"),
        (
            lambda text: text.replace("<dataset", '<!DOCTYPE d [<!ENTITY x "y">]><dataset', 1).replace("second", "&x;"),
            "&x; is an entity, which nmt never expands",
        ),
        (lambda text: "<srcset/>", "first element is <srcset>, not <dataset>"),
        (lambda text: "<dataset></dataset>", "0 segments, 0 pairs; no pair is left"),
        (lambda text: "", "src is empty"),
    ],
)
def test_a_damaged_wmt_xml_is_one_line(tmp_path, change, said):
    assert said in refusal(tmp_path, change(WMT))


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(test_sets, "MOST_SEGMENTS", 3)
    assert "too many for a test set; extract its text" in refusal(tmp_path, SRC, REF)
    monkeypatch.setattr(sgml, "LONGEST_SEGMENT", 10)
    assert "src, line 3: <seg id=1> does not end within" in refusal(tmp_path, SRC, REF)


DAMAGE = st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100)
@given(st.sampled_from([SRC, WMT, TALK]), DAMAGE)
@example(WMT, [(203, b" ")])  # in the language of a reference
def test_any_damage_ends_in_pairs_or_in_one_refusal(tmp_path, whole, damage):
    blob = bytearray(whole.encode())
    for place, new in damage:
        at = place % len(blob)
        blob[at : at + len(new) or at + 1] = new
    refused = ""
    try:
        split = split_of(tmp_path, bytes(blob), None if whole == WMT else REF if whole == SRC else TALK)
        assert all(isinstance(side, str) for pair in split.pairs() for side in pair)
    except DataError as error:
        refused = str(error)
    except ConfigError as error:
        refused = str(error)
        assert "has references in several languages" in refused
    assert "\n" not in refused


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20), max_size=8))
def test_texts_come_back_as_they_were_written(tmp_path, texts):
    lines = [*texts, "last"]
    sides = [
        "".join(
            f'<seg id="{number}">{text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}</seg>\n'
            for number, text in enumerate(lines)
        )
        for _ in range(2)
    ]
    split = split_of(
        tmp_path,
        *(f'<{kind}set><doc docid="a">{s}</doc></{kind}set>' for kind, s in zip(("src", "ref"), sides, strict=True)),
    )
    found = list(split.pairs())
    assert found[-1] == ("last", "last")
    assert {src for src, _ in found} >= {text.strip() for text in lines if any(map(str.isalnum, text))}
