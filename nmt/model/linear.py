"""Products whose numbers of rows come again, because oneDNN makes a kernel for each number."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

STEP = 64  # rows; from 2,048 on a sixteenth to a thirty-second of their number


def padded_size(count: int, dtype: torch.dtype, device: torch.device) -> int:
    """The next size, at least `count`, that a product in this dtype should have.

    In bfloat16 on a processor, where a kernel is made for a product's exact size, there are few sizes. A kernel takes
    up to 45 ms to make (7,900 pieces, AMX), the product of 300 rows 4 (docs/speed-tried.md). Elsewhere it is `count`.
    """
    if dtype != torch.bfloat16 or device.type != "cpu":
        return count
    step = max(STEP, 1 << max(0, count.bit_length() - 5))
    return -(-count // step) * step


def padded(rows: Float[Tensor, "N D"], dtype: torch.dtype) -> Float[Tensor, "M D"]:
    """The rows, and zeros up to `padded_size`, for a product in this dtype. They add nothing to a gradient."""
    lacking = padded_size(len(rows), dtype, rows.device) - len(rows)
    return functional.pad(rows, (0, 0, 0, lacking)) if lacking else rows


class Linear(nn.Linear):
    """nn.Linear, whose rows are `padded` under autocast."""

    def forward(self, inputs: Float[Tensor, "... D"]) -> Float[Tensor, "... E"]:
        if not inputs.is_cpu or not torch.is_autocast_enabled("cpu"):
            return super().forward(inputs)
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = super().forward(padded(rows, torch.get_autocast_dtype("cpu")))
        return outputs[: len(rows)].view(*inputs.shape[:-1], self.out_features)
