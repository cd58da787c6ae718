"""A run's shortlist on disk."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import torch

from nmt.errors import CheckpointError, ConfigError
from nmt.runs.folder import LoadedModel
from nmt.runs.tensors import Form, read_forms, read_tensors, write_tensors
from nmt.search.shortlist import Shortlist

SHORTLIST_FILE = "shortlist.safetensors"  # in a run folder

Use = bool | Literal["auto"]  # True: it must exist; auto: used if it was learned with the model's weights


def write_shortlist(folder: Path, shortlist: Shortlist, checksum: str) -> Path:
    """Writes the file in the run folder; `checksum` belongs to the weights that the shortlist was learned with."""
    tensors = {
        "best": shortlist.best.int(),
        "frequent": shortlist.frequent.int(),
        "candidates": torch.tensor([shortlist.candidates]),
        "weights": torch.tensor(list(bytes.fromhex(checksum)), dtype=torch.uint8),
    }
    write_tensors(folder / SHORTLIST_FILE, tensors)
    return folder / SHORTLIST_FILE


def read_shortlist(folder: Path, model: LoadedModel, use: Use) -> Shortlist | None:
    """The shortlist of a run folder; None if it is not used.

    A shortlist is stale once its run has been trained further: its quality with the new weights is unknown. With
    `use` True it is refused; with auto it is ignored, with a note on stderr.
    """
    path = folder / SHORTLIST_FILE
    if use is False:
        return None
    if not path.exists():
        if use is True:
            raise ConfigError(
                f"shortlist=true, but {path} does not exist; create it with nmt shortlist model={folder}, or leave "
                "shortlist=true out"
            )
        return None
    shortlist, checksum = _checked_shortlist(path, folder, model)
    if checksum == model.checksum:
        return shortlist
    stale = f"{path} was learned with other weights than those of {folder / 'model.safetensors'}"
    remedy = f"make it anew with nmt shortlist model={folder}"
    if use is True:
        raise CheckpointError(f"{stale}, shortlist=true; {remedy}, or leave shortlist=true out")
    print(f"note: {stale} and is not used; {remedy}", file=sys.stderr)
    return None


def _checked_shortlist(path: Path, folder: Path, model: LoadedModel) -> tuple[Shortlist, str]:
    """The shortlist in the file and the checksum of its weights; refuses pieces outside the vocabulary."""
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
    """Do names, types and shapes fit a shortlist for the model's vocabularies? Checked before the tensors are read."""
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
