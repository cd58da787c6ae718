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


class Linear(nn.Linear):
    """nn.Linear, whose rows are padded to `padded_size` under autocast. Rows of zeros add nothing to a gradient."""

    def forward(self, inputs: Float[Tensor, "... D"]) -> Float[Tensor, "... E"]:
        if not inputs.is_cpu or not torch.is_autocast_enabled("cpu"):
            return super().forward(inputs)
        rows = inputs.reshape(-1, inputs.shape[-1])
        padding = padded_size(len(rows), torch.get_autocast_dtype("cpu"), inputs.device) - len(rows)
        if not padding:
            return super().forward(inputs)
        outputs = super().forward(functional.pad(rows, (0, 0, 0, padding)))
        return outputs[:-padding].view(*inputs.shape[:-1], self.out_features)
