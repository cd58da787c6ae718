"""Translations as the JSON of our own API."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nmt.serve.catalogue import Served
from nmt.serve.places import Place, word_places
from nmt.serve.search_wish import Search
from nmt.serve.texts import Answer, Sentence

DIGITS = 4  # decimal places of scores and attention weights
MOST_WEIGHTS = 1_000_000  # between pieces, of one sentence; as JSON, they take many times the memory


def answer_json(text: str, answer: Answer, served: Served, search: Search) -> dict[str, Any]:
    """The translation of one text."""
    sentences = [sentence_json(text, answer.text, each, served, search) for each in answer.sentences]
    return {"text": answer.text, "sentences": sentences}


def sentence_json(text: str, translated: str, sentence: Sentence, served: Served, search: Search) -> dict[str, Any]:
    """One sentence of `text`; `translated` is the translation of `text`, at least to the end of this sentence."""
    translation = sentence.translation
    best = translation.n_best[0]
    found: dict[str, Any] = {
        "source": _span(text, sentence.source.start, sentence.source.end),
        "target": _span(translated, sentence.target.start, sentence.target.end),
        "score": number(best.score),
        "log_prob": number(best.log_prob),
        "n_best": [
            {"text": each.text, "score": number(each.score), "log_prob": number(each.log_prob)}
            for each in translation.n_best
        ],
        "caution": caution_of(served, translation.source),
    }
    if search.attention and translation.attention is not None:
        found |= _words(text, translated, sentence, search.attention)
    return found


def _words(text: str, translated: str, sentence: Sentence, attention: Literal["words", "pieces"]) -> dict[str, Any]:
    """The words of both sides and their attention; for "pieces", also that of all heads, up to `MOST_WEIGHTS`."""
    translation, source, target = sentence.translation, sentence.source, sentence.target
    assert translation.attention is not None
    weights, src_words, tgt_words = translation.word_attention
    of_source = word_places(src_words, text[source.start : source.end], source.start)
    of_target = word_places(tgt_words, translated[target.start : target.end], target.start)
    sums = weights.sum(1, keepdims=True)
    shares = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    found: dict[str, Any] = {
        "source_words": _words_json(src_words, of_source),
        "target_words": _words_json(tgt_words, of_target),
        "links": [list(link) for link in translation.alignment],
        "word_attention": numbers(shares),
    }
    if attention == "pieces" and translation.attention.size <= MOST_WEIGHTS:
        found |= {
            "source_pieces": translation.src_pieces,
            "target_pieces": translation.tgt_pieces,
            "attention": numbers(translation.attention),
        }
    return found


def _words_json(words: Sequence[str], places: Sequence[Place | None]) -> list[dict[str, Any]]:
    return [
        {"text": word, "start": None if place is None else place[0], "end": None if place is None else place[1]}
        for word, place in zip(words, places, strict=True)
    ]


def _span(text: str, start: int, end: int) -> dict[str, Any]:
    return {"text": text[start:end], "start": start, "end": end}


def number(value: float) -> float:
    """`value`, rounded; -1e9 if it is not finite. JSON has no infinity, and no translation has a probability of 0."""
    return round(value, DIGITS) if math.isfinite(value) else -1e9


def numbers(values: NDArray[np.floating]) -> Any:
    """Nested lists of rounded numbers."""
    return np.round(values.astype(np.float64), DIGITS).tolist()


def caution_of(served: Served, text: str) -> str | None:
    """Why the translation of this text may be wrong, or None."""
    said = served.notes.unread(text)
    return None if said is None else f"The text {said}."
