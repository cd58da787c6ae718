"""Position vectors, and the first stage of a Transformer, which adds them to embeddings."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt.errors import DataError
from nmt.model.dropout import Dropout
from nmt.model.linear import Linear

Positions = Literal["sinusoidal", "learned"]


def sinusoids(start: int, length: int, d_model: int, device: torch.device) -> Float[Tensor, "T D"]:
    """sin and cos of p / 10000^(2i/D), alternating, for p from `start` on (Vaswani et al. 2017, §3.5); float32."""
    places = torch.arange(start, start + length, device=device, dtype=torch.float32)
    rates = 10000.0 ** (-torch.arange(0, d_model, 2, device=device) / d_model)
    angles = torch.outer(places, rates)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model]


class PositionVectors(nn.Module):
    """Gives the vectors of T positions from `start` on."""

    def __init__(self, where: str, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.where = where
        self.d_model = d_model
        self.longest: int | None = None  # the number of positions that have vectors; None: any number

    def forward(self, start: int, length: int, device: torch.device) -> Float[Tensor, "T D"]:
        raise NotImplementedError


class Sinusoidal(PositionVectors):
    """Fixed waves, computed when needed: no parameters, and no limit on the length of a sentence."""

    def forward(self, start: int, length: int, device: torch.device) -> Float[Tensor, "T D"]:
        return sinusoids(start, length, self.d_model, device)


class Learned(PositionVectors):
    """A table of `max_positions` trained vectors (Gehring et al. 2017, §3.1); a longer sequence is refused."""

    def __init__(self, where: str, d_model: int, max_positions: int) -> None:
        super().__init__(where, d_model, max_positions)
        self.longest = max_positions
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, start: int, length: int, device: torch.device) -> Float[Tensor, "T D"]:
        if start + length > len(self.table):
            raise DataError(
                f"a sentence reaches {start + length} tokens, but {self.where}.max_positions is {len(self.table)}; "
                f"split or drop longer sentences, or train with a larger {self.where}.max_positions or with "
                f"{self.where}.positions=sinusoidal"
            )
        return self.table[start : start + length]


POSITIONS: dict[Positions, type[PositionVectors]] = {"sinusoidal": Sinusoidal, "learned": Learned}


class PositionedTokens(nn.Module):
    """The input of a Transformer's first layer: embeddings scaled, projected to d_model, with positions and dropout.

    The scale is √d_embed, which brings the embeddings (standard deviation 1/√d_embed) to the size of the waves. If
    d_embed equals d_model, it is the √d_model of Vaswani et al. 2017, §3.4.
    """

    def __init__(
        self, where: str, d_embed: int, d_model: int, positions: Positions, max_positions: int, dropout: float
    ) -> None:
        super().__init__()
        self.scale = d_embed**0.5
        self.projection = nn.Identity() if d_embed == d_model else linear(d_embed, d_model)
        self.positions = POSITIONS[positions](where, d_model, max_positions)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Float[Tensor, "R T E"], start: int) -> Float[Tensor, "R T D"]:
        """`start` is the position of the first of these tokens."""
        projected = self.projection(embedded * self.scale)
        vectors = self.positions(start, embedded.shape[1], embedded.device)
        dropped: Tensor = self.dropout(projected + vectors.to(embedded.dtype))
        return dropped


def linear(d_input: int, d_output: int) -> nn.Linear:
    """A linear layer that keeps the size of its inputs before training (Glorot & Bengio 2010); the biases are 0."""
    layer = Linear(d_input, d_output)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
