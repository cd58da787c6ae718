"""Translated HTML and XML: the markup is the source's, and each tag is at the words that its words became."""

import asyncio
import html
import re
from collections import Counter

import pytest
from helpers.markup_documents import DOCUMENTS, WELL_NESTED
from helpers.served import Words, answer, backwards, same, unlinked, upper
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.serve.html import translate_markup
from nmt.serve.texts import Answer
from nmt.translation.markup import tokens
from nmt.translation.markup_segments import Rules

TRANSLATORS = st.sampled_from([same, upper, backwards, unlinked])


def translated(document: str, words: Words = upper, rules: Rules | None = None) -> str:
    async def translate(texts: list[str]) -> list[Answer]:
        return [answer(text, words) for text in texts]

    (result,) = asyncio.run(translate_markup([document], rules or Rules(), translate))
    return result


def tags(document: str, xml: bool = False) -> list[str]:
    return [token.raw.strip() for token in tokens(document, xml) if token.kind != "text"]


def text(document: str, xml: bool = False) -> str:
    """What is no markup, without white space."""
    written = "".join(token.raw for token in tokens(document, xml) if token.kind == "text")
    return "".join(html.unescape(written).split())


def is_well_nested(document: str) -> bool:
    opened = []
    for token in tokens(document, False):
        if token.kind == "start":
            opened.append(token.name)
        elif token.kind == "end" and (not opened or opened.pop() != token.name):
            return False
    return not opened


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, TRANSLATORS, st.booleans())
def test_no_tag_is_lost_or_doubled(document: str, words: Words, xml: bool) -> None:
    result = translated(document, words, Rules(xml=xml))
    assert Counter(tags(result, xml)) == Counter(tags(document, xml))


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, st.booleans())
def test_no_text_is_lost_or_doubled(document: str, xml: bool) -> None:
    assert text(translated(document, same, Rules(xml=xml)), xml) == text(document, xml)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(WELL_NESTED)
def test_a_text_that_comes_back_unchanged_has_its_tags_where_they_were(document: str) -> None:
    result = translated(document, same)
    assert "".join(result.split()) == "".join(document.split())
    # between two tags a space may change sides; before and behind Chinese a sentence has none
    if "><" not in document.replace("</p>", "").replace("<p>", "") and "中" not in document:
        assert result == document


@settings(deadline=None, max_examples=60)
@given(WELL_NESTED, TRANSLATORS)
def test_what_is_well_nested_stays_so(document: str, words: Words) -> None:
    assert is_well_nested(document)
    assert is_well_nested(translated(document, words))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(WELL_NESTED)
def test_the_text_is_the_translation(document: str) -> None:
    plain = [re.sub("<.*?>", "", line) for line in document.split("\n")]
    lines = [html.unescape(line) for line in plain]
    words = [backwards if any(char.isalpha() for char in line) else same for line in lines]
    expected = "".join(answer(line, own).text for line, own in zip(lines, words, strict=True))
    assert text(translated(document, backwards)) == "".join(expected.split())


@pytest.mark.parametrize(
    ("document", "forwards", "reversed_order"),
    [
        ("A <b>big dog</b> runs", "A <b>BIG DOG</b> RUNS", "RUNS <b>DOG BIG</b> A"),
        ("A <b>big</b> <i>dog</i>", "A <b>BIG</b> <i>DOG</i>", "<i>DOG</i> <b>BIG</b> A"),
        ("<a>A <b>big</b> dog</a> runs", "<a>A <b>BIG</b> DOG</a> RUNS", "RUNS <a>DOG <b>BIG</b> A</a>"),
        ("A <b>dog</b>, big", "A <b>DOG</b>, BIG", "BIG <b>DOG</b>, A"),
        ("A <b>dog,</b> big", "A <b>DOG,</b> BIG", "BIG <b>DOG,</b> A"),
        ("A (<b>big</b>) dog", "A (<b>BIG</b>) DOG", "DOG (<b>BIG</b>) A"),
        ("A <img> big dog", "A <img> BIG DOG", "DOG <img> BIG A"),
        ("A<img> big dog", "A<img> BIG DOG", "DOG BIG A<img>"),
        ("<img> A dog", "<img> A DOG", "<img> DOG A"),
        ("A dog <img>", "A DOG <img>", "DOG A <img>"),
        ("A <b>dog<br>two</b> one", "A <b>DOG<br>TWO</b> ONE", "<b>DOG A<br>ONE TWO</b>"),
        ("5 m<sup>2</sup> big", "5 M<sup>2</sup> BIG", "BIG M<sup>2</sup> 5"),
        ("A <!-- c --> dog", "A <!-- c --> DOG", "<!-- c --> DOG A"),
        ("<b>A dog. A</b> cat.", "<b>A DOG. A</b> CAT.", "<b>DOG. A</b> CAT. A"),
        ("Run <code>ls -l</code> now", "RUN <code>ls -l</code> NOW", "NOW <code>ls -l</code> RUN"),
        ("<b translate=no>Anna</b>, come", "<b translate=no>Anna</b>, COME", "COME <b translate=no>Anna</b>,"),
        ("<x id='1'></x> of <x id='2'></x>", "<x id='1'></x> OF <x id='2'></x>", "<x id='1'></x> OF <x id='2'></x>"),
    ],
)
def test_tags_follow_their_words(document: str, forwards: str, reversed_order: str) -> None:
    assert translated(document, upper) == forwards
    if "code" not in document and "translate" not in document:  # there, other things than these are of interest
        assert translated(document, backwards) == reversed_order
    assert is_well_nested(translated(document, unlinked))


