"""Puts the inline tags of a sentence into its translation, at the places that the word alignment gives.

A tag moves with its words: in the translation, <b> and </b> enclose the run of words that holds the most words linked
to the enclosed source words, and the fewest others. The result has every tag exactly once, and is as well-nested as the
source.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nmt.translation.tag_words import LinkedText, Range, divided, is_punctuation

DEEPEST = 50  # levels of nested elements; with more, tags keep their order, as if elements overlapped
MOST_WORK = 1 << 17  # tags times words; with more, tags keep their order, too
OUTSIDE = -1.0  # worth of a translated word in the run of an element, if it is linked only to words outside
UNLINKED = -0.5  # worth of an unlinked word or punctuation there; a word linked to an enclosed word is worth 1


@dataclass(frozen=True)
class Tag:
    """A tag, or other markup, at an offset of the text.

    open, close: the halves of an element. If one half is missing, it lies outside this text.
    point: markup that encloses nothing.
    kept: markup that the translator sees as `length` characters of the text from its offset, and that stays as it is.
    """

    kind: Literal["open", "close", "point", "kept"]
    name: str
    raw: str  # as the document writes it, with white space behind it that the text lacks
    at: int
    length: int = 0


@dataclass(frozen=True)
class TaggedText:
    """Text without its tags, and the tags, in order."""

    text: str
    tags: list[Tag]


@dataclass(eq=False)
class Node:
    """An element, a point or kept markup, and its place in the translation."""

    before: str
    after: str
    src: Range
    kept: bool = False
    at_start: bool = False  # the element begins before the text
    at_end: bool = False  # the element ends behind the text
    children: "list[Node]" = field(default_factory=list)
    tgt: Range = (0, 0)


class KeptIsLostError(Exception):
    """The translation lacks a kept text that the translator was shown."""


def with_tags(source: TaggedText, translation: LinkedText, escape: Callable[[str], str]) -> str:
    """The translation, escaped, with the source's tags in their places. Raises KeptIsLostError."""
    edges = {edge for tag in source.tags for edge in (tag.at, tag.at + tag.length)}
    placing = Placing(source.text, divided(source.text, translation, edges))
    nodes = tree(source) if len(source.tags) * len(translation.tgt) <= MOST_WORK else None
    if nodes is None:
        return _in_order(source, placing, escape)
    placing.place(nodes, (0, len(source.text)), (0, len(translation.text)))
    return _written(nodes, (0, len(translation.text)), translation.text, escape)


def tree(source: TaggedText) -> list[Node] | None:
    """The tags as a tree; None if elements overlap, so that there is no tree, or if it is very deep."""
    end = len(source.text)
    tops: list[Node] = []
    opened: list[tuple[str, Node]] = []
    around = 0  # elements that begin before the text
    for tag in source.tags:
        if len(opened) + around > DEEPEST:
            return None
        siblings = opened[-1][1].children if opened else tops
        if tag.kind == "open":
            node = Node(tag.raw, "", (tag.at, end), at_end=True)
            siblings.append(node)
            opened.append((tag.name, node))
        elif tag.kind == "close" and opened and opened[-1][0] == tag.name:
            node = opened.pop()[1]
            node.src, node.after, node.at_end = (node.src[0], tag.at), tag.raw, False
        elif tag.kind == "close":
            if opened:
                return None
            tops = [Node("", tag.raw, (0, tag.at), at_start=True, children=tops)]
            around += 1
        else:
            siblings.append(Node(tag.raw, "", (tag.at, tag.at + tag.length), kept=tag.kind == "kept"))
    return tops


