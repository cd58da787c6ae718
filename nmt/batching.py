"""Batches of similar lengths under a token budget, in an order that depends on seed and epoch alone."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt.interfaces import Batch
from nmt.tokenizer import BOS, EOS, PAD


class BatchOrder:
    """Which sentence pairs make each batch of an epoch.

    Rows times the longest side of a batch (in tokens, end-of-sentence included) stay within `budget`; a pair that is
    longer makes a batch of its own. Any epoch's order can be asked for at any time, so a run can be resumed anywhere.
    """

    def __init__(self, src_lengths: NDArray[np.int32], tgt_lengths: NDArray[np.int32], budget: int, seed: int) -> None:
        self.src_lengths = src_lengths
        self.tgt_lengths = tgt_lengths
        self.budget = budget
        self.seed = seed

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """Row numbers of every batch of epoch `number` (from 0), shuffled; equal lengths are mixed anew each time."""
        random = np.random.default_rng([self.seed, number])
        ties = random.random(len(self.src_lengths), dtype=np.float32)
        order = np.lexsort((ties, self.src_lengths, self.tgt_lengths))
        batches = self.cut(order)
        return [batches[i] for i in random.permutation(len(batches))]

    def cut(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Consecutive rows of `order`, as many to a batch as the budget allows."""
        widths = np.maximum(self.src_lengths, self.tgt_lengths)[order]
        batches, start = [], 0
        while start < len(order):
            most = max(1, self.budget // int(widths[start]))
            widest = np.maximum.accumulate(widths[start : start + most])
            fitting = int(np.searchsorted(widest * np.arange(1, len(widest) + 1), self.budget, side="right"))
            batches.append(order[start : start + max(1, fitting)])
            start += max(1, fitting)
        return batches


def make_batch(src_ids: Sequence[Sequence[int]], tgt_ids: Sequence[Sequence[int]]) -> Batch:
    """Token ids of sentence pairs, padded; bos and eos are added here and nowhere else."""
    src, src_mask = pad([[*ids, EOS] for ids in src_ids])
    tgt_in, tgt_mask = pad([[BOS, *ids] for ids in tgt_ids])
    tgt_out, _ = pad([[*ids, EOS] for ids in tgt_ids])
    return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor [B, N], and its mask of real tokens."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, PAD, dtype=np.int64)
    ids[mask] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(mask)