def test_without_word_alignment_tags_keep_their_place_in_the_text() -> None:
    assert translated("one two <b>three</b> four", unlinked) == "ONE TWO <b>THREE</b> FOUR X"


def test_what_is_kept_comes_back_although_the_model_changed_it() -> None:
    assert translated("Run <code>ls</code> now", upper) == "RUN <code>ls</code> NOW"
    assert translated("Run <code>LS</code> now", upper) == "RUN <code>LS</code> NOW"
    assert translated("<b>Run <code>ls</code></b>, now", backwards) == "NOW <b>RUN <code>ls</code></b>,"


def test_kept_words_are_a_part_of_the_sentence_where_the_model_keeps_them() -> None:
    seen: list[str] = []

    async def translate(texts: list[str]) -> list[Answer]:
        seen.extend(texts)
        return [answer(text, upper) for text in texts]

    documents = ["Run <code>ls</code> now", "Press <kbd>F1</kbd> now"]
    done = asyncio.run(translate_markup(documents, Rules(), translate))
    assert done == ["RUN <code>ls</code> NOW", "PRESS <kbd>F1</kbd> NOW"]
    assert seen == ["Run ls now", "Press F1 now", "Run now"]


@pytest.mark.parametrize(
    ("document", "result"),
    [
        ("a &amp; b &lt; c &gt; d", "A &amp; B &lt; C &gt; D"),
        ("a & b", "A &amp; B"),
        ("&eacute;t&#233;", "ÉTÉ"),
        ("a &amp;lt; b", "A &amp;LT; B"),
        ("<p>\n  a\n  b\n</p>\n", "<p>\n  A B\n</p>\n"),
        ("<p>A b.\n  C d.</p>", "<p>A B.\n  C D.</p>"),  # white space between sentences
        ("&nbsp; <b>&nbsp;</b>", "&nbsp; <b>&nbsp;</b>"),
        ("&nbsp;a", "&nbsp;A"),
        ("<td>12 &euro;</td>", "<td>12 &euro;</td>"),
        ("<td>12€ &  5</td>", "<td>12€ &  5</td>"),
        ("", ""),
        ("<!DOCTYPE html><html lang=en><title>a</title>", "<!DOCTYPE html><html lang=en><title>A</title>"),
        ("<a title=\"a b\" href='?a=1&b=2'>c</a>", "<a title=\"a b\" href='?a=1&b=2'>C</a>"),
        ("<IMG SRC=x>a<BR/>b", "<IMG SRC=x>A<BR/>B"),
        ("<script>if (a<b) c('<p>d</p>')</script>e", "<script>if (a<b) c('<p>d</p>')</script>E"),
        ("<pre>a  b</pre>", "<pre>a  b</pre>"),
    ],
)
def test_what_is_no_text_stays_as_it_is(document: str, result: str) -> None:
    assert translated(document) == result


def test_xml_escapes_what_html_has_a_name_for() -> None:
    assert translated("<t>a&#160;b &own; c</t>", same, Rules(xml=True)) == "<t>a&#160;b &own; c</t>"


def test_several_documents_are_one_request() -> None:
    calls = []

    async def translate(texts: list[str]) -> list[Answer]:
        calls.append(texts)
        return [answer(text, upper) for text in texts]

    done = asyncio.run(translate_markup(["<p>a<p>b", "1", "c"], Rules(), translate))
    assert done == ["<p>A<p>B", "1", "C"]
    assert calls == [["a", "b", "c"]]


def test_nothing_is_asked_of_the_engine_where_there_is_nothing_to_translate() -> None:
    async def translate(texts: list[str]) -> list[Answer]:
        raise AssertionError

    assert asyncio.run(translate_markup(["<p>1</p>"], Rules(), translate)) == ["<p>1</p>"]


@pytest.mark.slow
def test_deep_and_wide_markup_takes_no_long_time() -> None:
    for document in ["<b>" * 3000 + "word " + "</b>" * 3000, "<b>a</b> " * 3000, "</b>a " * 2000, "<b>a " * 2000]:
        result = translated(document, backwards)
        assert Counter(tags(result)) == Counter(tags(document))
