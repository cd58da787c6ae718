"""The output layer: features to scores of the vocabulary's pieces before the softmax (logits)."""

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

Logits = Callable[[Float[Tensor, "R D"]], Float[Tensor, "R V"]]


@runtime_checkable
class OutputLayer(Protocol):
    """What maps features to logits."""

    out_features: int  # V

    @property
    def weight(self) -> Tensor:
        """[V, D]"""
        ...

    @property
    def bias(self) -> Tensor:
        """[V]"""
        ...

    def __call__(self, features: Float[Tensor, "R D"], /) -> Float[Tensor, "R V"]: ...

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        """The layer over these pieces alone."""
        ...


class Output(nn.Linear):
    """The layer as it is trained."""

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        return partial(functional.linear, weight=self.weight[pieces], bias=self.bias[pieces])
