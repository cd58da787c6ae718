"""Lexical shortlists: the search looks only at target pieces that the source's pieces are known to translate to.

The output layer is then a few hundred rows wide instead of the whole vocabulary (Mi et al. 2016, "Vocabulary
Manipulation for NMT"; L'Hostis et al. 2016). Axis letters as in interfaces.py, and C pieces of a batch's union.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.build import Form
from nmt.checkpoint import LoadedModel
from nmt.errors import CheckpointError, ConfigError
from nmt.interfaces import Source, State
from nmt.seq2seq import Seq2Seq
from nmt.tokenizer import BOS, EOS, PAD, UNK
from nmt.weights import read_forms, read_tensors, write_tensors

FILE = "shortlist.safetensors"  # in a run folder
SPECIAL = (PAD, UNK, BOS, EOS)  # in every list; the first four pieces of every vocabulary

Use = bool | Literal["auto"]  # True: must be there; auto: where there is one that fits the model


@dataclass(frozen=True)
class Shortlist:
    """Which target pieces the translation of a sentence may use."""

    best: Int[Tensor, "V N"]  # target pieces of each source piece; PAD fills what is empty
    frequent: Int[Tensor, " F"]  # of every sentence
    candidates: float  # pieces that a sentence may use, on average; what users are told

    def allowed(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], pieces: int) -> Bool[Tensor, "B V"]:
        """For each of the target's `pieces`: may this sentence's translation use it?"""
        allowed = torch.zeros(len(src), pieces, dtype=torch.bool, device=src.device)
        listed = self.best[src].masked_fill(~src_mask[..., None], PAD)
        allowed.scatter_(1, listed.flatten(1), True)
        allowed[:, self.frequent] = True
        allowed[:, : len(SPECIAL)] = True
        return allowed

    def to(self, device: torch.device) -> "Shortlist":
        """The same on another device."""
        return Shortlist(self.best.to(device), self.frequent.to(device), self.candidates)


@dataclass(frozen=True)
class ListedSource(Source):
    """Source, and 0 for what each sentence may use of the batch's pieces, -inf for the rest."""

    barrier: Float[Tensor, "B C"]


class Shortlisted:
    """A model over the pieces that one batch's sentences may use: a `StepModel` whose tokens are places in `pieces`.

    Each sentence has the scores of its own list alone, whatever the others of the batch may use.
    """

    @torch.inference_mode()
    def __init__(
        self, model: Seq2Seq, shortlist: Shortlist, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]
    ) -> None:
        allowed = shortlist.allowed(src, src_mask, model.output.out_features)
        self.model = model
        self.pieces = allowed.any(0).nonzero()[:, 0]  # ascending, so that the special ones keep their numbers
        self.output = model.output.over(self.pieces)
        barrier = torch.zeros(len(src), len(self.pieces), device=src.device)
        self.barrier = barrier.masked_fill(~allowed[:, self.pieces], -inf)

    def start(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], weights: bool) -> tuple[Source, State]:
        """What decoding these sentences, those of the constructor, starts from."""
        source, state = self.model.start(src, src_mask, weights)
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
        return logits.log_softmax(-1), weights, state

    def whole(self, tokens: Sequence[int]) -> list[int]:
        """Places in `pieces` as the tokens that they stand for."""
        ids: list[int] = self.pieces[list(tokens)].tolist()
        return ids


def write_shortlist(folder: Path, shortlist: Shortlist, weights: str) -> Path:
    """The file in the run folder; `weights` is the checksum of the model that it was learned with."""
    tensors = {
        "best": shortlist.best.int(),
        "frequent": shortlist.frequent.int(),
        "candidates": torch.tensor([shortlist.candidates]),
        "weights": torch.tensor(list(bytes.fromhex(weights)), dtype=torch.uint8),
    }
    write_tensors(folder / FILE, tensors)
    return folder / FILE


def read_shortlist(folder: Path, model: LoadedModel, use: Use) -> Shortlist | None:
    """The shortlist of a run folder, None where it is not to be used.

    One that was learned with other weights, those of the run before it was trained further, is refused where it must
    be there, else left unused, which a line on standard error says: nothing is known of its quality.
    """
    path = folder / FILE
    if use is False:
        return None
    if not path.exists():
        if use is True:
            raise ConfigError(
                f"shortlist=true, but {path} does not exist; make it with nmt shortlist model={folder}, or leave "
                "shortlist=true out"
            )
        return None
    shortlist, weights = _checked(path, folder, model)
    if weights == model.checksum:
        return shortlist
    stale = f"{path} was learned with other weights than those of {folder / 'model.safetensors'}"
    remedy = f"make it anew with nmt shortlist model={folder}"
    if use is True:
        raise CheckpointError(f"{stale}, shortlist=true; {remedy}, or leave shortlist=true out")
    print(f"note: {stale} and is not used; {remedy}", file=sys.stderr)
    return None


def _checked(path: Path, folder: Path, model: LoadedModel) -> tuple[Shortlist, str]:
    """The file's shortlist, every piece of it in the vocabulary, and the checksum of its model."""
    remedy = f"make it anew with nmt shortlist model={folder}, or type shortlist=false"
    try:
        good = _fits(read_forms(path), model)
        tensors = read_tensors(path) if good else {}
    except CheckpointError:
        raise CheckpointError(f"{path} is damaged; {remedy}") from None
    if good:
        pieces = torch.cat([tensors["best"].flatten(), tensors["frequent"]])
        known = range(model.tokenizers.tgt.vocab_size)
        good = all(int(piece) in known for piece in pieces.aminmax())
    if not good:
        raise CheckpointError(f"{path} does not hold a shortlist of this model's pieces; {remedy}")
    shortlist = Shortlist(tensors["best"].long(), tensors["frequent"].long(), float(tensors["candidates"]))
    return shortlist, bytes(tensors["weights"].tolist()).hex()


def _fits(forms: Mapping[str, Form], model: LoadedModel) -> bool:
    """Are these the tensors of a shortlist for the model's vocabularies? Asked before they are read."""
    shapes = {name: shape for name, (_, shape) in forms.items()}
    if {name: len(shape) for name, shape in shapes.items()} != {
        "best": 2,
        "frequent": 1,
        "candidates": 1,
        "weights": 1,
    }:
        return False
    pieces = model.tokenizers.tgt.vocab_size
    types = {"best": torch.int32, "frequent": torch.int32, "candidates": torch.float32, "weights": torch.uint8}
    (rows, best), (frequent,) = shapes["best"], shapes["frequent"]
    return (
        {name: dtype for name, (dtype, _) in forms.items()} == types
        and (rows, shapes["candidates"], shapes["weights"]) == (model.tokenizers.src.vocab_size, (1,), (32,))
        and 1 <= best <= pieces
        and frequent <= pieces
    )
