"""Terms of TBX and MultiTerm glossaries become pairs, and terms that nobody should use are only counted."""

import pytest
from helpers.segment_files import SegmentFiles

from nmt.errors import ConfigError

TBX, MULTITERM = SegmentFiles("tbx", "glossary.tbx"), SegmentFiles("multiterm", "glossary.xml")
NOT_TO_BE_USED = ["deprecatedTerm-admn-sts", "supersededTerm-admn-sts", "Obsolete", "forbidden", "Not recommended"]
CONCEPTS = [
    {"en": ["dog"], "de": ["Hund"]},
    {"de": ["Bildschirm", "Monitor"], "fr": ["écran"], "en": ["screen", "display", "monitor"]},
    {"en": ["cat"], "fr": ["chat"]},
    {"en": ["server"], "de": ["server"]},
]
PAIRS = [
    ("dog", "Hund"),
    ("screen", "Bildschirm"),
    ("screen", "Monitor"),
    ("display", "Bildschirm"),
    ("monitor", "Bildschirm"),
    ("server", "server"),
]


def tbx2(concepts, status=""):
    """Version 2: the first language with <tig>, the others with <ntig>."""
    note = f'<termNote type="administrativeStatus">{status}</termNote>' if status else ""
    forms = ("<tig><term>{}</term>{}</tig>", "<ntig><termGrp><term>{}</term>{}</termGrp></ntig>")
    entries = "".join(
        f'<termEntry id="c{number}"><descrip type="subjectField">x</descrip>'
        + "".join(
            f'<langSet xml:lang="{tag}">{"".join(forms[place > 0].format(term, note) for term in terms)}</langSet>'
            for place, (tag, terms) in enumerate(concept.items())
        )
        + "</termEntry>"
        for number, concept in enumerate(concepts)
    )
    start = '<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd"><martif type="TBX" xml:lang="en">'
    return f"{start}<martifHeader/><text><body>{entries}</body></text></martif>"


def tbx3(concepts, status="", style="dca"):
    note = {
        "dca": '<termNoteGrp><termNote type="administrativeStatus">{}</termNote></termNoteGrp>',
        "dct": "<min:administrativeStatus>{}</min:administrativeStatus>",
    }[style].format(status)
    entries = "".join(
        f'<conceptEntry id="c{number}">'
        + "".join(
            f'<langSec xml:lang="{tag}">'
            + "".join(f"<termSec><term>{term}</term>{note if status else ''}</termSec>" for term in terms)
            + "</langSec>"
            for tag, terms in concept.items()
        )
        + "</conceptEntry>"
        for number, concept in enumerate(concepts)
    )
    spaces = 'xmlns="urn:iso:std:iso:30042:ed-2" xmlns:min="http://www.tbxinfo.net/ns/min"'
    return f'<tbx type="TBX-Min" style="{style}" xml:lang="en" {spaces}><text><body>{entries}</body></text></tbx>'


def tbx3_dct(concepts, status=""):
    return tbx3(concepts, status, "dct")


def tbx_min(concepts, status=""):
    """TBX-Min of 2014, which has names of its own."""
    note = f"<termStatus>{status}</termStatus>" if status else ""
    entries = "".join(
        f'<entry id="c{number}"><subjectField>x</subjectField>'
        + "".join(
            f'<langGroup xml:lang="{tag}">'
            + "".join(
                f"<termGroup><term>{term}</term>{note}<partOfSpeech>noun</partOfSpeech></termGroup>" for term in terms
            )
            + "</langGroup>"
            for tag, terms in concept.items()
        )
        + "</entry>"
        for number, concept in enumerate(concepts)
    )
    return f'<TBX dialect="TBX-Min"><header><languages source="de" target="en"/></header><body>{entries}</body></TBX>'


def multiterm(concepts, status=""):
    descrip = f'<descripGrp><descrip type="Usage Status">{status}</descrip></descripGrp>' if status else ""
    entries = "".join(
        f"<conceptGrp><concept>{number}</concept>"
        + "".join(
            f'<languageGrp><language type="{tag}x" lang="{tag.upper()}"/>'
            + "".join(f"<termGrp><term>{term}</term>{descrip}</termGrp>" for term in terms)
            + "</languageGrp>"
            for tag, terms in concept.items()
        )
        + "</conceptGrp>"
        for number, concept in enumerate(concepts)
    )
    return f'<?xml version="1.0" encoding="UTF-16"?><mtf>{entries}</mtf>'.encode("utf-16")


