"""The contracts between encoders, decoders, the model and the search.

Axis letters: B batch, S source, T target, V vocabulary, D features, H heads, K beam, L layers, R decoder rows (B or
B*K). Masks are boolean; True means a real token.
"""

from dataclasses import dataclass, fields, replace
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

R = TypeVar("R", bound="Rows")


@dataclass(frozen=True)
class Rows:
    """Tensors that share the batch on axis 0, so that one selection serves batches, beams and decoders alike."""

    def select(self: R, rows: Int[Tensor, " N"]) -> R:
        """Rows `rows` of every tensor, in that order."""
        changed = {
            f.name: value.index_select(0, rows)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **changed)

    def to(self: R, device: torch.device) -> R:
        """The same rows on another device."""
        moved = {
            f.name: value.to(device, non_blocking=True)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True)
class Batch(Rows):
    """Sentence pairs. Sources and tgt_out end with eos, tgt_in starts with bos; `tokens` counts the real ones there."""

    src: Int[Tensor, "B S"]
    src_mask: Bool[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]
    tgt_out: Int[Tensor, "B T"]
    tgt_mask: Bool[Tensor, "B T"]
    tokens: int

    def select(self, rows: Int[Tensor, " N"]) -> "Batch":
        """Rows `rows`, in that order; waits for the device."""
        chosen = super().select(rows)
        return replace(chosen, tokens=int(chosen.tgt_mask.sum()))

    def twice(self) -> "Batch":
        """All rows, and all of them again."""
        each = {f.name: getattr(self, f.name) for f in fields(self)}
        again = {name: torch.cat([value, value]) for name, value in each.items() if isinstance(value, Tensor)}
        return replace(self, **again, tokens=2 * self.tokens)

    def real(self) -> Int[Tensor, " N"]:
        """Places of the N real target tokens among all B · T. That N is known spares waiting for the device."""
        return torch.nonzero_static(self.tgt_mask.flatten(), size=self.tokens)[:, 0]


@dataclass(frozen=True)
class Memory(Rows):
    """What an encoder makes of its sentences."""

    states: Float[Tensor, "B S D"]
    final: Float[Tensor, "B D"]
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True)
class Source(Rows):
    """What a decoder needs of the memory at every step: computed once per sentence, never copied per beam."""

    keys: Float[Tensor, "B L H S Dk"]
    values: Float[Tensor, "B L H S Dv"]
    mask: Bool[Tensor, "B S"]
    weights: bool  # are the attention weights wanted?


@dataclass(frozen=True)
class State(Rows):
    """What a decoder carries from token to token; each decoder has its own fields."""


@runtime_checkable
class Encoder(Protocol):
    """Embedded source to memory."""

    d_memory: int

    def __call__(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory: ...


@runtime_checkable
class Decoder(Protocol):
    """One callable for training (all T tokens at once) and search (one token)."""

    d_output: int  # size of the features

    def start(self, memory: Memory, weights: bool) -> tuple[Source, State]: ...

    def __call__(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], State]:
        """Features, attention weights (its L axis is empty when they are not wanted or there are none), new state.

        R may be K times the rows of `source` (beams of a sentence side by side).
        """
        ...
