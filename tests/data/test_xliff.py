"""XLIFF 1.2 and 2: what is translated becomes a pair, all else is counted with the reason."""

import re
from xml.sax.saxutils import escape

import pytest
from helpers.segment_files import SegmentFiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt.data.formats import xml_stream
from nmt.errors import ConfigError, DataError

FILES = SegmentFiles("xliff", "app.xlf")
split_of, pairs, refusal = FILES.split, FILES.pairs, FILES.refusal
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)
NAMESPACE = "urn:oasis:names:tc:xliff:document"


def old(*units, languages='source-language="en" target-language="de"', prefix=""):
    """A file of version 1.2."""
    whole = f'<xliff version="1.2"><file {languages} original="x"><body>{"".join(units)}</body></file></xliff>'
    if not prefix:
        return whole.replace("<xliff", f'<xliff xmlns="{NAMESPACE}:1.2"')
    return re.sub(r"(</?)(?=\w)", rf"\1{prefix}:", whole).replace(
        f"<{prefix}:xliff", f'<{prefix}:xliff xmlns:{prefix}="{NAMESPACE}:1.2"'
    )


def new(*units, languages='srcLang="en" trgLang="de"', version="2.1"):
    """A file of version 2."""
    return (
        f'<xliff xmlns="{NAMESPACE}:2.0" version="{version}" {languages}><file id="f"><group id="g">'
        f"{''.join(units)}</group></file></xliff>"
    )


def old_unit(src="A dog.", tgt="Ein Hund.", target="", unit=""):
    translation = "" if tgt is None else f"<target{target}>{tgt}</target>"
    return f'<trans-unit id="1"{unit}><source>{src}</source>{translation}</trans-unit>'


def new_unit(src="A dog.", tgt="Ein Hund.", segment="", data="", unit=""):
    translation = "" if tgt is None else f"<target>{tgt}</target>"
    return f'<unit id="1"{unit}>{data}<segment{segment}><source>{src}</source>{translation}</segment></unit>'


def left_out(folder, *units, write=old):
    """The reasons why these units give no pair."""
    split = split_of(
        folder, write(old_unit("last", "letzter") if write is old else new_unit("last", "letzter"), *units)
    )
    assert list(split.pairs()) == [("last", "letzter")]
    assert split.tallies[0].units == 1 + len(units)
    return dict(split.tallies[0].left_out)


@pytest.mark.parametrize("write", [lambda: old(old_unit()), lambda: old(old_unit(), prefix="xliff"),
                                   lambda: old(f"<group>{old_unit()}</group>"), lambda: new(new_unit()),
                                   lambda: new(new_unit(), version="2.0")])  # fmt: skip
def test_both_versions_and_both_directions_are_read(tmp_path, write):
    assert pairs(tmp_path, write()) == [("A dog.", "Ein Hund.")]
    assert pairs(tmp_path, write(), src_lang="de", tgt_lang="en") == [("Ein Hund.", "A dog.")]


def test_the_languages_of_the_file_are_read_by_their_tags(tmp_path):
    assert pairs(tmp_path, old(old_unit(), languages='source-language="en_US" target-language="DE-de"'))
    assert pairs(tmp_path, new(new_unit(), languages='srcLang="EN-us" trgLang="de-AT"'))
    assert pairs(tmp_path, old(old_unit(), languages='source-language="en"')) == [("A dog.", "Ein Hund.")]
    one = old(old_unit(target=' xml:lang="de"'), languages='source-language="en"')
    assert pairs(tmp_path, one, src_lang="de", tgt_lang="en") == [("Ein Hund.", "A dog.")]


@pytest.mark.parametrize("content", [old(old_unit()), new(new_unit())])
def test_languages_that_are_not_there_or_not_given_are_one_error(tmp_path, content):
    assert "en, de" in refusal(tmp_path, content, ConfigError, src_lang=None)
    text = refusal(tmp_path, content, tgt_lang="cs")
    assert "1 segment, 0 pairs; left out: 1 without Czech" in text
    assert "data.tgt_lang=cs" in text
    assert "that are there: en, de" in text
    assert "no pair is left" in refusal(tmp_path, content.replace("Ein Hund.", ""))
    assert "that are there" not in refusal(tmp_path, re.sub("<target>.*</target>", "", content))