class Placing:
    """Finds the places of a text's nodes in its translation."""

    def __init__(self, text: str, translation: LinkedText) -> None:
        self.text = text
        self.translation = translation
        self.sources: list[set[int]] = [set() for _ in translation.tgt]  # source words of each translated word
        self.targets: list[list[int]] = [[] for _ in translation.src]  # translated words of each source word
        for i, j in sorted(translation.links):
            self.sources[j].add(i)
            self.targets[i].append(j)
        self.src_starts = [start for start, _ in translation.src]
        self.tgt_starts = [start for start, _ in translation.tgt]

    def place(self, nodes: Sequence[Node], src: Range, tgt: Range) -> None:
        """Sets the places of these siblings and of their children, within the range `tgt` of the translation."""
        words = [j for j, (start, end) in enumerate(self.translation.tgt) if start < tgt[1] and end > tgt[0]]
        free = set(words)
        for node in nodes:
            if node.kept and node.src[0] < node.src[1]:
                node.tgt = self._found_again(node, tgt, [each.tgt for each in nodes if each.kept and each.tgt[1]])
                free -= {j for j in words if self._overlap(self.translation.tgt[j], node.tgt)}
        wide = [node for node in nodes if not node.kept and self._own(node)]
        for node in sorted(wide, key=lambda each: not (each.at_start or each.at_end)):
            run = self._run(node, words, free)
            node.tgt = self._characters(node, run, tgt)
            free -= set(run)
        taken = [node.tgt for node in nodes if node.tgt[0] < node.tgt[1]]
        for node in nodes:
            if node.tgt[0] == node.tgt[1]:
                place = node.tgt[0] if node in wide else self.point(node.src[0], src, tgt)
                inside = next((each for each in taken if each[0] < place < each[1]), None)
                place = place if inside is None else inside[1]
                node.tgt = (place, place)
        for node in nodes:
            if node.children:
                self.place(node.children, node.src, node.tgt)

    def point(self, at: int, src: Range, tgt: Range) -> int:
        """The place of a tag that encloses nothing: beside the word that it touches, or before the next word."""
        if at <= src[0] or at >= src[1]:
            return tgt[0] if at <= src[0] else tgt[1]
        following = bisect_left(self.src_starts, at)
        touches = following > 0 and self.translation.src[following - 1][1] >= at
        word = following - 1 if touches else following
        linked = self.targets[word] if word < len(self.targets) else []
        if linked:
            place = self.translation.tgt[linked[-1]][1] if touches else self.tgt_starts[linked[0]]
        else:
            place = self._proportional(at)
        return min(max(place, tgt[0]), tgt[1])

    def _run(self, node: Node, words: Sequence[int], free: set[int]) -> list[int]:
        """The run of translated words that the node encloses; empty if other nodes have all of them."""
        own = self._own(node)
        linked = {j for j in words if self.sources[j] & own} or self._at_like_place(node, free)
        worth = {
            j: 1.0 if j in linked else OUTSIDE if self.sources[j] and not self._is_mark(j) else UNLINKED for j in words
        }
        best, best_worth = range(0), 0.0  # indices of `words`
        if node.at_start or node.at_end:
            total, found = 0.0, False
            for count, j in enumerate(words if node.at_start else reversed(words), 1):
                if j not in free:
                    break
                total += worth[j]
                if j in linked and (total > best_worth or not found):
                    found = True
                    best = range(count) if node.at_start else range(len(words) - count, len(words))
                    best_worth = total
            return [words[place] for place in best]
        first, run_worth = 0, 0.0
        for place, j in enumerate(words):
            if run_worth <= 0:
                first, run_worth = place, 0.0
            if j not in free:
                first, run_worth = place + 1, 0.0
                continue
            run_worth += worth[j]
            if run_worth > best_worth:
                best, best_worth = range(first, place + 1), run_worth
        return [words[place] for place in best]

    def _characters(self, node: Node, run: Sequence[int], tgt: Range) -> Range:
        """The range of these words and all between them, with a space at an edge if the element has one there."""
        if not run:
            place = tgt[0] if node.at_start else tgt[1] if node.at_end else self._beside(node)
            place = min(max(place, tgt[0]), tgt[1])
            return place, place
        start, end = self.translation.tgt[run[0]][0], self.translation.tgt[run[-1]][1]
        text = self.translation.text
        while self.text[node.src[0]].isspace() and text[start - 1 : start].isspace():
            start -= 1
        while self.text[node.src[1] - 1].isspace() and text[end : end + 1].isspace():
            end += 1
        start = tgt[0] if node.at_start else max(start, tgt[0])
        end = tgt[1] if node.at_end else min(end, tgt[1])
        return start, max(start, end)

    def _beside(self, node: Node) -> int:
        """The place behind the translated words of a node, if another element has these words."""
        linked = sorted(j for i in self._own(node) for j in self.targets[i])
        return self.translation.tgt[linked[-1]][1] if linked else self._proportional(node.src[0])

    def _own(self, node: Node) -> set[int]:
        """The source words that the node encloses, wholly or in part."""
        first = bisect_left([end for _, end in self.translation.src], node.src[0] + 1)
        return set(range(first, bisect_left(self.src_starts, node.src[1])))

    def _is_mark(self, j: int) -> bool:
        return is_punctuation(self.translation.text[slice(*self.translation.tgt[j])])

    def _at_like_place(self, node: Node, free: set[int]) -> set[int]:
        """The free words at the relative position that the element has in the text; at least one, if any is free."""
        scale = len(self.translation.text) / max(1, len(self.text))
        start, end = node.src[0] * scale, node.src[1] * scale
        words = {j for j in free if not self._is_mark(j)} or free
        middles = {j: sum(self.translation.tgt[j]) / 2 for j in words}
        inside = {j for j, middle in middles.items() if start <= middle < end}
        return inside or set(sorted(words, key=lambda j: abs(middles[j] - (start + end) / 2))[:1])

    def _proportional(self, at: int) -> int:
        """The start of the translated word nearest to the relative position that the offset has in the text."""
        expected = at * len(self.translation.text) / max(1, len(self.text))
        after = bisect_left(self.tgt_starts, expected)
        near = [*self.tgt_starts[max(0, after - 1) : after + 1], len(self.translation.text)]
        return min(near, key=lambda start: abs(start - expected))

    def _found_again(self, node: Node, tgt: Range, taken: Sequence[Range]) -> Range:
        """The range of the kept text in the translation; of several, the nearest to the expected place."""
        kept = self.text[node.src[0] : node.src[1]]
        text = self.translation.text
        places: list[Range] = []
        place = text.find(kept, tgt[0], tgt[1])
        while place >= 0:
            found = place, place + len(kept)
            whole = not (_joins(text, found[0]) or _joins(text, found[1]))
            if whole and not any(self._overlap(found, other) for other in taken):
                places.append(found)
            place = text.find(kept, place + 1, tgt[1])
        if not places:
            raise KeptIsLostError(kept)
        expected = self.point(node.src[0], (0, len(self.text)), tgt)
        return min(places, key=lambda found: abs(found[0] - expected))

    @staticmethod
    def _overlap(one: Range, other: Range) -> bool:
        return one[0] < other[1] and other[0] < one[1]


