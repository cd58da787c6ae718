"""Dropout with one mask for a whole sequence."""

import torch
from jaxtyping import Float
from torch import Tensor


def sequence_mask(like: Float[Tensor, "R T D"], dropout: float, training: bool) -> Float[Tensor, "R 1 D"] | None:
    """A dropout mask, the same at every position of a sequence (Gal & Ghahramani 2016); None = nothing to drop."""
    if not (training and dropout):
        return None
    keep = 1.0 - dropout
    return torch.empty_like(like[:, :1]).bernoulli_(keep).div_(keep)


def drop(states: Float[Tensor, "R T D"], mask: Float[Tensor, "R 1 D"] | None) -> Float[Tensor, "R T D"]:
    """States under a dropout mask."""
    return states if mask is None else states * mask.to(states.dtype)
