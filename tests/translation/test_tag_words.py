"""Tokens of a text and of its translation, and the links between them."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.translation.tag_words import LinkedText, PlacedSentence, divided, linked_text, token_links
from nmt.translation.translations import Candidate, Translation, WordLinks


def translation(
    src: Sequence[str], tgt: Sequence[str], looks: Sequence[int] = (), words: WordLinks | None = None
) -> Translation:
    """One of these pieces; target piece j looks at source piece looks[j]."""
    attention = None
    if looks:
        attention = np.full((1, 1, len(tgt), len(src)), 0.01, np.float32)
        for j, i in enumerate(looks):
            attention[0, 0, j, i] = 0.9
    text = "".join(tgt).replace("▁", " ").strip()
    return Translation("", [Candidate(text, 0.0, 0.0)], list(src), list(tgt), attention, words)


def test_attention_links_tokens_and_not_words() -> None:
    found = translation(["▁the", "▁dog", ",", "▁he", "llo", "."], ["▁Hallo", ",", "▁Hund", "."], [4, 2, 1, 5])
    links = token_links(found, ["The", "dog", ",", "hello", "."], ["Hallo", ",", "Hund", "."])
    assert links == [(3, 0), (2, 1), (1, 2), (4, 3)]


def test_a_word_that_looks_at_punctuation_is_linked_to_nothing() -> None:
    found = translation(["▁dog", "."], ["▁Hund", "▁ist", "."], [0, 1, 0])
    assert token_links(found, ["dog", "."], ["Hund", "ist", "."]) == [(0, 0)]


def test_without_attention_the_words_that_were_kept_link() -> None:
    words = WordLinks(["big", "dog."], ["Hund.", "groß"], [(1, 0), (0, 1)])
    found = translation(["▁x"], ["▁y"], words=words)
    assert token_links(found, ["Big", "dog", "."], ["Hund", ".", "groß"]) == [(1, 0), (2, 1), (0, 2)]


def test_a_word_of_several_tokens_that_stayed_is_linked_token_by_token() -> None:
    words = WordLinks(["中文。"], ["中文。"], [(0, 0)])
    assert token_links(translation([], [], words=words), ["中", "文", "。"], ["中", "文", "。"]) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]


@pytest.mark.parametrize(("src", "tgt"), [([], ["a"]), (["a"], []), ([], [])])
def test_nothing_is_linked_to_nothing(src: list[str], tgt: list[str]) -> None:
    assert token_links(translation(["▁a"], ["▁a"], [0]), src, tgt) == []


def test_sentences_are_numbered_through() -> None:
    words = WordLinks(["a"], ["b"], [(0, 0)])
    sentences = [
        PlacedSentence("a.", 0, "b.", 0, translation([], [], words=words)),
        PlacedSentence("a", 3, "b", 3, translation([], [], words=words)),
    ]
    found = linked_text("b. b", sentences)
    assert found.src == [(0, 1), (1, 2), (3, 4)]
    assert found.tgt == [(0, 1), (1, 2), (3, 4)]
    assert (2, 2) in found.links


@given(st.text(alphabet="ab ,.(中é", max_size=30), st.text(alphabet="ab ,.(中é", max_size=30), st.data())
def test_links_are_between_tokens_that_are_there(source: str, target: str, data: st.DataObject) -> None:
    src = data.draw(st.lists(st.text(alphabet="ab,", min_size=1, max_size=4), min_size=1, max_size=5))
    tgt = data.draw(st.lists(st.text(alphabet="ab,", min_size=1, max_size=4), min_size=1, max_size=5))
    links = [(data.draw(st.integers(0, len(src) - 1)), j) for j in range(len(tgt))]
    own = translation([], [], words=WordLinks(src, tgt, links))
    found = linked_text(target, [PlacedSentence(source, 0, target, 0, own)])
    for i, j in found.links:
        assert source[slice(*found.src[i])].strip()
        assert target[slice(*found.tgt[j])].strip()
    for ranges in (found.src, found.tgt):
        assert ranges == sorted(ranges)
        assert all(start < end for start, end in ranges)
        assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_a_token_that_stayed_is_divided_where_its_source_is() -> None:
    found = divided(
        "5 m2 ab", LinkedText("5 M2 xy", [(0, 1), (2, 4), (5, 7)], [(0, 1), (2, 4), (5, 7)], [(1, 1), (2, 2)]), [3, 6]
    )
    assert found.src == [(0, 1), (2, 3), (3, 4), (5, 6), (6, 7)]
    assert found.tgt == [(0, 1), (2, 3), (3, 4), (5, 7)]
    assert found.links == [(1, 1), (2, 2), (3, 3), (4, 3)]
