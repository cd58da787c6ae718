"""Which texts of a line are translated one by one: its sentences, for a model that was trained on sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from nmt.data.sentences import sentence_groups

Sentences = Literal["auto", "split", "keep"]


@dataclass(frozen=True)
class Cut:
    """A line's texts in order, at least one, and the gaps between these: white space and what is not visible."""

    texts: list[str]
    gaps: list[str]


def cut_line(line: str, at_once: int | None) -> Cut:
    """In texts of at most so many sentences; None: the line as it is. A line end is always a gap."""
    groups = [] if at_once is None else sentence_groups(line, at_once)
    if len(groups) <= 1:
        return Cut([line], [])
    return Cut(
        [line[group.start : group.end] for group in groups],
        [line[group.end : following.start] for group, following in pairwise(groups)],
    )


def of_first_texts(values: Sequence[str | None], cuts: Sequence[Cut]) -> list[str | None]:
    """The value of each line for its first text, and None for the others."""
    return [
        value if first else None
        for value, cut in zip(values, cuts, strict=True)
        for first in [True, *[False] * len(cut.gaps)]
    ]
