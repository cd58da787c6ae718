"""Several models that choose each token together, by the mean of their probabilities."""

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
    """The rows that each model keeps for the same sentences or hypotheses."""

    each: tuple[Rows, ...]

    def select(self, rows: Int[Tensor, " N"]) -> "Members":
        return Members(tuple(own.select(rows) for own in self.each))

    def to(self, device: torch.device) -> "Members":
        return Members(tuple(own.to(device) for own in self.each))


class Ensemble(nn.Module):
    """Models with the same vocabularies, for search and forced decoding: p = mean over models of p_m.

    The attention has one layer for each model with attention: the mean over that model's layers and heads.
    """

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    @property
    def max_length(self) -> int | None:
        """The most tokens of a translation that every model can read, eos not counted; None: any number."""
        limits = [model.max_length for model in self.members() if model.max_length is not None]
        return min(limits, default=None)

    def start(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], wants_weights: bool
    ) -> tuple[Members, Members]:
        """The sources and first states for decoding; `wants_weights`: must decoding give attention weights?"""
        sources, states = zip(*(model.start(src, src_mask, wants_weights) for model in self.members()), strict=True)
        return Members(sources), Members(states)

    def step(
        self, tokens: Int[Tensor, "R T"], source: Members, state: Members
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L 1 T S"], Members]:
        """Log-probabilities (nats, float32) of the token after the last one given, attention weights, new states."""
        steps = [
            model.step(tokens, *own)  # type: ignore[arg-type]  # each model gets back its own source and state
            for model, *own in zip(self.members(), source.each, state.each, strict=True)
        ]
        log_probs, weights, states = zip(*steps, strict=True)
        return mean_probability(log_probs), member_layers(weights), Members(states)

    def attention(self, batch: Batch) -> Float[Tensor, "B L 1 T S"]:
        """The attention weights behind the given targets."""
        return member_layers([model.attention(batch) for model in self.members()])

    def forced(self, batch: Batch) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B L 1 T S"]]:
        """The log-probability of each token of the given targets (nats, 0 on padding), and the attention weights."""
        log_probs, weights = zip(*(model.forced(batch) for model in self.members()), strict=True)
        return mean_probability(log_probs), member_layers(weights)

    def members(self) -> list[Seq2Seq]:
        """The models."""
        return list(self.models)  # type: ignore[arg-type]  # as the constructor was given them


def mean_probability(log_probs: Sequence[Float[Tensor, "*X"]]) -> Float[Tensor, "*X"]:
    """The logarithm of the mean probability, for probabilities given as logarithms."""
    return torch.stack(list(log_probs)).logsumexp(0) - math.log(len(log_probs))


def member_layers(weights: Sequence[Float[Tensor, "R _ _ T S"]]) -> Float[Tensor, "R L 1 T S"]:
    """Attention of several models, one layer for each; a model without attention (L = 0) is left out."""
    means = [own.float().mean((1, 2)) for own in weights if own.shape[1]]
    return torch.stack(means, 1)[:, :, None] if means else weights[0][:, :, :1]
