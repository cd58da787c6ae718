"""The output layer: maps features to logits, the scores of the vocabulary's pieces before the softmax."""

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

Logits = Callable[[Float[Tensor, "R D"]], Float[Tensor, "R V"]]


@runtime_checkable
class OutputLayer(Protocol):
    """Maps features to logits."""

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
        """A function that maps features to the logits of these pieces alone."""
        ...


class Output(nn.Linear):
    """The trainable output layer."""

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        return partial(functional.linear, weight=self.weight[pieces], bias=self.bias[pieces])
