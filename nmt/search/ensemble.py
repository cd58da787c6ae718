"""Several models that choose each token together: the mean of their probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.data.batch import Batch, Rows
from nmt.model.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Members(Rows):
    """What each model keeps of the same sentences or hypotheses."""

    each: tuple[Rows, ...]

    def select(self, rows: Int[Tensor, " N"]) -> "Members":
        return Members(tuple(own.select(rows) for own in self.each))

    def to(self, device: torch.device) -> "Members":
        return Members(tuple(own.to(device) for own in self.each))


class Ensemble(nn.Module):
    """Models of the same vocabularies, for the search and for forced decoding: p = mean over models of p_m.

    Its attention has one layer for each model that has any: the mean over that model's layers and heads.
    """

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    @property
    def max_length(self) -> int | None:
        """Most tokens of a translation that every model can read, eos not counted; None: any number."""
        limits = [model.max_length for model in self.members() if model.max_length is not None]
        return min(limits, default=None)

    def start(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], wants_weights: bool
    ) -> tuple[Members, Members]:
        """What decoding these sentences starts from; `wants_weights`: are its attention weights wanted?"""
        sources, states = zip(*(model.start(src, src_mask, wants_weights) for model in self.members()), strict=True)
        return Members(sources), Members(states)

    def step(
        self, tokens: Int[Tensor, "R T"], source: Members, state: Members
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L 1 T S"], Members]:
        """Log-probabilities (nats, float32) of the token after the last one given."""
        steps = [
            model.step(tokens, *own)  # type: ignore[arg-type]  # each gets what it gave itself
            for model, *own in zip(self.members(), source.each, state.each, strict=True)
        ]
        log_probs, weights, states = zip(*steps, strict=True)
        return mean_probability(log_probs), member_layers(weights), Members(states)

    def forced(self, batch: Batch) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B L 1 T S"]]:
        """Log-probabilities of the given targets (nats, 0 on padding) and the attention that made them."""
        log_probs, weights = zip(*(model.forced(batch) for model in self.members()), strict=True)
        return mean_probability(log_probs), member_layers(weights)

    def members(self) -> list[Seq2Seq]:
        """The models."""
        return list(self.models)  # type: ignore[arg-type]  # as the constructor was given them


def mean_probability(log_probs: Sequence[Float[Tensor, "*X"]]) -> Float[Tensor, "*X"]:
    """Logarithm of the mean of probabilities that are given as logarithms."""
    return torch.stack(list(log_probs)).logsumexp(0) - math.log(len(log_probs))


def member_layers(weights: Sequence[Float[Tensor, "R _ _ T S"]]) -> Float[Tensor, "R L 1 T S"]:
    """Attention of several models, one layer for each; for none where the axis of layers is empty."""
    means = [own.float().mean((1, 2)) for own in weights if own.shape[1]]
    return torch.stack(means, 1)[:, :, None] if means else weights[0][:, :, :1]
