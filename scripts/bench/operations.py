"""How many floating-point operations matrix products take, by their sizes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

Shape = Sequence[int]
aten = torch.ops.aten


@dataclass
class Operations:
    """Multiplications and additions of matrix products; what works on single elements is not counted."""

    total: int = 0


@contextmanager
def counted() -> Iterator[Operations]:
    """Counts what runs inside the block, forward and backward; to torch's own counter fused RNN layers are added."""
    found = Operations()
    fused = {
        aten.mkldnn_rnn_layer: _onednn,
        aten.mkldnn_rnn_layer_backward: _onednn_backward,
        aten._cudnn_rnn: _cudnn,
        aten._cudnn_rnn_backward: _cudnn_backward,
    }
    with FlopCounterMode(display=False, custom_mapping=fused) as counter:
        yield found
    found.total = counter.get_total_flops()


def _onednn(inputs: Shape, w_input: Shape, w_hidden: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(inputs[:2]) * (prod(w_input) + prod(w_hidden))


def _onednn_backward(inputs: Shape, w_input: Shape, w_hidden: Shape, *_: Any, **__: Any) -> int:
    return 2 * _onednn(inputs, w_input, w_hidden)  # by the inputs and by the weights


def _cudnn(inputs: Shape, weights: Sequence[Shape], *_: Any, **__: Any) -> int:
    return 2 * prod(inputs[:2]) * sum(prod(shape) for shape in weights if len(shape) == 2)


def _cudnn_backward(inputs: Shape, weights: Sequence[Shape], *_: Any, **__: Any) -> int:
    return 2 * _cudnn(inputs, weights)
