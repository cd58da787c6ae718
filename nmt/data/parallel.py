"""Tests whether two files are parallel: long sentences have long translations unless lines are shifted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 200  # neighbouring pairs that are judged together
FEWEST = 50  # fewest pairs to judge files that are shorter than a block
TOGETHER = 0.25  # a block with a lower correlation is bad; by chance, the standard deviation is 0.07
SPREAD = 0.25  # least standard deviation of log lengths on a side: lengths that are all alike say nothing
# Least surplus of bad blocks over good ones in a stretch, for a caution: this share of all blocks, within these limits
# (all blocks, if there are fewer). A large corpus has noisy places.
SURPLUS_SHARE, LEAST_SURPLUS, MOST_SURPLUS = 0.05, 3, 20
AT_THE_END, RARELY = 2, 0.03  # bad blocks at the end that are enough, where hardly any block before them is bad
# The median block of Tatoeba, Multi30k and 137 translations of programs has 0.77 to 1.00, and 0.33 to 0.64 if every
# second target is that of another source (scripts/bench cautions).
USUAL = 0.5
APART = 0.25  # by which the correlation of a stretch is below that of the other blocks, at least, where that is low
TERM_WORDS, TERM_BYTES = 2, 24  # of a side of a term, at most: a word is often longer or shorter than its translation
MOST_SAMPLED = 8192  # pairs from all over a split, which are judged where most blocks have lengths that are all alike


@dataclass
class LengthAgreement:
    """Correlates the lengths of both sides, block by block, in the order of the files.

    Terms say nothing, so a block of mostly terms (a word list) cannot be judged.
    """

    correlations: list[float | None] = field(default_factory=list)  # one for each block; None: it cannot be judged
    _waiting: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))  # as `measured` gives them
    _sample: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))  # every `_step`-th pair
    _step: int = 1
    _pairs: int = 0

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Adds the next pairs; pairs with an empty side do not count."""
        lengths = measured([pair for pair in zip(sources, targets, strict=True) if all(pair)])
        self._sample = np.concatenate([self._sample, lengths[-self._pairs % self._step :: self._step]])
        self._pairs += len(lengths)
        while len(self._sample) > MOST_SAMPLED:
            self._sample, self._step = self._sample[::2], 2 * self._step
        waiting = np.concatenate([self._waiting, lengths])
        whole = len(waiting) // BLOCK * BLOCK
        self.correlations += map(of_block, waiting[:whole].reshape(-1, BLOCK, 3))
        self._waiting = waiting[whole:]

    def caution(self, name: str) -> str | None:
        """A warning if the sides of a stretch of pairs are most likely not translations; None if all is well."""
        if not self.correlations and len(self._waiting) >= FEWEST:
            found = [of_block(self._waiting)]
        else:
            found = self.correlations
        judged = [(number, value) for number, value in enumerate(found) if value is not None]
        values = [value for _, value in judged]
        bad = [value < TOGETHER for value in values]
        first, last, surplus = worst_stretch(bad)
        needed = min(max(LEAST_SURPLUS, SURPLUS_SHARE * len(judged)), MOST_SURPLUS, len(found))
        if surplus < max(1, needed):
            ending = bad_ending(bad)
            if len(bad) - ending < AT_THE_END or sum(bad[:ending]) > RARELY * ending:
                return self._of_pairs_all_over(name, values, len(found))
            first, last = ending, len(bad) - 1
        middle = float(np.median(values[first : last + 1]))
        elsewhere = [*values[:first], *values[last + 1 :]]
        usual = float(np.median(elsewhere)) if len(elsewhere) >= LEAST_SURPLUS else USUAL
        if not elsewhere or (usual < USUAL and usual - middle < APART):
            return _of_all(name, float(np.median(values)))
        begin, end = judged[first][0] * BLOCK + 1, (judged[last][0] + 1) * BLOCK
        to_the_end = last == len(judged) - 1
        if first:
            where = f"from about pair {begin:,} {'on' if to_the_end else f'to {end:,}'}, "
        else:
            where = f"up to about pair {end:,}, "
        return _of_all(name, middle, where)

    def _of_pairs_all_over(self, name: str, correlations: Sequence[float], blocks: int) -> str | None:
        """A warning about pairs from all over the split, given the correlations of the blocks that can be judged."""
        if 2 * len(correlations) < blocks:  # as in a file that is sorted by length
            whole = of_block(self._sample)
            if whole is not None and whole < USUAL:
                return _of_all(name, whole) if whole < TOGETHER else _of_noise(name, whole)
        if len(correlations) < LEAST_SURPLUS or (median := float(np.median(correlations))) >= USUAL:
            return None
        return _of_noise(name, median)


def _of_all(name: str, middle: float, where: str = "") -> str:
    """A warning about pairs whose lengths have this correlation; `where` they are, if not everywhere."""
    return (
        f"caution: {name} does not look parallel: {where}lengths of the two sides do not go together (correlation "
        f"{middle:.2f}; translations have 0.5 to 1); is line N of one file the translation of line N of the other?"
    )


def _of_noise(name: str, median: float) -> str:
    """A warning that pairs from all over a split are most likely no translations."""
    return (
        f"caution: many pairs of {name} are most likely no translations: lengths of the two sides go together by "
        f"{median:.2f} only (translations: 0.5 to 1)"
    )


def bad_ending(bad: Sequence[bool]) -> int:
    """The number of the first of the bad blocks at the end; the number of blocks, if the last one is good."""
    return next((number + 1 for number in reversed(range(len(bad))) if not bad[number]), 0)


def worst_stretch(bad: Sequence[bool]) -> tuple[int, int, int]:
    """First and last number of the stretch with the greatest surplus of bad blocks over good ones, and the surplus."""
    found, start, surplus = (0, 0, 0), 0, 0
    for number, is_bad in enumerate(bad):
        surplus += 1 if is_bad else -1
        if surplus < 0:
            start, surplus = number + 1, 0
        elif surplus > found[2]:
            found = start, number, surplus
    return found


def measured(pairs: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
    """The lengths of both sides, and 1 if they are terms, 0 if they are sentences: [pairs, 3]."""
    rows = [(len(src), len(tgt), is_term(src) and is_term(tgt)) for src, tgt in pairs]
    return np.array(rows, np.int64).reshape(-1, 3)


def is_term(text: str) -> bool:
    """Is it a word or two, as in a word list?"""
    if len(text) > TERM_BYTES or text.count(" ") >= TERM_WORDS:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= TERM_BYTES


def of_block(rows: NDArray[np.int64]) -> float | None:
    """The correlation of a block, from what `measured` gives; None if it cannot be judged."""
    return None if 2 * rows[:, 2].sum() > len(rows) else correlation(rows[:, :2])


def correlation(lengths: NDArray[np.integer[Any]]) -> float | None:
    """The correlation of log lengths, from lengths [pairs, 2]; None if the lengths on a side are too much alike."""
    logarithms = np.log1p(lengths)
    if len(lengths) < 2 or logarithms.std(0).min() < SPREAD:
        return None
    return float(np.corrcoef(logarithms.T)[0, 1])
