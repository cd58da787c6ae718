"""Lexical shortlists: the search looks only at target pieces that the source's pieces are known to translate to.

The output layer then has a few hundred rows instead of the whole vocabulary (Mi et al. 2016, "Vocabulary
Manipulation for NMT"; L'Hostis et al. 2016). Axis letters as in interfaces.py; C: pieces of the union over a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.data.tokenizer import BOS, EOS, PAD, UNK
from nmt.model.interfaces import Source, State
from nmt.model.seq2seq import Seq2Seq

SPECIAL = (PAD, UNK, BOS, EOS)  # in every list; the first four pieces of every vocabulary


@dataclass(frozen=True)
class Shortlist:
    """The target pieces that the translation of a sentence may use."""

    best: Int[Tensor, "V N"]  # target pieces for each source piece; PAD fills empty places
    frequent: Int[Tensor, " F"]  # target pieces that every translation may use
    candidates: float  # pieces that a sentence may use, on average; shown to users

    def allowed(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], pieces: int) -> Bool[Tensor, "B V"]:
        """For each of the target's `pieces`: may this sentence's translation use it?"""
        allowed = torch.zeros(len(src), pieces, dtype=torch.bool, device=src.device)
        listed = self.best[src].masked_fill(~src_mask[..., None], PAD)
        allowed.scatter_(1, listed.flatten(1), True)
        allowed[:, self.frequent] = True
        allowed[:, : len(SPECIAL)] = True
        return allowed

    def to(self, device: torch.device) -> "Shortlist":
        """The shortlist on another device."""
        return Shortlist(self.best.to(device), self.frequent.to(device), self.candidates)


@dataclass(frozen=True)
class ListedSource(Source):
    """The source, with 0 for each of the batch's pieces that a sentence may use, and -inf for the others."""

    barrier: Float[Tensor, "B C"]


class Shortlisted:
    """A `StepModel` over the pieces that the sentences of one batch may use; tokens are indices into `pieces`.

    The scores of a sentence depend on its own list alone, whatever the other sentences of the batch may use.
    """

    @torch.inference_mode()
    def __init__(
        self, model: Seq2Seq, shortlist: Shortlist, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]
    ) -> None:
        allowed = shortlist.allowed(src, src_mask, model.output.out_features)
        self.model = model
        self.pieces = allowed.any(0).nonzero()[:, 0]  # ascending, so that special pieces keep their ids
        self.output = model.output.over(self.pieces)
        barrier = torch.zeros(len(src), len(self.pieces), device=src.device)
        self.barrier = barrier.masked_fill(~allowed[:, self.pieces], -inf)

    @property
    def max_length(self) -> int | None:
        """The limit of the model itself."""
        return self.model.max_length

    def start(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], wants_weights: bool
    ) -> tuple[Source, State]:
        """The source and first state for decoding; the sentences must be the constructor's."""
        source, state = self.model.start(src, src_mask, wants_weights)
        whole = {field.name: getattr(source, field.name) for field in fields(source)}
        return ListedSource(**whole, barrier=self.barrier), state

    def step(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R L H T S"], State]:
        """Log-probabilities (nats, float32) of the next token among the sentence's own pieces; -inf elsewhere."""
        assert isinstance(source, ListedSource)  # from `start`
        features, weights, state = self.model.decoder(self.pieces[tokens], source, state)
        logits = self.output(features[:, -1]).float()
        logits.view(len(source.barrier), -1, logits.shape[1]).add_(source.barrier[:, None])
        return torch.log_softmax(logits, -1, out=logits), weights, state

    def whole(self, tokens: Sequence[int]) -> list[int]:
        """The token ids at these indices of `pieces`."""
        ids: list[int] = self.pieces[list(tokens)].tolist()
        return ids
