"""How many floating-point operations an update's matrix products take, by their sizes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from nmt.rnn import RnnLayer

BACKWARD = 2  # a product's two gradients cost as much as two products


@dataclass
class Operations:
    """Multiplications and additions of matrix products; what works on single elements is not counted."""

    total: int = 0


@contextmanager
def counted(model: nn.Module) -> Iterator[Operations]:
    """Counts what runs inside the block: forward and backward, RNN layers by their weights' sizes.

    torch's counter sees every product but those inside fused RNN layers, whose backward is counted with the forward.
    """
    found = Operations()

    def rnn(layer: nn.Module, inputs: tuple[Tensor, ...], _: object) -> None:
        positions = inputs[0].shape[0] * inputs[0].shape[1]
        weights = sum(p.numel() for p in layer.parameters() if p.dim() == 2)
        found.total += (1 + BACKWARD) * 2 * weights * positions

    with ExitStack() as stack:
        for module in model.modules():
            if isinstance(module, RnnLayer):
                stack.callback(module.register_forward_hook(rnn).remove)
        counter = stack.enter_context(FlopCounterMode(display=False))
        yield found
        found.total += counter.get_total_flops()
