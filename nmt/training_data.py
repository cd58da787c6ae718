"""The training split as batches: which rows each update gets, and their tokens."""

import math
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from nmt.batching import BatchOrder, make_batch
from nmt.interfaces import Batch
from nmt.prepare import Prepared
from nmt.progress import Progress

RowNumbers = NDArray[np.int64]


class TrainingData:
    """Everything here follows from seed, epoch and update number alone, so that a run can be resumed anywhere."""

    def __init__(
        self, prepared: Prepared, budget: int, accumulate: int, seed: int, sampling_alpha: float | None
    ) -> None:
        self.split = prepared.train
        self.tokenizers = prepared.tokenizers
        self.accumulate = accumulate
        self.seed = seed
        self.sampling_alpha = sampling_alpha
        src_lengths, tgt_lengths = (lengths(self.split, column) for column in ("src_ids", "tgt_ids"))
        self.order = BatchOrder(src_lengths, tgt_lengths, budget, seed)
        self._epoch: tuple[int, list[RowNumbers]] = 0, self.order.epoch(0)

    @property
    def updates_in_first_epoch(self) -> int:
        """Later epochs may differ by a few: equal lengths are mixed anew each time."""
        return math.ceil(len(self.order.epoch(0)) / self.accumulate)

    def advance(self, progress: Progress) -> list[RowNumbers]:
        """Rows of the next update's batches; fewer than `accumulate` at the end of an epoch."""
        if self._epoch[0] != progress.epoch:
            self._epoch = progress.epoch, self.order.epoch(progress.epoch)
        batches = self._epoch[1]
        rows = batches[progress.batch : progress.batch + self.accumulate]
        progress.batch += len(rows)
        if progress.batch >= len(batches):
            progress.epoch, progress.batch = progress.epoch + 1, 0
        return rows

    def load(self, rows: list[RowNumbers], update: int) -> list[Batch]:
        """Batches of these rows; with subword sampling, segmented anew."""
        batches = []
        for position, r in enumerate(rows):
            pairs = self.split[r.tolist()]
            src, tgt = pairs["src_ids"], pairs["tgt_ids"]
            if self.sampling_alpha is not None:
                seed = (self.seed * 1_000_003 + update) * 1_000 + position
                src = self.tokenizers.src.sample_batch(pairs["src"], self.sampling_alpha, seed)
                tgt = self.tokenizers.tgt.sample_batch(pairs["tgt"], self.sampling_alpha, seed + 500)
            batches.append(make_batch(src, tgt))
        return batches

    def sentences(self, rows: list[RowNumbers]) -> list[int]:
        """Numbers of the pairs in the training split as read, from 0."""
        return sorted(int(i) for r in rows for i in self.split[r.tolist()]["index"])


def lengths(split: Dataset, column: str) -> NDArray[np.int32]:
    """Tokens of every row, end-of-sentence included, without reading the tokens into Python."""
    import pyarrow.compute as pc

    chunks = [pc.list_value_length(chunk).to_numpy(zero_copy_only=False) for chunk in _chunks(split, column)]
    return (np.concatenate(chunks) + 1).astype(np.int32)


def _chunks(split: Dataset, column: str) -> list[Any]:
    """Arrow chunks of a column, in row order."""
    table = split.with_format("arrow")[:] if split._indices is not None else split.data.table
    return list(table.column(column).chunks)
