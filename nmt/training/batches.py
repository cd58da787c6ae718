"""The training split as batches: which rows each update gets, and their tokens."""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from nmt.data.batch import Batch, make_batch, pad_batch, ragged
from nmt.data.batching import BatchOrder
from nmt.data.encoded import Numbers, open_sides
from nmt.data.prepare import Prepared
from nmt.machine.seeds import derived_seed
from nmt.training.progress import Progress

RowNumbers = Numbers


class TrainingData:
    """Batches for each update. Seed, epoch and update number alone decide them, so a run can be resumed anywhere."""

    def __init__(
        self, prepared: Prepared, budget: int, accumulate: int, parts: int, seed: int, sampling_alpha: float | None,
        lowercase_share: float = 0.0,
    ) -> None:  # fmt: skip
        self.split = prepared.train
        self.tokenizers = prepared.tokenizers
        self.accumulate = accumulate
        self.parts = parts
        self.seed = seed
        self.sampling_alpha = sampling_alpha
        self.lowercase_share = lowercase_share
        self.waited_s = 0.0  # how long the last update waited for its batches
        self.src, self.tgt = open_sides(Path(self.split.cache_files[0]["filename"]))
        self.order = BatchOrder(self.src, self.tgt, budget, seed, prepared.mix)
        self._at: tuple[int, int] | None = None  # epoch and number of the batch `_next`
        self._next: RowNumbers | None = None
        self._later: Iterator[RowNumbers] = iter(())

    @cached_property
    def updates_in_first_epoch(self) -> int:
        """Updates in epoch 0. Later epochs may differ by a few: pairs of equal length are shuffled anew each time."""
        return -(-sum(1 for _ in self.order.epoch(0)) // self.accumulate)

    def advance(self, progress: Progress) -> list[RowNumbers]:
        """The rows of each part of the next update; moves `progress` past its batches.

        An update has `accumulate` batches, or fewer at the end of an epoch. Each batch is divided into `parts` parts
        of similar lengths, or into one part per row if it has fewer rows.
        """
        start = perf_counter()
        if self._at != (progress.epoch, progress.batch):
            self._later = islice(self.order.epoch(progress.epoch), progress.batch, None)
            self._next = next(self._later, None)
        batches: list[RowNumbers] = []
        while self._next is not None and len(batches) < self.accumulate:
            batches.append(self._next)
            self._next = next(self._later, None)
        progress.batch += len(batches)
        self._at = progress.epoch, progress.batch
        if self._next is None:
            progress.epoch, progress.batch = progress.epoch + 1, 0
        self.waited_s = perf_counter() - start
        return [rows[part :: self.parts] for rows in batches for part in range(min(self.parts, len(rows)))]

    def load(self, rows: list[RowNumbers], update: int, first: int = 0) -> list[Batch]:
        """These parts of an update as batches; the first part has number `first`. With sampling, segmented anew."""
        start = perf_counter()
        batches = [self._part(r, update, number) for number, r in enumerate(rows, first)]
        self.waited_s += perf_counter() - start
        return batches

    def _part(self, rows: RowNumbers, update: int, number: int) -> Batch:
        """Part `number` of an update."""
        lowered = self._lowered(len(rows), update, number)
        if self.sampling_alpha is not None:
            return self._sampled(rows, lowered, update, number, self.sampling_alpha)
        src = self.src.gather(rows)
        if lowered.any():
            texts = self.split[rows[lowered].tolist()]["src"]
            others = iter(self.tokenizers.src.encode_batch([text.lower() for text in texts]))
            each = np.split(src.tokens, np.cumsum(src.lengths)[:-1])
            src = ragged([next(others) if low else ids for ids, low in zip(each, lowered, strict=True)])
        return pad_batch(src, self.tgt.gather(rows))

    def _lowered(self, count: int, update: int, number: int) -> NDArray[np.bool_]:
        """Which sources of a part are read in lower case."""
        if not self.lowercase_share:
            return np.zeros(count, np.bool_)
        rng = np.random.default_rng(derived_seed(self.seed, "lower case", update, number))
        return rng.random(count) < self.lowercase_share

    def _sampled(self, rows: RowNumbers, lowered: NDArray[np.bool_], update: int, number: int, alpha: float) -> Batch:
        pairs = self.split[rows.tolist()]
        src_seed = derived_seed(self.seed, "source segmentation", update, number)
        tgt_seed = derived_seed(self.seed, "target segmentation", update, number)
        sources = [text.lower() if low else text for text, low in zip(pairs["src"], lowered, strict=True)]
        src = self.tokenizers.src.sample_batch(sources, alpha, src_seed)
        return make_batch(src, self.tokenizers.tgt.sample_batch(pairs["tgt"], alpha, tgt_seed))

    def sentences(self, rows: list[RowNumbers]) -> list[int]:
        """Numbers of these pairs, in order, in the training split as read, counted from 0."""
        return sorted(int(i) for r in rows for i in self.split[r.tolist()]["index"])
