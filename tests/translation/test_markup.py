"""Cutting HTML and XML into tokens and passages."""

import time

import pytest
from helpers.markup_documents import DOCUMENTS
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.translation.markup import attributes, tokens
from nmt.translation.markup_segments import Passage, Rules, cut


def pieces(document: str, xml: bool = False) -> list[tuple[str, str]]:
    return [(token.kind, token.raw) for token in tokens(document, xml)]


def texts(document: str, rules: Rules | None = None) -> list[str]:
    """What is given to the translator."""
    return [part.source.text for part in cut(document, rules or Rules()) if isinstance(part, Passage)]


@settings(deadline=None)
@given(DOCUMENTS, st.booleans())
def test_the_pieces_are_the_document(document: str, xml: bool) -> None:
    assert "".join(token.raw for token in tokens(document, xml)) == document
    parts = cut(document, Rules(xml=xml))
    assert "".join(part if isinstance(part, str) else part.raw for part in parts) == document


@pytest.mark.parametrize(
    ("document", "kinds"),
    [
        ("a < b", ["text"]),
        ("1 <3", ["text"]),
        ("x <y", ["text"]),  # a browser would drop the unfinished tag, and the text with it
        ('x <y z=">" <b', ["text", "other"]),  # the only end lies in quotes
        ('</y z=">" x', ["other"]),
        ("<b>x</b>", ["start", "text", "end"]),
        ("<br>x<br/>", ["empty", "text", "empty"]),
        ("<a title='a > b'>x</a>", ["start", "text", "end"]),
        ('<a title="</a>">x</a>', ["start", "text", "end"]),
        ('<a b="x>y</a>', ["start", "text", "end"]),  # the quote is not closed
        ("<!-- <b> -->x", ["other", "text"]),
        ("<!-->x", ["other", "text"]),
        ("<!--->x", ["other", "text"]),
        ("<!--!>x", ["other"]),
        ("<!--x--!>x", ["other", "text"]),
        ("<!-- x", ["other"]),
        ("<!DOCTYPE html>x", ["other", "text"]),
        ("<?php x ?>y", ["other", "text"]),
        ("</ x>y", ["other", "text"]),
        ("<script>a<b</p></script>x", ["start", "other", "end", "text"]),
        ("<SCRIPT>a</script >x", ["start", "other", "end", "text"]),
        ("<style>a<b", ["start", "other"]),
        ("<title>a<b></title>", ["start", "text", "end"]),
        ("<textarea><b></textarea>", ["start", "other", "end"]),
    ],
)
def test_what_is_a_tag_in_html(document: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in pieces(document)] == kinds


@pytest.mark.parametrize(
    ("document", "kinds"),
    [
        ("<script>a</script>", ["start", "text", "end"]),
        ("<br>x</br>", ["start", "text", "end"]),
        ("<x/>", ["empty"]),
        ("<![CDATA[a > <b>]]>x", ["other", "text"]),
        ("<?xml version='1.0'?>x", ["other", "text"]),
        ("<größe>x</größe>", ["start", "text", "end"]),
    ],
)
def test_what_is_a_tag_in_xml(document: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in pieces(document, xml=True)] == kinds


def test_names_are_small_letters_in_html_alone() -> None:
    assert [token.name for token in tokens("<DiV></dIv>", False)] == ["div", "div"]
    assert [token.name for token in tokens("<DiV></DiV>", True)] == ["DiV", "DiV"]


def test_attributes_as_browsers_read_them() -> None:
    (token,) = tokens("""<a HREF = 'x y' b=c/d  e "f" title="it's" b=twice>""", False)
    assert attributes(token) == {"href": "x y", "b": "c/d", "e": "", '"f"': "", "title": "it's"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<p>One two.</p><p>Three</p>", ["One two.", "Three"]),
        ("One<br>two", ["One", "two"]),
        ("One <b>two</b> <img src=x> three", ["One two three"]),
        ("<ul><li>One<li>Two</ul>", ["One", "Two"]),
        ("<td>1</td><td>2.5 &euro;</td>", []),  # no letters
        ("One\n   two", ["One two"]),
        ("&lt;b&gt; &amp; c&#65;", ["<b> & cA"]),
        ("<pre>One</pre>two", ["two"]),
        ("<p translate=no>One</p>two", ["two"]),
        ("<p translate='NO'>One<p>two", ["two"]),
        ("<p data-translate=no>One</p>", ["One"]),
        ("<div class='a notranslate b'><p>One</p><div>Two</div></div>three", ["three"]),
        ("<div class=notranslated>One</div>", ["One"]),
        ("<ul><li translate=no>One<li>Two</ul>", ["Two"]),
        ("<div><span translate=no>One</div>Two", ["Two"]),
        ("Press <kbd>Enter</kbd> now", ["Press Enter now"]),
        ("<code>ls</code> <kbd>x</kbd>", []),
        ("<p>x<code>" + "long " * 20 + "</code></p>", ["x"]),
        ("<script>One</script><style>two</style><svg><text>three</text></svg>four", ["four"]),
        ("<title>A & B</title>", ["A & B"]),
        ("<!-- One -->two", ["two"]),
    ],
)
def test_what_is_translated_of_html(document: str, expected: list[str]) -> None:
    assert texts(document) == expected


@pytest.mark.parametrize(
    ("document", "rules", "expected"),
    [
        ("<d><t>One</t><p>Two <i>three</i>.</p></d>", Rules(xml=True), ["One", "Two three."]),
        ("Press <i>Continue</i>.", Rules(xml=True), ["Press Continue."]),
        ("<d><t>One</t><p>Two</p></d>", Rules(xml=True, outline=False), ["OneTwo"]),
        ("<d>A <par>one</par> b</d>", Rules(xml=True, blocks=frozenset(["par"])), ["A", "one", "b"]),
        ("<d><a>One</a><b>two</b></d>", Rules(xml=True, inline=frozenset(["a", "b"])), ["Onetwo"]),
        ("Open <x>Settings</x>", Rules(xml=True, kept=frozenset(["x"])), ["Open Settings"]),
        ("a &own; b &lt;c", Rules(xml=True), ["a b <c"]),
        ("<d><![CDATA[One]]>two</d>", Rules(xml=True), ["two"]),
        ("One\n two", Rules(split_at_newlines=True), ["One", "two"]),
    ],
)
def test_what_is_translated_by_other_rules(document: str, rules: Rules, expected: list[str]) -> None:
    assert texts(document, rules) == expected


@pytest.mark.parametrize(
    "document",
    [
        *("<a " * 12_000, "<a b=" * 8000, "<a b='" * 8000, "<x y=\"'>" * 4000, "<!--" * 8000, "<" * 36_000),
        *("<b>" * 12_000, "</b>" * 12_000, "<code>" * 6000, "<script>" * 6000, "<p translate=no>" * 4000),
        *("<a " * 12_000 + 'y=">"', "<a y='<b>' " * 4000, '</a y=">" ' * 4000),
        *("<code>" + "<b>" * 6000 + "</i>" * 6000, "&" * 20_000, " " * 40_000),
    ],
)
@pytest.mark.parametrize("xml", [False, True])
def test_the_time_grows_with_the_length(document: str, xml: bool) -> None:
    started = time.process_time()
    cut(document, Rules(xml=xml))
    assert time.process_time() - started < 5


def test_the_time_of_comments_grows_with_the_length() -> None:
    started = time.process_time()
    assert len(list(tokens("<!--c-->" * 60_000, False))) == 60_000
    assert time.process_time() - started < 5
