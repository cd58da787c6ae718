"""Batches of pairs of similar lengths under a token budget; their order depends only on seed and epoch."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nmt.data.encoded import Numbers

POOL = 1 << 18  # pairs that are sorted by length together
BLOCK_PAIRS = 64  # neighbouring pairs that go to the same pool
SEARCHED_PIECES = 100  # source pieces per sentence in a full batch; batches of longer sentences have fewer rows
SHARED = 4  # the number of batches, unless 1, is a multiple of this: 2 or 4 cores get the same number of batches
FORCED_TOKENS = 2048  # token budget of a batch for forced decoding: its attention is held in memory


@runtime_checkable
class Lengths(Protocol):
    """Tokens of each sentence on one side, end-of-sentence included: an array, or an object that looks them up."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Numbers, /) -> NDArray[np.int32]: ...


class Mix:
    """Chooses the rows of each epoch if the parts of a corpus have weights.

    The part that is smallest for its weight decides how long an epoch is: the epoch has all pairs of that part, and
    pairs of the other parts in proportion to their weights. The next epoch continues with the pairs that this one left
    out: every pair of a part is read once before any is read again. The choice depends only on part, seed and epoch.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[int | float]) -> None:
        """`sizes`: rows of each part, at least 1; the parts follow one another in the table. `weights` are above 0."""
        self.sizes, self.weights = list(sizes), list(weights)
        unit = min(size / weight for size, weight in zip(sizes, weights, strict=True))
        self.counts = [
            min(size, max(1, round(unit * weight))) for size, weight in zip(sizes, weights, strict=True)
        ]  # rows of each part in an epoch
        # Of each part: seed and turn, and their order.
        self._orders: dict[int, tuple[tuple[int, int], NDArray[np.uint32]]] = {}

    def __str__(self) -> str:
        """The line for the report."""
        parts = ", ".join(f"{count:,} of {size:,}" for count, size in zip(self.counts, self.sizes, strict=True))
        return f"each epoch has {parts} pairs of the parts with weights {', '.join(map('{:g}'.format, self.weights))}"

    def rows(self, epoch: int, seed: int) -> Numbers:
        """The row numbers of an epoch, sorted. A row may occur twice if the epoch spans two rounds of its part."""
        first = 0
        chosen = []
        for part, (size, count) in enumerate(zip(self.sizes, self.counts, strict=True)):
            places = np.arange(epoch * count, (epoch + 1) * count)
            for turn in range(int(places[0]) // size, int(places[-1]) // size + 1):
                order = self._order(part, seed, turn)
                chosen.append(first + order[places[places // size == turn] % size].astype(np.int64))
            first += size
        return np.sort(np.concatenate(chosen))

    def _order(self, part: int, seed: int, turn: int) -> NDArray[np.uint32]:
        """The order of a part in one turn through it, which many epochs may share."""
        if part not in self._orders or self._orders[part][0] != (seed, turn):
            order = np.random.default_rng([seed, part, turn]).permutation(self.sizes[part])
            self._orders[part] = (seed, turn), order.astype(np.uint32)  # half the memory
        return self._orders[part][1]


class BatchOrder:
    """Decides which sentence pairs make each batch of an epoch.

    The rows of a batch times its longest side (in tokens, end-of-sentence included) stay within `budget`; a pair that
    is longer gets a batch of its own. Any epoch's order is available at any time, so a run can be resumed anywhere.
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
        """Row numbers of each batch of epoch `number` (from 0), shuffled; rows of equal length are mixed anew.

        A corpus of more than `pool` pairs is divided at random into pools of at most `pool` pairs (give or take a
        block), one after the other: memory does not grow with the corpus, and only parts of its file are read at a
        time.
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
        """Every number below `count` once, in pools of about equal size."""
        if count <= pool:
            yield np.arange(count)
            return
        blocks = random.permutation(-(-count // BLOCK_PAIRS))
        for chosen in np.array_split(blocks, -(-count // pool)):
            rows = (chosen[:, None] * BLOCK_PAIRS + np.arange(BLOCK_PAIRS)).ravel()
            yield rows[rows < count]

    def cut(self, order: Numbers) -> list[Numbers]:
        """Cuts `order` into batches of consecutive rows, each as large as the budget allows."""
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
    """Row numbers in batches of at most `most` rows and about equal size, the longest rows first.

    Batches of long rows are smaller (SEARCHED_PIECES). The result does not depend on the number of cores.
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
    """Row numbers in batches for forced decoding: each batch has pairs of similar lengths."""
    src_lengths, tgt_lengths = (np.array([len(ids) + 1 for ids in side], np.int32) for side in (src, tgt))
    order = BatchOrder(src_lengths, tgt_lengths, FORCED_TOKENS, seed=0)
    return [rows.tolist() for rows in order.cut(np.lexsort((src_lengths, tgt_lengths)))]
