"""Dropout, and the generator that a thread draws its masks from."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class _Draws(threading.local):
    generator: torch.Generator | None = None  # None = torch's own


_draws = _Draws()


@contextmanager
def drawing_from(generator: torch.Generator | None) -> Iterator[None]:
    """Makes the calling thread draw its masks from this CPU generator; None = from torch's own, on any device."""
    before, _draws.generator = _draws.generator, generator
    try:
        yield
    finally:
        _draws.generator = before


def kept(like: Float[Tensor, "..."], share: float) -> Float[Tensor, "..."]:
    """A tensor like `like`, each element 1 with probability `share`, else 0."""
    return torch.empty_like(like).bernoulli_(share, generator=_draws.generator)


def drop_each(states: Float[Tensor, "*B D"], share: float, training: bool) -> Float[Tensor, "*B D"]:
    """Sets each number to 0 with probability `share`; scales the others to keep the mean (Srivastava et al. 2014)."""
    if not (training and share):
        return states
    if _draws.generator is None:
        return functional.dropout(states, share)
    return states * kept(states, 1.0 - share).div_(1.0 - share)


class Dropout(nn.Module):
    """`drop_each` as a layer."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        return drop_each(states, self.share, self.training)


def sequence_mask(like: Float[Tensor, "R T D"], dropout: float, training: bool) -> Float[Tensor, "R 1 D"] | None:
    """A dropout mask, the same at every position of a sequence (Gal & Ghahramani 2016); None = nothing to drop."""
    if not (training and dropout):
        return None
    keep = 1.0 - dropout
    return kept(like[:, :1], keep).div_(keep)


def drop(states: Float[Tensor, "R T D"], mask: Float[Tensor, "R 1 D"] | None) -> Float[Tensor, "R T D"]:
    """The states, multiplied by a dropout mask."""
    return states if mask is None else states * mask.to(states.dtype)
