"""The checkpoints of a run, for resuming and averaging. Nothing that is read here is ever executed.

runs/NAME/checkpoints/00000100/     the weights after a good update; the last update also has the training state
    weights.safetensors  training.safetensors  training.json
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from nmt.errors import CheckpointError, remedy
from nmt.machine.safe_files import folder_beside, put_in_place, read_file, replace_file
from nmt.runs.tensors import Form, Signed, packed, read_forms, read_signed, refuse_other_forms

NUMBERED = re.compile(r"[0-9]{8}|[1-9][0-9]{8,11}")
LEFTOVERS = (".*.writing", "tensorboard/.*.writing", "checkpoints/*/.*.writing")  # files that killed writes left behind


def checkpoint_folder(run: Path, update: int) -> Path:
    """The folder of an update's checkpoint."""
    return run / "checkpoints" / f"{update:08d}"


def saved_updates(run: Path) -> list[int]:
    """Updates whose weights are on disk, in order."""
    try:
        return sorted(int(name) for name in os.listdir(run / "checkpoints") if NUMBERED.fullmatch(name))
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise CheckpointError(f"{run / 'checkpoints'} is not a folder; restore it from a copy") from None


def last_resumable(run: Path) -> int | None:
    """The latest update whose whole training state is on disk."""
    whole = [u for u in saved_updates(run) if (checkpoint_folder(run, u) / "training.json").exists()]
    return max(whole, default=None)


def save_checkpoint(run: Path, update: int, weights: Signed, optimiser: Signed, record: Mapping[str, Any]) -> None:
    """Writes a checkpoint, whole or not at all: a hidden folder is filled, synced, then renamed.

    A second save at the same update replaces only the record: weights and optimiser state are still the same.
    """
    target = checkpoint_folder(run, update)
    whole = {**record, "weights": weights.checksum, "optimiser": optimiser.checksum}
    sealed = json.dumps({**whole, "sha256": seal(whole)}, indent=1).encode()
    try:
        if (target / "training.json").exists():
            replace_file(target / "training.json", sealed)
            return
        with folder_beside(target) as beside:
            (beside / "weights.safetensors").write_bytes(packed(weights))
            (beside / "training.safetensors").write_bytes(packed(optimiser))
            (beside / "training.json").write_bytes(sealed)
            shutil.rmtree(target, ignore_errors=True)
            put_in_place(beside, target)
    except OSError as error:
        raise CheckpointError(f"cannot write {target} ({error.strerror}); {last_good(run, remedy(error))}") from None


def seal(record: Mapping[str, Any]) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def read_record(folder: Path) -> dict[str, Any]:
    """The record that `save_checkpoint` wrote, with the checksums of weights and optimiser state."""
    path = folder / "training.json"
    try:
        record = json.loads(read_file(path))
        given = record.pop("sha256")
        whole = seal(record) == given
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise CheckpointError(f"{path} is damaged; restore it from a copy, or start a new run")
    return dict(record)


def read_checkpoint_part(path: Path, known: str | None) -> dict[str, Tensor]:
    """The tensors of a checkpoint file. `known`: the checksum on record (None: an older nmt kept no checksum)."""
    tensors, found = read_signed(path)
    if known not in (None, found):
        raise CheckpointError(f"{path} belongs to another checkpoint or run; restore it from a copy")
    return tensors


def to_resume(run: Path) -> int | None:
    """The update from which a run resumes; None: nothing is saved yet. Refuses a run whose checkpoints are gone."""
    saved = saved_updates(run)
    if not saved and (run / "model.safetensors").exists():
        raise CheckpointError(
            f"{run / 'checkpoints'} no longer holds a checkpoint; restore it from a copy, or start a new run with "
            f"init_from={run}"
        )
    if saved and last_resumable(run) != saved[-1]:
        path = checkpoint_folder(run, saved[-1]) / "training.json"
        raise CheckpointError(f"{path} is missing; restore it from a copy, or start a new run")
    return saved[-1] if saved else None


def refuse_other_tensors(run: Path, model: nn.Module, last: int, optimiser: Mapping[str, Form], begun: bool) -> None:
    """Refuses a run, before any tensor is read, if the weights of a checkpoint do not fit the model.

    The optimiser state of the `last` checkpoint must have exactly the tensors that `optimiser` lists; if it has not
    `begun`, it may have none.
    """
    for update in saved_updates(run):
        path = checkpoint_folder(run, update) / "weights.safetensors"
        if path.exists():
            refuse_other_forms(model, read_forms(path), path)
    path = checkpoint_folder(run, last) / "training.safetensors"
    forms = read_forms(path)
    different = sorted(name for name in forms.keys() | optimiser.keys() if forms.get(name) != optimiser.get(name))
    if different and (forms or begun):
        raise CheckpointError(f"{path} does not fit the model ({different[0]!r}); both must come from one run")


def last_good(run: Path, remedy: str) -> str:
    """The end of an error message: which checkpoint is left, and how to go on after the remedy."""
    again = f"{remedy}, then nmt train resume={run}"
    try:
        last = last_resumable(run)
    except (OSError, CheckpointError):  # the checkpoints cannot be listed
        return f"what is saved lies in {run / 'checkpoints'}: {again}"
    if last is None:
        return f"no checkpoint is saved yet: {remedy} and start again"
    return f"the last good checkpoint is {checkpoint_folder(run, last)}: {again}"


def prune(run: Path, keep: Sequence[int]) -> None:
    """Deletes leftovers of killed writes, and all that resuming and averaging do not need.

    The last checkpoint stays whole, for resuming. The updates in `keep` keep their weights, for averaging.
    """
    for leftover in (run / "checkpoints").glob(".*.writing"):
        shutil.rmtree(leftover, ignore_errors=True)
    for leftover in (path for pattern in LEFTOVERS for path in run.glob(pattern) if path.is_file()):
        leftover.unlink(missing_ok=True)
    last = last_resumable(run)
    for update in saved_updates(run):
        folder = checkpoint_folder(run, update)
        if update == last:
            continue
        if update not in keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            (folder / "training.json").unlink(missing_ok=True)
            (folder / "training.safetensors").unlink(missing_ok=True)


def average(run: Path, known: Mapping[int, str | None]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints; `known` maps their updates to the checksums on record."""
    mean: dict[str, Tensor] = {}
    for update, own in known.items():
        for name, tensor in read_checkpoint_part(checkpoint_folder(run, update) / "weights.safetensors", own).items():
            part = tensor / len(known)
            mean[name] = mean[name] + part if name in mean else part
    return mean
