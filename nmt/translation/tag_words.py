"""A text and its translation as words with their offsets, and the links between them."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from nmt.scoring.alignment import units

Range = tuple[int, int]  # offsets of characters: first, behind the last


@dataclass(frozen=True)
class LinkedText:
    """A translation, where its words and those of its source are, and which are linked."""

    text: str
    src: list[Range]
    tgt: list[Range]
    links: list[tuple[int, int]]  # (source word, target word), from 0


@dataclass(frozen=True)
class SentenceLinks:
    """A sentence's own words and links, and where the sentence begins in both texts."""

    source: str
    target: str
    source_start: int
    target_start: int
    src_words: Sequence[str]
    tgt_words: Sequence[str]
    links: Sequence[tuple[int, int]]


def linked_text(text: str, sentences: Sequence[SentenceLinks]) -> LinkedText:
    """The whole translation `text`, of these sentences in order."""
    src: list[Range] = []
    tgt: list[Range] = []
    links: list[tuple[int, int]] = []
    for sentence in sentences:
        src_places, own_src = placed_words(sentence.source, sentence.src_words)
        tgt_places, own_tgt = placed_words(sentence.target, sentence.tgt_words)
        for i, j in sentence.links:
            pairs: Iterable[tuple[int, int]] = product(src_places[i], tgt_places[j])
            if len(src_places[i]) == len(tgt_places[j]) and sentence.src_words[i] == sentence.tgt_words[j]:
                pairs = zip(src_places[i], tgt_places[j], strict=True)  # a word of several that stayed as it is
            links += [(len(src) + own_i, len(tgt) + own_j) for own_i, own_j in pairs]
        src += [(start + sentence.source_start, end + sentence.source_start) for start, end in own_src]
        tgt += [(start + sentence.target_start, end + sentence.target_start) for start, end in own_tgt]
    return LinkedText(text, src, tgt, links)


def placed_words(text: str, words: Sequence[str]) -> tuple[list[list[int]], list[Range]]:
    """For each of the model's words, which words of the text it is; and where the words of the text are.

    A tokenizer may rewrite characters: where the words differ from those of the text, one counts as the words in its
    place, reckoned by the characters before it.
    """
    own = units(text, "words")
    ranges: list[Range] = []
    reached = 0
    for unit in own:
        start = text.index(unit, reached)
        reached = start + len(unit)
        ranges.append((start, reached))
    if [word.casefold() for word in words] == [unit.casefold() for unit in own] or len(words) == len(own):
        return [[number] for number in range(len(words))], ranges
    total, spelt = sum(map(len, own)), sum(map(len, words))
    owner = [number for number, unit in enumerate(own) for _ in unit]
    result: list[list[int]] = []
    before = 0
    for word in words:
        first, last = before * total // max(1, spelt), (before + len(word)) * total // max(1, spelt)
        result.append(sorted(set(owner[first : max(last, first + 1)])))
        before += len(word)
    return result, ranges


def divided(source: str, linked: LinkedText, edges: Iterable[int]) -> LinkedText:
    """The same with words divided where the edges of tags divide those of the source.

    A word that was translated by itself is divided at the same characters; of another the punctuation before or behind
    it is parted, where an edge parts that of the source.
    """
    cuts = sorted(set(edges))
    src: list[Range] = []
    parts: list[range] = []  # the new words of each old one
    for start, end in linked.src:
        bounds = [start, *cuts[bisect_right(cuts, start) : bisect_left(cuts, end)], end]
        parts.append(range(len(src), len(src) + len(bounds) - 1))
        src += list(zip(bounds, bounds[1:], strict=False))
    sources: dict[int, list[int]] = {}
    for i, j in linked.links:
        sources.setdefault(j, []).append(i)
    tgt: list[Range] = []
    links: list[tuple[int, int]] = []
    for j, place in enumerate(linked.tgt):
        own = sources.get(j, [])
        if len(own) == 1 and len(parts[own[0]]) > 1:
            pieces = [(source[slice(*src[part])], part) for part in parts[own[0]]]
            for piece, of in _pieces(linked.text, place, pieces):
                links += [(part, len(tgt)) for part in of]
                tgt.append(piece)
        else:
            links += [(part, len(tgt)) for i in own for part in parts[i]]
            tgt.append(place)
    return LinkedText(linked.text, src, tgt, links)


def _pieces(text: str, place: Range, source: Sequence[tuple[str, int]]) -> list[tuple[Range, list[int]]]:
    """The translated word in pieces, and which pieces of the source word each is linked to."""
    start, end = place
    word = text[start:end]
    if word.casefold() == "".join(piece for piece, _ in source).casefold() and len(word) == sum(
        len(piece) for piece, _ in source
    ):
        found: list[tuple[Range, list[int]]] = []
        for piece, part in source:
            found.append(((start, start + len(piece)), [part]))
            start += len(piece)
        return found
    first = next((number for number, (piece, _) in enumerate(source) if not is_punctuation(piece)), 0)
    last = next((number for number, (piece, _) in enumerate(reversed(source)) if not is_punctuation(piece)), 0)
    inner_start = start + (_punctuation(word) if first else 0)
    inner_end = end - (_punctuation(word[::-1]) if last else 0)
    if inner_start >= inner_end:
        return [(place, [part for _, part in source])]
    numbers = [part for _, part in source]
    three = [
        ((start, inner_start), numbers[:first]),
        ((inner_start, inner_end), numbers[first : len(numbers) - last]),
        ((inner_end, end), numbers[len(numbers) - last :]),
    ]
    return [(piece, of) for piece, of in three if piece[0] < piece[1]]


def is_punctuation(text: str) -> bool:
    return all(unicodedata.category(char).startswith("P") for char in text)


def _punctuation(word: str) -> int:
    """How many characters of punctuation the word begins with."""
    return next((count for count, char in enumerate(word) if not is_punctuation(char)), 0)
