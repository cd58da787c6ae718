"""Rows that products and RNN layers are padded with, because oneDNN builds a kernel for each count of rows."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nmt.machine.device import multiplies_tiles

TILE = 16  # rows of a tile that AMX multiplies at once
STEP = 64  # rows between two sizes; from 2,048 rows on, a sixteenth to a thirty-second of their number


def padded_size(count: int, dtype: torch.dtype, device: torch.device) -> int:
    """The number of rows, at least `count`, that a product in this dtype should have.

    In bfloat16 on a CPU it is one of a few numbers, because oneDNN builds a kernel for each exact size. Building one
    takes up to 45 ms (7,900 pieces, AMX), a product of 300 rows 4 ms (docs/speed-tried.md). Elsewhere it is `count`.
    """
    if dtype != torch.bfloat16 or device.type != "cpu":
        return count
    step = max(STEP, 1 << max(0, count.bit_length() - 5))
    return -(-count // step) * step


def padded(rows: Float[Tensor, "N D"], dtype: torch.dtype) -> Float[Tensor, "M D"]:
    """The rows, padded to `padded_size` for a product in this dtype. The zeros add nothing to a gradient."""
    lacking = padded_size(len(rows), dtype, rows.device) - len(rows)
    return functional.pad(rows, (0, 0, 0, lacking)) if lacking else rows


def padded_weight(weight: Float[Tensor, "V D"], dtype: torch.dtype) -> Float[Tensor, "W D"]:
    """The weight in this dtype; in bfloat16 on a CPU, its rows are padded to a multiple of STEP.

    A model has one such weight, so it needs no few sizes (`padded_size`), but oneDNN is slow where the last block of
    pieces is not full. The weight is cast and padded in one pass.
    """
    count = len(weight)
    if dtype != torch.bfloat16 or not weight.is_cpu:
        return weight.to(dtype)
    low = weight.new_empty(-(-count // STEP) * STEP, weight.shape[1], dtype=dtype)
    low[:count] = weight
    low[count:] = 0
    return low


def lacking_in_tiles(inputs: Float[Tensor, "R *S"]) -> int:
    """How many rows the inputs of an RNN layer lack to fill whole tiles.

    Where the processor multiplies tiles, each step takes longer for a part of a tile than for a whole one, and few
    counts need few kernels (docs/speed-tried.md). Few rows, as in the search for one sentence, stay as they are.
    """
    rows = len(inputs)
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else inputs.dtype
    if rows <= TILE or not inputs.is_cpu or dtype != torch.bfloat16 or not multiplies_tiles():
        return 0
    return -rows % TILE


class Linear(nn.Linear):
    """nn.Linear that pads its rows (`padded`) under autocast on a CPU."""

    def forward(self, inputs: Float[Tensor, "... D"]) -> Float[Tensor, "... E"]:
        if not inputs.is_cpu or not torch.is_autocast_enabled("cpu"):
            return super().forward(inputs)
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = super().forward(padded(rows, torch.get_autocast_dtype("cpu")))
        return outputs[: len(rows)].view(*inputs.shape[:-1], self.out_features)