FORMS = {
    **{"tbx2": (TBX, tbx2), "tbx3": (TBX, tbx3), "tbx3_dct": (TBX, tbx3_dct), "tbx_min": (TBX, tbx_min)},
    "multiterm": (MULTITERM, multiterm),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_term_is_paired_with_the_first_of_the_other_language(tmp_path, form):
    files, write = FORMS[form]
    split = files.split(tmp_path, write(CONCEPTS))
    for _ in range(2):
        assert list(split.pairs()) == PAIRS
        assert str(split.tallies[0]) == f"{files.name}: 7 term pairs, 6 pairs; left out: 1 without German"
    backwards = files.pairs(tmp_path, write(CONCEPTS), src_lang="de", tgt_lang="en")
    assert sorted(backwards[:1] + backwards[-1:]) == [("Hund", "dog"), ("server", "server")]
    assert ("Monitor", "screen") in backwards
    assert len(backwards) == 6


@pytest.mark.parametrize("status", NOT_TO_BE_USED)
@pytest.mark.parametrize("form", FORMS)
def test_a_term_that_is_not_to_be_used_is_left_out(tmp_path, form, status):
    files, write = FORMS[form]
    usable, banned = write(CONCEPTS[:1]), write([{"en": ["hound"], "de": ["Köter"]}], status)
    split = files.split(tmp_path, usable)
    assert list(split.pairs()) == PAIRS[:1]
    assert "2 term pairs, 0 pairs; left out: 2 obsolete; no pair is left" in files.refusal(tmp_path, banned)


@pytest.mark.parametrize("status", ["preferredTerm-admn-sts", "admittedTerm-admn-sts", "Approved"])
@pytest.mark.parametrize("form", FORMS)
def test_any_other_status_is_no_reason(tmp_path, form, status):
    files, write = FORMS[form]
    assert files.pairs(tmp_path, write(CONCEPTS, status)) == PAIRS


def test_a_note_of_another_type_is_no_status(tmp_path):
    content = tbx2(CONCEPTS, "obsolete").replace('type="administrativeStatus"', 'type="usageNote"')
    assert TBX.pairs(tmp_path, content) == PAIRS


def test_only_the_usable_of_several_terms_are_paired(tmp_path):
    usable = "<termSec><term>Hund</term></termSec>"
    banned = f"<termSec><term>Köter</term><administrativeStatus>{NOT_TO_BE_USED[0]}</administrativeStatus></termSec>"
    english = "".join(f"<termSec><term>{term}</term></termSec>" for term in ("dog", "hound"))
    sections = f'<langSec xml:lang="en-US">{english}</langSec><langSec xml:lang="DE">{banned}{usable}</langSec>'
    whole = f"<tbx><text><body><conceptEntry>{sections}</conceptEntry></body></text></tbx>"
    split = TBX.split(tmp_path, whole)
    assert list(split.pairs()) == [("dog", "Hund"), ("hound", "Hund")]
    assert split.tallies[0].left_out == {"obsolete": 1}


def test_terms_of_all_regions_count_and_the_exact_tag_comes_first(tmp_path):
    concept = {"en-GB": ["lorry", "truck"], "EN": ["truck"], "en-US": ["rig"], "de": ["LKW"], "de-AT": ["LKW"]}
    for files, write in FORMS.values():
        assert files.pairs(tmp_path, write([concept])) == [("truck", "LKW"), ("lorry", "LKW"), ("rig", "LKW")]
        assert files.pairs(tmp_path, write([concept]), src_lang="en-GB") == [("lorry", "LKW"), ("truck", "LKW")]


def test_a_usable_term_of_another_region_is_taken(tmp_path):
    banned = (
        "<termSec><term>rig</term><termNote type='normativeAuthorization'><b>deprecatedTerm</b></termNote></termSec>"
    )
    sections = "".join(
        f"<langSec xml:lang='{tag}'>{terms}</langSec>"
        for tag, terms in (
            ("en", banned),
            ("en-GB", "<termSec><term>lorry</term></termSec>"),
            ("de", "<termSec><term>LKW</term></termSec>"),
        )
    )
    split = TBX.split(tmp_path, f"<tbx><conceptEntry>{sections}</conceptEntry></tbx>")
    assert list(split.pairs()) == [("lorry", "LKW")]
    assert split.tallies[0].left_out == {"obsolete": 1}


@pytest.mark.parametrize("empty", ["", " ", "<ph>x</ph>"])
def test_an_empty_term_does_not_take_the_place_of_another(tmp_path, empty):
    content = tbx2([{"en": [empty, "dog"], "de": ["Hund", "Köter"]}])
    assert TBX.pairs(tmp_path, content) == [("dog", "Hund"), ("dog", "Köter")]
    assert "left out: 1 empty" in TBX.refusal(tmp_path, tbx2([{"en": [empty], "de": ["Hund"]}]))


def test_codes_are_never_kept(tmp_path):
    content = tbx2([{"en": ["the <hi>big</hi> <it>x</it>dog"], "de": ["Hund"]}])
    assert TBX.pairs(tmp_path, content, inline="keep") == [("the big dog", "Hund")]


def test_text_in_a_term_stays_and_native_code_does_not(tmp_path):
    content = tbx2([{"en": ["the <hi>big</hi> <ph>{0}</ph>dog"], "de": ["Hund"]}])
    assert TBX.pairs(tmp_path, content) == [("the big dog", "Hund")]


def test_languages_that_are_not_there_are_named(tmp_path):
    assert "are there: en, de" in TBX.refusal(tmp_path, tbx2(CONCEPTS[:1]), src_lang="fi")
    assert "glossary.xml has EN, DE, FR" in MULTITERM.refusal(tmp_path, multiterm(CONCEPTS), ConfigError, src_lang=None)


def test_a_file_that_is_no_glossary_is_refused(tmp_path):
    assert "its first element is <tmx>, not <tbx> or <martif>; name" in TBX.refusal(tmp_path, "<tmx/>")
    assert "its first element is <x>, not <mtf>; name" in MULTITERM.refusal(tmp_path, "<x/>")
    assert "not well-formed XML" in TBX.refusal(tmp_path, tbx2(CONCEPTS)[:-30])
    assert "is an entity, which nmt never expands" in TBX.refusal(
        tmp_path, '<!DOCTYPE tbx [<!ENTITY e "x">]>' + tbx3([{"en": ["a <hi>b</hi> &e;"], "de": ["c"]}])
    )


@pytest.mark.parametrize(
    ("file", "concept"),
    [
        (TBX, "<conceptEntry><langSec xml:lang='en'><termSec><term>a</term></termSec></langSec>&e;</conceptEntry>"),
        (TBX, "<conceptEntry><langSec xml:lang='en'>&e;<termSec><term>a</term></termSec></langSec></conceptEntry>"),
        (TBX, "<termEntry><langSet xml:lang='en'><ntig><termGrp>&e;</termGrp></ntig></langSet></termEntry>"),
        (MULTITERM, "<conceptGrp><languageGrp><language lang='EN'/>&e;</languageGrp></conceptGrp>"),
        (TBX, "<conceptEntry/>&e;"),
        (TBX, "&e;<body><conceptEntry/></body>"),
        (MULTITERM, "<conceptGrp/>&e;<conceptGrp/>"),
        (
            TBX,
            "<termEntry><langSet xml:lang='en'><tig><term>a</term><termNote type='administrativeStatus'>&e;</termNote>"
            "</tig></langSet></termEntry>",
        ),
    ],
)
def test_an_entity_in_place_of_terms_is_refused(tmp_path, file, concept):
    root = "tbx" if file is TBX else "mtf"
    content = f'<!DOCTYPE {root} [<!ENTITY e "x">]>\n<{root}>{concept}</{root}>'
    assert "line 2: &e; is an entity, which nmt never expands" in file.refusal(tmp_path, content)


def test_a_root_in_capitals_is_the_same(tmp_path):
    content = tbx3(CONCEPTS[:1]).replace("<tbx ", "<TBX ").replace("</tbx>", "</TBX>")
    assert TBX.pairs(tmp_path, content) == PAIRS[:1]