def test_targets_that_are_no_translations_are_left_out_by_reason(tmp_path):
    assert left_out(tmp_path, old_unit(tgt=None), old_unit(tgt=""), old_unit(tgt=" \u00ad")) == {
        "without German": 1,
        "empty": 2,
    }
    assert left_out(tmp_path, old_unit("A", "A"), old_unit("A", " A "), old_unit("1", "1", ' state="new"')) == {
        "copied from the source": 3
    }
    fuzzy = [old_unit(target=f' state="{state}"') for state in ("needs-review-translation", "needs-review-l10n")]
    assert left_out(tmp_path, *fuzzy, old_unit(target=' state-qualifier="fuzzy-match"')) == {"fuzzy": 3}
    competing = "<alt-trans><source>A dog.</source><target>Katze</target></alt-trans>"
    assert left_out(tmp_path, old_unit(tgt=None).replace("</trans-unit>", f"{competing}</trans-unit>")) == {
        "without German": 1
    }
    assert left_out(tmp_path, old_unit('<x id="1"/>', '<x id="1"/>'), old_unit("<g id='1'> </g>", "x")) == {
        "of tags alone": 2
    }
    assert left_out(
        tmp_path, new_unit(tgt=None), new_unit(tgt=""), new_unit("A", "A"), new_unit("1", "1", ' state="initial"'),
        new_unit('<ph id="1"/>', '<ph id="1"/>'), write=new,
    ) == {"without German": 1, "empty": 1, "copied from the source": 2, "of tags alone": 1}  # fmt: skip


def test_what_nobody_should_translate_is_left_out(tmp_path):
    no, yes = ' translate="no"', ' translate="yes"'
    assert left_out(tmp_path, old_unit(unit=no), old_unit("$HOME", "$HOME", unit=no)) == {"not to be translated": 2}
    group = f"<group{no}>{old_unit()}<group{yes}>{old_unit('cat', 'Katze')}</group>{old_unit()}</group>"
    split = split_of(tmp_path, old(group, old_unit("dog", "Hund", unit=yes)))
    assert list(split.pairs()) == [("cat", "Katze"), ("dog", "Hund")]
    assert split.tallies[0].left_out == {"not to be translated": 2}
    assert left_out(tmp_path, new_unit(unit=no), write=new) == {"not to be translated": 1}


def test_a_copy_stays_where_the_file_calls_it_a_translation_or_it_has_no_letters(tmp_path):
    units = [old_unit("A", "A", f' state="{state}"') for state in ("translated", "final", "signed-off")]
    units += [old_unit("A", "A", unit=' approved="yes"'), old_unit("100 %", "100 %"), old_unit(target=' state="new"')]
    assert len(pairs(tmp_path, old(*units))) == len(units)
    units = [new_unit("A", "A", f' state="{state}"') for state in ("translated", "reviewed", "final")]
    units += [new_unit("100 %", "100 %"), new_unit(segment=' state="initial"')]
    assert len(pairs(tmp_path, new(*units))) == len(units)


CODES = {
    "1.2": {
        'Click <g id="1">here <g id="2">now</g></g>.': ("Click here now.", "Click <1>here <2>now</2></1>."),
        'one<x id="1" ctype="lb"/>two<x id="2"/>three': ("one twothree", "one<1/>two<2/>three"),
        'one<x id="B" equiv-text="&lt;br/&gt;"/>two': ("one two", "one<1/>two"),
        '<bx id="1" rid="7"/>bold<ex id="2" rid="7"/> text': ("bold text", "<1>bold</1> text"),
        '<bpt id="1">&lt;b&gt;</bpt>bold<ept id="1">&lt;/b&gt;</ept>': ("bold", "<1>bold</1>"),
        'an <mrk mtype="term">apple</mrk> a <ph id="1">%s</ph> day': ("an apple a day", "an apple a <1/> day"),
        'See<ph id="1">[<sub>a note</sub>]</ph> it': ("See a note it", "See<1/> a note it"),
        "&lt;b&gt;bold&lt;/b&gt;": ("<b>bold</b>", "<b>bold</b>"),
        "\n      wrapped\n      here\n   ": (" wrapped here ", " wrapped here "),
    },
    "2": {
        'Click <pc id="1">here <pc id="2">now</pc></pc>.': ("Click here now.", "Click <1>here <2>now</2></1>."),
        '<sc id="1"/>bold<ec startRef="1"/> <ec id="9" isolated="yes"/>text': ("bold text", "<1>bold</1> </2>text"),
        'one<ph id="1" subType="fmt:lb"/>two': ("one two", "one<1/>two"),
        'one<ph id="1" dataRef="d1"/>two': ("one two", "one<1/>two"),
        'a<cp hex="001F"/>b': ("ab", "a<1/>b"),
        'an <mrk id="m1" type="term">apple</mrk><sm id="m2"/> pie<em startRef="m2"/>': ("an apple pie", "an apple pie"),
    },
}  # fmt: skip


