"""Run folders: what a model and a training state are on disk. Nothing read here is ever executed.

    runs/NAME/  config.yaml  manifest.json  src.spm  tgt.spm        written once
                model.safetensors                                   the best weights so far; what translation loads
                checkpoints/00000100/                               weights of a good update; the last one also holds
                    weights.safetensors  training.safetensors  training.json      what resuming needs
                metrics.jsonl  tensorboard/
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import yaml
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nmt.build import build_model
from nmt.errors import CheckpointError, NmtError
from nmt.prepare import TokenizerPair
from nmt.seq2seq import Seq2Seq
from nmt.tokenizer import Tokenizer

FORMAT = 1  # of run folders; a change that older code cannot read raises it, and CHANGELOG says so


@dataclass(frozen=True)
class LoadedModel:
    """A model as translation needs it."""

    config: dict[str, Any]
    model: Seq2Seq
    tokenizers: TokenizerPair


def write_atomically(path: Path, content: bytes) -> None:
    """The file holds either its old content or all of the new one, whatever happens."""
    beside = path.with_name(f".{path.name}.writing")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CheckpointError(f"cannot write {path} ({error.strerror}); free or choose another place") from None


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_run(folder: Path, config: Mapping[str, Any], tokenizers: TokenizerPair) -> None:
    """A new run folder with everything but weights; refuses a folder that holds another run."""
    refuse_used(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder} ({error.strerror}); choose another runs_dir or name") from None
    text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    files = {"config.yaml": text.encode(), "src.spm": tokenizers.src.bytes, "tgt.spm": tokenizers.tgt.bytes}
    for name, content in files.items():
        write_atomically(folder / name, content)
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = {"format": FORMAT, "sha256": checksums}
    write_atomically(folder / "manifest.json", json.dumps(manifest, indent=1).encode())


def refuse_used(folder: Path) -> None:
    """Another run's folder is never written into."""
    if (folder / "manifest.json").exists():
        raise CheckpointError(
            f"{folder} already holds a run; continue it with resume={folder}, or choose another name="
        )


def read_run(folder: Path) -> tuple[dict[str, Any], TokenizerPair]:
    """Configuration and tokenizers of a run folder, checked against its manifest."""
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not a folder; give a run folder such as runs/NAME")
    if not (folder / "manifest.json").is_file():
        raise CheckpointError(f"{folder} holds no run: manifest.json is missing; give a folder written by nmt train")
    try:
        manifest = json.loads(read_file(folder / "manifest.json"))
        written, checksums = manifest["format"], dict(manifest["sha256"])
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{folder / 'manifest.json'} is damaged; restore it from a copy") from None
    if written != FORMAT:
        raise CheckpointError(
            f"{folder} has format {written}, this nmt reads format {FORMAT}; use the nmt version that wrote it"
        )
    contents = {}
    for name in ("config.yaml", "src.spm", "tgt.spm"):
        contents[name] = read_file(folder / name)
        if hashlib.sha256(contents[name]).hexdigest() != checksums.get(name):
            raise CheckpointError(f"{folder / name} is damaged: its checksum differs; restore it from a copy")
    source = Tokenizer.from_bytes(contents["src.spm"])
    same = contents["src.spm"] == contents["tgt.spm"]
    pair = TokenizerPair(source, source if same else Tokenizer.from_bytes(contents["tgt.spm"]))
    config: dict[str, Any] = yaml.safe_load(contents["config.yaml"])
    return config, pair


def read_file(path: Path) -> bytes:
    """Content of a file that a run folder must hold."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path} ({error.strerror}); check its permissions") from None


def load_model(folder: Path, trust: Sequence[str] = ()) -> LoadedModel:
    """The best model of a run folder, on the CPU, in evaluation mode."""
    config, tokenizers = read_run(folder)
    if not (folder / "model.safetensors").exists():
        raise CheckpointError(
            f"{folder} holds no model yet: model.safetensors appears after the first validation; "
            f"continue the run with nmt train resume={folder}"
        )
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size, trust)
    set_weights(model, read_tensors(folder / "model.safetensors"), folder / "model.safetensors")
    return LoadedModel(config, model.eval(), tokenizers)


def weights_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every parameter once, also where tables are tied."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def set_weights(model: torch.nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Copies weights into a model of the same names and shapes."""
    parameters = dict(model.named_parameters())
    different = sorted(
        name
        for name in parameters.keys() | tensors.keys()
        if name not in tensors or name not in parameters or parameters[name].shape != tensors[name].shape
    )
    if different:
        raise CheckpointError(
            f"{where} does not fit its config.yaml: {different[0]} differs in name or shape "
            f"({len(different)} in all); both must come from the same run"
        )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A safetensors file that carries the checksum of its tensors."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, safetensors.torch.save(plain, {"format": str(FORMAT), "sha256": checksum(plain)}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file, checked against the checksum it carries."""
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); restore it from a copy") from None
    if metadata.get("sha256") != checksum(tensors):
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return tensors


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, shapes, types and bytes, in order of names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def checkpoint_folder(run: Path, update: int) -> Path:
    """Where the checkpoint of an update lies."""
    return run / "checkpoints" / f"{update:08d}"


def checkpoints(run: Path) -> list[int]:
    """Updates whose weights are on disk, in order."""
    return sorted(int(p.name) for p in (run / "checkpoints").glob("*") if p.name.isdigit())


def last_resumable(run: Path) -> int | None:
    """The latest update whose whole training state is on disk."""
    whole = [u for u in checkpoints(run) if (checkpoint_folder(run, u) / "training.json").exists()]
    return max(whole, default=None)


def save_checkpoint(
    run: Path, update: int, weights: Mapping[str, Tensor], optimiser: Mapping[str, Tensor], progress: Mapping[str, Any]
) -> None:
    """A checkpoint appears whole or not at all: written beside, synced, then renamed."""
    target = checkpoint_folder(run, update)
    beside = target.with_name(f".{target.name}.writing")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        write_tensors(beside / "weights.safetensors", weights)
        write_tensors(beside / "training.safetensors", optimiser)
        write_atomically(beside / "training.json", json.dumps(progress, indent=1).encode())
        shutil.rmtree(target, ignore_errors=True)
        os.replace(beside, target)
        sync_folder(target.parent)
    except (OSError, NmtError) as error:
        shutil.rmtree(beside, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(
            f"cannot write {target} ({reason}); the last good checkpoint is kept: make room, then resume={run}"
        ) from None


def prune(run: Path, keep: Sequence[int]) -> None:
    """Deletes what neither resuming (the last) nor averaging (`keep`) needs, and leftovers of killed writes."""
    for leftover in (run / "checkpoints").glob(".*.writing"):
        shutil.rmtree(leftover, ignore_errors=True)
    last = last_resumable(run)
    for update in checkpoints(run):
        folder = checkpoint_folder(run, update)
        if update == last:
            continue
        if update not in keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            (folder / "training.json").unlink(missing_ok=True)
            (folder / "training.safetensors").unlink(missing_ok=True)
