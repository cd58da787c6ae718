"""Batches of sentence pairs as tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from nmt.data.encoded import Ragged
from nmt.data.tokenizer import BOS, EOS, PAD

R = TypeVar("R", bound="Rows")


@dataclass(frozen=True)
class Rows:
    """Tensors, and tuples of tensors, with the batch on axis 0: the base of batches, beams and decoder states."""

    def select(self: R, rows: Int[Tensor, " N"]) -> R:
        """Rows `rows` of every tensor, in that order."""
        return self._with(lambda tensor: tensor.index_select(0, rows))

    def to(self: R, device: torch.device) -> R:
        """A copy on another device."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=True))

    def _with(self: R, change: Callable[[Tensor], Tensor]) -> R:
        """A copy with `change` applied to every tensor, also inside tuples; other values stay."""
        values = {f.name: _changed(getattr(self, f.name), change) for f in fields(self)}
        return replace(self, **values)


def _changed(value: object, change: Callable[[Tensor], Tensor]) -> object:
    match value:
        case Tensor():
            return change(value)
        case tuple():
            return tuple(_changed(each, change) for each in value)
        case _:
            return value


@dataclass(frozen=True)
class Batch(Rows):
    """Sentence pairs. src and tgt_out end with eos, tgt_in starts with bos; `tokens` counts real target tokens."""

    src: Int[Tensor, "B S"]
    src_mask: Bool[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]
    tgt_out: Int[Tensor, "B T"]
    tgt_mask: Bool[Tensor, "B T"]
    tokens: int

    def select(self, rows: Int[Tensor, " N"]) -> "Batch":
        """Rows `rows`, in that order; waits for the device."""
        chosen = super().select(rows)
        return replace(chosen, tokens=int(chosen.tgt_mask.sum()))

    def twice(self) -> "Batch":
        """The batch with its rows twice: all rows, then all of them again."""
        each = {f.name: getattr(self, f.name) for f in fields(self)}
        again = {name: torch.cat([value, value]) for name, value in each.items() if isinstance(value, Tensor)}
        return replace(self, **again, tokens=2 * self.tokens)

    def real(self) -> Int[Tensor, " N"]:
        """Indices of the N real target tokens among all B · T. N is known already, so nothing waits for the device."""
        return torch.nonzero_static(self.tgt_mask.flatten(), size=self.tokens)[:, 0]


def make_batch(src_ids: Sequence[Sequence[int]], tgt_ids: Sequence[Sequence[int]]) -> Batch:
    """A padded batch of the token ids of sentence pairs; bos and eos are added here and nowhere else."""
    return pad_batch(ragged(src_ids), ragged(tgt_ids))


def pad_batch(src: Ragged, tgt: Ragged) -> Batch:
    """Like `make_batch`, for ids that are already joined into one array for each side."""
    src_ids, src_mask = _pad(src)
    tgt_out, tgt_mask = _pad(tgt)
    tgt_in = np.full_like(tgt_out, BOS)
    tgt_in[:, 1:] = tgt_out[:, :-1]
    tgt_in[~tgt_mask] = PAD
    arrays = {"src": src_ids, "src_mask": src_mask, "tgt_in": tgt_in, "tgt_out": tgt_out, "tgt_mask": tgt_mask}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return Batch(**tensors, tokens=int(tgt_mask.sum()))


def ragged(rows: Sequence[Sequence[int] | NDArray[np.int32]]) -> Ragged:
    """Joins the ids of all rows into one array."""
    tokens = np.array([token for row in rows for token in row], np.int32)
    return Ragged(tokens, np.array([len(row) for row in rows], np.int32))


def _pad(sentences: Ragged) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Padded ids of the sentences, with eos, and the mask of real tokens; both [B, N]."""
    lengths = sentences.lengths[:, None]
    columns = np.arange(int(lengths.max()) + 1, dtype=np.int32)
    ids = np.full((len(lengths), len(columns)), PAD, np.int64)
    ids[columns < lengths] = sentences.tokens
    ids[columns == lengths] = EOS
    return ids, columns <= lengths
