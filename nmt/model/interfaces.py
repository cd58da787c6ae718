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
    """What an encoder makes of its sentences."""

    states: Float[Tensor, "B S D"]
    final: Float[Tensor, "B D"]  # the whole sentence in one vector, made of `states`; the encoder says how
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True)
class Source(Rows):
    """What a decoder needs of the memory at every step: computed once per sentence, never copied per beam."""

    keys: Float[Tensor, "B L H S Dk"]
    values: Float[Tensor, "B Lv H Sv Dv"]  # as many as keys; without attention one, which every step is given
    mask: Bool[Tensor, "B S"]
    wants_weights: bool  # are the attention weights wanted?


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
    max_length: int | None  # most tokens of a translation, eos not counted; None: any number

    def start(self, memory: Memory, wants_weights: bool) -> tuple[Source, State]: ...

    def __call__(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], State]:
        """Features, attention weights (its L axis is empty when they are not wanted or there are none), new state.

        R may be K times the rows of `source` (beams of a sentence side by side).
        """
        ...