def _in_order(source: TaggedText, placing: Placing, escape: Callable[[str], str]) -> str:
    """The translation with all tags in the source's order; another order would make overlapping elements worse."""
    text = placing.translation.text
    whole = (0, len(source.text)), (0, len(text))
    nodes: list[Node] = []
    reached = 0
    for tag in source.tags:
        if tag.kind == "kept" and tag.length:
            raise KeptIsLostError(source.text[tag.at : tag.at + tag.length])
        reached = max(reached, placing.point(tag.at, *whole))
        nodes.append(Node(tag.raw, "", (tag.at, tag.at), tgt=(reached, reached)))
    return _written(nodes, whole[1], text, escape)


def _written(nodes: Sequence[Node], tgt: Range, text: str, escape: Callable[[str], str]) -> str:
    result: list[str] = []
    reached = tgt[0]
    for node in sorted(nodes, key=lambda each: each.tgt):  # stable: nodes at one place keep the source's order
        start = min(max(reached, node.tgt[0]), tgt[1])
        result += [escape(text[reached:start]), node.before]
        if not node.kept:
            result += [_written(node.children, (start, max(start, node.tgt[1])), text, escape), node.after]
        reached = max(start, node.tgt[1])
    return "".join([*result, escape(text[reached : tgt[1]])])


def _joins(text: str, at: int) -> bool:
    """Does a word go on at this offset?"""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()
