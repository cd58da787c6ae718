"""Batches of similar lengths under a token budget, in an order that depends on seed and epoch alone."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nmt.data.encoded import Numbers

POOL = 1 << 18  # pairs that are sorted by length together
BLOCK_PAIRS = 64  # neighbouring pairs that come into the same pool
SEARCHED_PIECES = 100  # of the source for each sentence of a batch: of longer ones fewer are searched together
SHARED = 4  # several batches are a multiple of this, so that 2 or 4 cores have as many each
FORCED_TOKENS = 2048  # of the longer side of pairs forced at once: their attention is held in memory


@runtime_checkable
class Lengths(Protocol):
    """Tokens of every pair's side, end-of-sentence included: an array, or what looks them up."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Numbers, /) -> NDArray[np.int32]: ...


class Mix:
    """Which rows an epoch has where parts of a corpus have weights.

    The part that its weight uses up first decides how long an epoch is: it has all pairs of that part, and of every
    other so many that the shares are those of the weights. The next epochs go on with the pairs that this one leaves
    out: every pair of a part is read once before any is read again. Part, seed and epoch alone decide.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[int | float]) -> None:
        """`sizes`: rows of each part, which stand one part after the other; each is 1 or more, as are weights > 0."""
        self.sizes, self.weights = list(sizes), list(weights)
        unit = min(size / weight for size, weight in zip(sizes, weights, strict=True))
        self.counts = [
            min(size, max(1, round(unit * weight))) for size, weight in zip(sizes, weights, strict=True)
        ]  # rows of each part in an epoch

    def __str__(self) -> str:
        """For the report."""
        parts = ", ".join(f"{count:,} of {size:,}" for count, size in zip(self.counts, self.sizes, strict=True))
        return f"each epoch has {parts} pairs of the parts with weights {', '.join(map('{:g}'.format, self.weights))}"

    @property
    def share(self) -> float:
        """Of all pairs, that an epoch has."""
        return sum(self.counts) / sum(self.sizes)

    def rows(self, epoch: int, seed: int) -> Numbers:
        """Those of an epoch, in order; a row may be there twice where two rounds of its part meet."""
        first = 0
        chosen = []
        for part, (size, count) in enumerate(zip(self.sizes, self.counts, strict=True)):
            places = np.arange(epoch * count, (epoch + 1) * count)
            for turn in range(int(places[0]) // size, int(places[-1]) // size + 1):
                order = np.random.default_rng([seed, part, turn]).permutation(size)
                chosen.append(first + order[places[places // size == turn] % size])
            first += size
        return np.sort(np.concatenate(chosen))


class BatchOrder:
    """Which sentence pairs make each batch of an epoch.

    Rows times the longest side of a batch (in tokens, end-of-sentence included) stay within `budget`; a pair that is
    longer makes a batch of its own. Any epoch's order can be asked for at any time, so a run can be resumed anywhere.
    """

    def __init__(
        self, src_lengths: Lengths, tgt_lengths: Lengths, budget: int, seed: int, mix: Mix | None = None
    ) -> None:
        self.src_lengths = src_lengths
        self.tgt_lengths = tgt_lengths
        self.budget = budget
        self.seed = seed
        self.mix = mix

    def epoch(self, number: int, pool: int = POOL) -> Iterator[Numbers]:
        """Row numbers of every batch of epoch `number` (from 0), shuffled; equal lengths are mixed anew each time.

        A corpus of more than `pool` pairs is dealt into random pools of at most so many (to a block), one after the
        other: memory does not grow with it, and its file is read in places.
        """
        random = np.random.default_rng([self.seed, number])
        there = None if self.mix is None else self.mix.rows(number, self.seed)
        for numbers in self._pools(random, len(self.src_lengths) if there is None else len(there), pool):
            rows = numbers if there is None else there[numbers]
            ties = random.random(len(rows), dtype=np.float32)
            src, tgt = self.src_lengths[rows], self.tgt_lengths[rows]
            order = np.lexsort((ties, src, tgt))
            batches = self.cut(rows[order])
            for i in random.permutation(len(batches)):
                yield batches[i]

    def _pools(self, random: np.random.Generator, count: int, pool: int) -> Iterator[Numbers]:
        """Every number below `count` once, in pools of about equal sizes."""
        if count <= pool:
            yield np.arange(count)
            return
        blocks = random.permutation(-(-count // BLOCK_PAIRS))
        for chosen in np.array_split(blocks, -(-count // pool)):
            rows = (chosen[:, None] * BLOCK_PAIRS + np.arange(BLOCK_PAIRS)).ravel()
            yield rows[rows < count]

    def cut(self, order: Numbers) -> list[Numbers]:
        """Consecutive rows of `order`, as many to a batch as the budget allows."""
        widths = np.maximum(self.src_lengths[order], self.tgt_lengths[order])
        batches, start = [], 0
        while start < len(order):
            most = max(1, self.budget // int(widths[start]))
            widest = np.maximum.accumulate(widths[start : start + most])
            fitting = int(np.searchsorted(widest * np.arange(1, len(widest) + 1), self.budget, side="right"))
            batches.append(order[start : start + max(1, fitting)])
            start += max(1, fitting)
        return batches


def even_batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Rows of these lengths, the longest first, in batches of at most `most` rows, all about as many.

    Fewer where they are long. The same whatever the number of cores.
    """
    rows = sorted(range(len(lengths)), key=lambda row: lengths[row], reverse=True)
    count = -(-len(rows) // most)
    if count > 1:
        count = min(len(rows), -(-count // SHARED) * SHARED)
    bounds = [number * len(rows) // count for number in range(count + 1)] if count else [0]
    batches = [rows[start:end] for start, end in pairwise(bounds)]
    return [part for batch in batches for part in _divided(batch, most * SEARCHED_PIECES // max(1, lengths[batch[0]]))]


def _divided(rows: list[int], most: int) -> list[list[int]]:
    step = max(1, most)
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def forced_batches(src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[list[int]]:
    """Row numbers of pairs to force together, of similar lengths."""
    src_lengths, tgt_lengths = (np.array([len(ids) + 1 for ids in side], np.int32) for side in (src, tgt))
    order = BatchOrder(src_lengths, tgt_lengths, FORCED_TOKENS, seed=0)
    return [rows.tolist() for rows in order.cut(np.lexsort((src_lengths, tgt_lengths)))]
