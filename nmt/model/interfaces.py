"""The contracts between encoders, decoders, the model and the search.

Axis letters: B batch, S source, T target, V vocabulary, D features, H heads, K beam, L layers, R decoder rows (B or
B*K). Masks are boolean; True means a real token.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.data.batch import Rows


@dataclass(frozen=True)
class Memory(Rows):
    """The output of an encoder."""

    states: Float[Tensor, "B S D"]
    final: Float[Tensor, "B D"]  # the whole sentence as one vector, made from `states`; each encoder defines how
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True)
class Source(Rows):
    """The part of the memory that a decoder needs at every step: computed once per sentence, never copied per beam."""

    keys: Float[Tensor, "B L H S Dk"]
    values: Float[Tensor, "B Lv H Sv Dv"]  # Lv = L, Sv = S; without attention both are 1: one vector for every step
    mask: Bool[Tensor, "B S"]
    wants_weights: bool  # must the decoder give attention weights?


@dataclass(frozen=True)
class State(Rows):
    """The state that a decoder carries from token to token; each decoder has its own fields."""


@runtime_checkable
class Encoder(Protocol):
    """Maps the embedded source to a memory."""

    d_memory: int

    def __call__(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory: ...


@runtime_checkable
class Decoder(Protocol):
    """One callable for training (all T tokens at once) and for search (one token at a time)."""

    d_output: int  # size of the features
    max_length: int | None  # the most tokens that a translation can have, eos not counted; None: any number

    def start(self, memory: Memory, wants_weights: bool) -> tuple[Source, State]: ...

    def __call__(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], State]:
        """Features, attention weights and the new state.

        The L axis of the weights is empty if `source.wants_weights` is false or the decoder has no attention. R may be
        K times the rows of `source`: the hypotheses of a sentence lie side by side.
        """
        ...
