"""A text and its translation as tokens with their offsets, and the links between them.

Tokens are words without the punctuation at their edges, and each mark of that punctuation.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nmt.scoring.alignment import align, cover, fold, units
from nmt.translation.translations import Translation

Range = tuple[int, int]  # character offsets: of the first, and behind the last
Link = tuple[int, int]  # (source token, target token), from 0


@dataclass(frozen=True)
class LinkedText:
    """A translation, the ranges of its source's tokens and of its own tokens, and their links."""

    text: str
    src: list[Range]
    tgt: list[Range]
    links: list[Link]


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence with its translation, and where both begin in their texts."""

    source: str
    source_start: int
    target: str
    target_start: int
    translation: Translation


def linked_text(text: str, sentences: Sequence[PlacedSentence]) -> LinkedText:
    """The whole translation `text`, with tokens and links from its sentences, given in order."""
    src: list[Range] = []
    tgt: list[Range] = []
    links: list[Link] = []
    for sentence in sentences:
        own_src, own_tgt = units(sentence.source, "tokens"), units(sentence.target, "tokens")
        own = token_links(sentence.translation, own_src, own_tgt)
        links += [(len(src) + i, len(tgt) + j) for i, j in own]
        src += _ranges(sentence.source, own_src, sentence.source_start)
        tgt += _ranges(sentence.target, own_tgt, sentence.target_start)
    return LinkedText(text, src, tgt, links)


def token_links(translation: Translation, src: Sequence[str], tgt: Sequence[str]) -> list[Link]:
    """Links between the tokens of a sentence and of its best translation; punctuation links only to punctuation."""
    if not src or not tgt:
        return []
    if translation.attention is not None and translation.tgt_pieces and translation.src_pieces:
        covers = cover(translation.src_pieces, src), cover(translation.tgt_pieces, tgt)
        found = align(fold(translation.mean_attention, *covers))
    else:
        words = translation.word_links
        of_src, of_tgt = _tokens_of(words.src, src), _tokens_of(words.tgt, tgt)
        found = []
        for i, j in words.links:
            alike = [src[k] for k in of_src[i]] == [tgt[k] for k in of_tgt[j]]  # a word that stayed as it is
            found += (
                list(zip(of_src[i], of_tgt[j], strict=True))
                if alike
                else [(a, b) for a in of_src[i] for b in of_tgt[j]]
            )
    return [(i, j) for i, j in found if is_punctuation(src[i]) == is_punctuation(tgt[j])]


def divided(source: str, linked: LinkedText, edges: Iterable[int]) -> LinkedText:
    """`linked`, with the source's tokens divided at `edges`, which are the edges of tags.

    A target token that repeats the one source token it is linked to is divided at the same characters. Any other target
    token stays whole and is linked to all parts of its source tokens.
    """
    cuts = sorted(set(edges))
    src: list[Range] = []
    parts: list[range] = []  # the new tokens of each old one
    for start, end in linked.src:
        bounds = [start, *cuts[bisect_right(cuts, start) : bisect_left(cuts, end)], end]
        parts.append(range(len(src), len(src) + len(bounds) - 1))
        src += list(pairwise(bounds))
    sources: dict[int, list[int]] = {}
    for i, j in linked.links:
        sources.setdefault(j, []).append(i)
    tgt: list[Range] = []
    links: list[Link] = []
    for j, (start, end) in enumerate(linked.tgt):
        own = sources.get(j, [])
        if len(own) == 1 and len(parts[own[0]]) > 1 and _same(source, linked.src[own[0]], linked.text, (start, end)):
            shift = start - linked.src[own[0]][0]
            for part in parts[own[0]]:
                links.append((part, len(tgt)))
                tgt.append((src[part][0] + shift, src[part][1] + shift))
        else:
            links += [(part, len(tgt)) for i in own for part in parts[i]]
            tgt.append((start, end))
    return LinkedText(linked.text, src, tgt, links)


def is_punctuation(text: str) -> bool:
    """Is the text punctuation alone?"""
    return all(unicodedata.category(char).startswith("P") for char in text)


def _same(text: str, place: Range, other: str, other_place: Range) -> bool:
    """Are the two ranges the same text, ignoring case?"""
    mine, theirs = text[slice(*place)], other[slice(*other_place)]
    return len(mine) == len(theirs) and mine.casefold() == theirs.casefold()


def _ranges(text: str, own: Sequence[str], shift: int) -> list[Range]:
    """The range of each token in the text, moved by `shift`."""
    ranges: list[Range] = []
    reached = 0
    for token in own:
        start = text.index(token, reached)
        reached = start + len(token)
        ranges.append((shift + start, shift + reached))
    return ranges


def _tokens_of(words: Sequence[str], own: Sequence[str]) -> list[list[int]]:
    """The tokens of the text that correspond to each of the model's words.

    A tokenizer may rewrite characters. If their number differs, the tokens at the same relative position correspond.
    """
    owner = [number for number, token in enumerate(own) for _ in token]
    spelt = sum(map(len, words))
    result: list[list[int]] = []
    before = 0
    for word in words:
        first = before * len(owner) // max(1, spelt)
        before += len(word)
        last = before * len(owner) // max(1, spelt)
        result.append(sorted(set(owner[first : max(last, first + 1)])))
    return result
