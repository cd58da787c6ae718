"""Texts, cut and put together again; where words are; what the cache keeps."""

import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.sentences import Span, sentence_spans
from nmt.data.text import INVISIBLE
from nmt.serve.cache import Cache, cost
from nmt.serve.places import word_places
from nmt.serve.texts import Assembly
from nmt.translation.translations import Candidate, Translation


def said(text: str) -> Translation:
    return Translation("", [Candidate(text, -1.0, -2.0)], ["▁a"], ["▁b"], None)


def whole(source: str, translations: list[str]) -> Assembly:
    assembly = Assembly(source)
    for span, text in zip(sentence_spans(source), translations, strict=True):
        assembly.add(span, said(text))
    return assembly


@pytest.mark.parametrize(
    ("source", "translations", "expected"),
    [
        ("Come in. Sit down.", ["Ä.", "Ö."], "Ä. Ö."),
        ("  Come in.  Sit down.\n\nEat. ", ["Ä.", "Ö.", "Ü."], "  Ä.  Ö.\n\nÜ. "),
        ("你好。再见。", ["Hello.", "Goodbye."], "Hello. Goodbye."),
        ("Hello. Goodbye.", ["你好。", "再见。"], "你好。再见。"),
        ("Hello.\nGoodbye.", ["你好。", "再见。"], "你好。\n再见。"),
        ("", [], ""),
        (" \n ", [], " \n "),
    ],
)
def test_white_space_around_sentences_is_kept(source: str, translations: list[str], expected: str) -> None:
    answer = whole(source, translations).end()
    assert answer.text == expected
    assert [answer.text[each.target.start : each.target.end] for each in answer.sentences] == translations
    for each, span in zip(answer.sentences, sentence_spans(source), strict=True):
        assert each.source == span


@given(st.text(max_size=200))
def test_a_text_translated_by_itself_stays_itself(text: str) -> None:
    """Except for white space and invisible characters between its sentences."""
    assembly = Assembly(text)
    spans = sentence_spans(text)
    for span in spans:
        assembly.add(span, said(text[span.start : span.end]))
    answer = assembly.end()
    assert re.sub(f"[{INVISIBLE}]", "", answer.text) == re.sub(f"[{INVISIBLE}]", "", text)
    for each in answer.sentences:
        assert answer.text[each.target.start : each.target.end] == text[each.source.start : each.source.end]


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        (["Ein", "Hund."], "Ein Hund.", ["Ein", "Hund."]),
        (["the", "old", "man"], "THE OLD MAN", ["THE", "OLD", "MAN"]),
        (["it's", '"fine"'], "It’s “fine”", ["It’s", "“fine”"]),
        (["office"], "ofﬁce", ["ofﬁce"]),
        (["我", "们", "去"], "我们 去", ["我", "们", "去"]),
        (["dancers", "lock"], "dan\u00adcers lock", ["dan\u00adcers", "lock"]),
        (["a"], "", [None]),
    ],
)
def test_words_are_found_as_they_were_typed(words: list[str], text: str, found: list[str | None]) -> None:
    places = word_places(words, text, start=7)
    assert [None if place is None else text[place[0] - 7 : place[1] - 7] for place in places] == found


@given(st.lists(st.text("abcß你.É", min_size=1, max_size=5), max_size=8))
def test_words_that_are_there_are_found_in_order(words: list[str]) -> None:
    text = " ".join(words)
    places = word_places(words, text)
    assert [text[place[0] : place[1]] for place in places if place is not None] == words


def test_texts_too_long_to_compare_have_no_places() -> None:
    assert word_places(["a" * 3000, "c"], "b" * 3000) == [None, None]


def test_the_cache_forgets_the_least_recently_used_and_keeps_within_its_bytes() -> None:
    one = cost(said("a"))
    cache = Cache(4 * one)
    for key in "abcd":
        cache.put(key, said("a"))
    assert cache.get("a") is not None  # used again
    cache.put("e", said("a"))
    assert [key for key in "abcde" if cache.get(key) is not None] == list("acde")
    assert cache.used <= cache.size
    cache.put("e", said("b"))
    assert cache.get("e") == said("b")
    assert cache.used == 4 * one


def test_the_cache_takes_nothing_that_fills_it_alone_and_can_be_off() -> None:
    large = Translation("", [Candidate("a", 0.0, 0.0)], [], [], np.zeros((1, 1, 100, 100), np.float32))
    cache = Cache(cost(large))
    cache.put("a", large)
    assert cache.get("a") is None
    off = Cache(0)
    off.put("a", said("a"))
    assert off.get("a") is None
    cache.put("b", said("b"))
    cache.clear()
    assert (cache.get("b"), cache.used) == (None, 0)


def test_spans_are_those_of_the_text() -> None:
    assert sentence_spans("Come in. Sit down.") == [Span(0, 8), Span(9, 18)]


def test_letters_that_changed_everywhere_take_little_time() -> None:
    """The worst case of Python's difflib: half of the letters are changed, and all others are the same."""
    text = "a“" * 900
    start = time.process_time()
    assert word_places([text.replace("“", '"')], text) == [(0, len(text))]
    assert time.process_time() - start < 1


@given(st.text("ab“", max_size=40), st.text('ab"', max_size=40))
def test_places_are_in_order_and_within_the_text(text: str, read: str) -> None:
    places = [place for place in word_places(list(read), text) if place is not None]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(text) for start, end in places)
    if text == read:
        assert places == [(place, place + 1) for place in range(len(text))]