@pytest.mark.parametrize(("version", "content"), [(version, text) for version in CODES for text in CODES[version]])
def test_inline_codes_are_taken_out_or_kept_and_text_in_them_stays(tmp_path, version, content):
    stripped, kept = CODES[version][content]
    data = '<originalData><data id="d1">&lt;br/&gt;</data></originalData>'
    translation = f"{content} X"
    one = old(old_unit(content, translation)) if version == "1.2" else new(new_unit(content, translation, data=data))
    assert pairs(tmp_path, one) == [(stripped, re.sub(" +", " ", f"{stripped} X"))]
    assert pairs(tmp_path, one, inline="keep")[0][0] == kept


def test_kept_codes_have_the_number_of_the_source(tmp_path):
    one = old(old_unit('<g id="5">Save</g> <x id="2"/>', '<x id="2"/> <g id="5">sichern</g>'))
    assert pairs(tmp_path, one, inline="keep") == [("<1>Save</1> <2/>", "<2/> <1>sichern</1>")]


def test_segments_of_a_unit_are_pairs_of_their_own(tmp_path):
    def marked(*texts):
        return " ".join(f'<g id="1"><mrk mtype="seg" mid="{n}">{text}</mrk></g>' for n, text in enumerate(texts))

    divided = (
        f'<trans-unit id="1"><source>A. B. C.</source><seg-source>{marked("A.", "B.", "C.")}</seg-source>'
        f"<target>{marked('Ah.', 'Beh.')}</target></trans-unit>"
    )
    split = split_of(tmp_path, old(divided))
    assert list(split.pairs()) == [("A.", "Ah."), ("B.", "Beh.")]
    assert str(split.tallies[0]) == "app.xlf: 3 segments, 2 pairs; left out: 1 without German"
    numberless = re.sub(' mid="."', "", divided)
    assert pairs(tmp_path, old(numberless)) == [("A. B. C.", "Ah. Beh.")]
    other = split_of(tmp_path, old(divided.replace('mid="1">Beh', 'mid="7">Beh')))
    assert list(other.pairs()) == [("A.", "Ah.")]
    assert str(other.tallies[0]) == "app.xlf: 4 segments, 1 pair; left out: 2 without German, 1 empty"
    undivided = re.sub("<target>.*</target>", "<target>Ah. Beh.</target>", divided)
    assert pairs(tmp_path, old(undivided)) == [("A. B. C.", "Ah. Beh.")]
    several = new(
        '<unit id="1"><segment><source>A.</source><target>Ah.</target></segment><ignorable><source> x</source>'
        "<target> x</target></ignorable><segment><source>B.</source><target>Beh.</target></segment></unit>"
    )
    assert pairs(tmp_path, several) == [("A.", "Ah."), ("B.", "Beh.")]


def test_files_of_several_languages_are_sorted_out(tmp_path):
    part = '<file source-language="en" target-language="fr" original="y"><body>{}</body></file>'
    whole = old(old_unit()).replace("</xliff>", part.format(old_unit(tgt="Un chien.")) + "</xliff>")
    split = split_of(tmp_path, whole)
    assert list(split.pairs()) == [("A dog.", "Ein Hund.")]
    assert split.tallies[0].left_out == {"without German": 1}
    assert pairs(tmp_path, whole, tgt_lang="fr") == [("A dog.", "Un chien.")]


def test_a_file_of_another_kind_or_a_damaged_one_is_named(tmp_path):
    assert "first element is <tmx>, not <xliff>" in refusal(tmp_path, "<tmx><unit/></tmx>")
    assert "app.xlf, line 2: not well-formed XML" in refusal(tmp_path, old("\n", old_unit())[:-30])
    entity = '<!DOCTYPE xliff [<!ENTITY e "x">]>' + old(old_unit("a &e;"))
    assert "app.xlf, line 1: &e; is an entity" in refusal(tmp_path, entity)


@pytest.mark.parametrize(
    ("whole", "inside"), [(old(old_unit()), "trans-unit"), (new(new_unit()), "unit"), (new(new_unit()), "segment")]
)
def test_an_entity_among_elements_is_refused(tmp_path, whole, inside):
    whole = '<!DOCTYPE xliff [<!ENTITY e "x">]>' + whole.replace(f"</{inside}>", f"&e;</{inside}>")
    assert "app.xlf, line 1: &e; is an entity" in refusal(tmp_path, whole)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6), st.booleans(), st.sampled_from(["utf-8", "utf-16"]))
