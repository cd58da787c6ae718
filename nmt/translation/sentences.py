"""Cuts a line into texts that are translated one by one: its sentences, for a model trained on sentences."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from nmt.data.sentences import sentence_groups

Sentences = Literal["auto", "split", "keep"]


@dataclass(frozen=True)
class Cut:
    """The texts of a line in order, at least one, and the gaps between them: white space and invisible characters."""

    texts: list[str]
    gaps: list[str]


def cut_line(line: str, at_once: int | None) -> Cut:
    """The line in texts of at most `at_once` sentences, cut at every line end; None: the line as it is."""
    groups = [] if at_once is None else sentence_groups(line, at_once)
    if len(groups) <= 1:
        return Cut([line], [])
    return Cut(
        [line[group.start : group.end] for group in groups],
        [line[group.end : following.start] for group, following in pairwise(groups)],
    )
