"""Matrix products padded to a few row counts, because oneDNN builds a kernel for each count."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

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


class Linear(nn.Linear):
    """nn.Linear that pads its rows (`padded`) under autocast on a CPU."""

    def forward(self, inputs: Float[Tensor, "... D"]) -> Float[Tensor, "... E"]:
        if not inputs.is_cpu or not torch.is_autocast_enabled("cpu"):
            return super().forward(inputs)
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = super().forward(padded(rows, torch.get_autocast_dtype("cpu")))
        return outputs[: len(rows)].view(*inputs.shape[:-1], self.out_features)