def test_segments_come_back_as_they_were_written(tmp_path, written, is_old, encoding):
    write, unit = (old, old_unit) if is_old else (new, new_unit)
    units = [unit(escape(f"a{src}"), escape(f"b{tgt}")) for src, tgt in written]
    content = f'<?xml version="1.0" encoding="{encoding}"?>' + write(*units)
    assert pairs(tmp_path, content.encode(encoding)) == [(f"a{src}", f"b{tgt}") for src, tgt in written]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(
    st.booleans(), st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), min_size=1, max_size=4)
)  # fmt: skip
def test_any_damage_ends_in_pairs_or_in_one_refusal(tmp_path, is_old, damage):
    codes = next(iter(CODES["1.2" if is_old else "2"]))
    content = old(old_unit(), old_unit(codes, codes)) if is_old else new(new_unit(), new_unit(codes, codes))
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


def test_deleted_text_of_trados_is_left_out(tmp_path):
    tgt = 'Die <mrk mtype="x-sdl-deleted">falsche</mrk><mrk mtype="x-sdl-added">richtige</mrk> Nummer'
    assert pairs(tmp_path, old(old_unit("The number", tgt))) == [("The number", "Die richtige Nummer")]


@pytest.mark.parametrize(
    ("about", "fuzzy"),
    [
        ('conf="Draft" percent="75"', True),
        ('conf="RejectedTranslation" origin="tm" percent="62"', True),
        ('percent="62" origin="tm"', True),
        ('conf="Translated" percent="62"', False),
        ('conf="ApprovedSignOff"', False),
        ('percent="100"', False),
        ("", False),
    ],
)
def test_states_of_segments_in_trados_count(tmp_path, about, fuzzy):
    unit = (
        '<trans-unit id="1"><source>A dog.</source><seg-source><mrk mtype="seg" mid="7">A dog.</mrk></seg-source>'
        '<target><mrk mtype="seg" mid="7">Ein Hund.</mrk></target>'
        f'<sdl:seg-defs xmlns:sdl="http://sdl.com/x"><sdl:seg id="7" {about}/></sdl:seg-defs></trans-unit>'
    )
    if fuzzy:
        assert left_out(tmp_path, unit) == {"fuzzy": 1}
    else:
        assert pairs(tmp_path, old(unit)) == [("A dog.", "Ein Hund.")]


@pytest.mark.parametrize(
    ("status", "fuzzy"),
    [
        *((f'mq:status="{status}"', True) for status in ("Rejected", "PartiallyEdited")),
        ('mq:status="PreTranslated" mq:percent="60"', True),
        ('mq:status="PreTranslated" mq:percent="101"', False),
        ('mq:status="ManuallyConfirmed"', False),
    ],
)
def test_states_of_units_in_memoq_count(tmp_path, status, fuzzy):
    unit = old_unit(unit=f' xmlns:mq="MQXliff" {status}')
    if fuzzy:
        assert left_out(tmp_path, unit) == {"fuzzy": 1}
    else:
        assert pairs(tmp_path, old(unit)) == [("A dog.", "Ein Hund.")]


@pytest.mark.parametrize("chunk", [7, 64, 1 << 16])
@pytest.mark.parametrize("name", ["internal-file", "x:internal-file"])
def test_embedded_originals_are_not_read_however_large(tmp_path, monkeypatch, chunk, name):
    monkeypatch.setattr(xml_stream, "CHUNK", chunk)
    monkeypatch.setattr(xml_stream, "MOST_BYTES", 2000)
    embedded = f'<{name} form="base64">' + "QUJD < &\n" * 1000 + f"</{name}>"
    for written in (embedded, f"<{name}/>", f'<{name} form="a"></{name}>'):
        whole = old(old_unit(), old_unit("<g id='1'>Two</g>", "<g id='1'>Zwei</g>"))
        whole = whole.replace("<xliff", '<xliff xmlns:x="x"').replace("<body>", f"<header>{written}</header><body>")
        assert pairs(tmp_path, whole) == [("A dog.", "Ein Hund."), ("Two", "Zwei")]
        lines = written.count("\n") + 1
        assert f"line {lines}: not well-formed XML" in refusal(tmp_path, whole.replace("</body>", "</x>"))


def test_an_embedded_original_without_end_is_one_error(tmp_path):
    text = refusal(tmp_path, '<xliff version="1.2"><file><header><internal-file>' + "QUJD" * 100_000)
    assert "not well-formed XML" in text
