"""Run folders: what a model and a training state are on disk. Nothing read here is ever executed.

runs/NAME/  config.yaml  manifest.json  src.spm  tgt.spm        written once
            model.safetensors                                   the best weights so far; what translation loads
            shortlist.safetensors                               see shortlist.py
            checkpoints/                                        see training_state.py
            metrics.jsonl  tensorboard/
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import yaml
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nmt.build import build_model
from nmt.errors import CheckpointError
from nmt.prepare import TokenizerPair
from nmt.seq2seq import Seq2Seq
from nmt.tokenizer import Tokenizer

FORMAT = 3  # of run folders; a change that older code cannot read raises it, and CHANGELOG says so
MODEL_SECTIONS = ("model", "encoder", "decoder", "attention", "tokenizer")  # what weights and vocabularies depend on
SECTIONS = (*MODEL_SECTIONS, "data", "optimizer", "schedule", "search", "train")


@dataclass(frozen=True)
class LoadedModel:
    """A model as translation needs it."""

    config: dict[str, Any]
    model: Seq2Seq
    tokenizers: TokenizerPair
    checksum: str  # of the weights, hexadecimal


def write_atomically(path: Path, content: bytes) -> None:
    """The file holds either its old content or all of the new one, whatever happens."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); make room or choose another place") from None


def replace_file(path: Path, content: bytes) -> None:
    """The same with the system's own error."""
    beside = path.with_name(f".{path.name}.writing")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_run(folder: Path, config: Mapping[str, Any], tokenizers: TokenizerPair) -> None:
    """Everything but weights into a folder that is there; refuses one that holds another run."""
    refuse_used(folder)
    files = {"config.yaml": _yaml(config), "src.spm": tokenizers.src.bytes, "tgt.spm": tokenizers.tgt.bytes}
    for name, content in files.items():
        write_atomically(folder / name, content)
    _write_manifest(folder, {name: hashlib.sha256(content).hexdigest() for name, content in files.items()})


def change_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Another configuration for a run; its manifest knows both while the file is replaced."""
    checksums = json.loads(read_file(folder / "manifest.json"))["sha256"]
    checksums["config.yaml"] = hashlib.sha256(read_file(folder / "config.yaml")).hexdigest()
    content = _yaml(config)
    checksums["config.yaml, next"] = hashlib.sha256(content).hexdigest()
    _write_manifest(folder, checksums)
    write_atomically(folder / "config.yaml", content)
    checksums["config.yaml"] = checksums.pop("config.yaml, next")
    _write_manifest(folder, checksums)


def _write_manifest(folder: Path, checksums: Mapping[str, str]) -> None:
    manifest = {"format": FORMAT, "sha256": dict(checksums)}
    write_atomically(folder / "manifest.json", json.dumps(manifest, indent=1).encode())


def _yaml(config: Mapping[str, Any]) -> bytes:
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True).encode()


def refuse_used(folder: Path) -> None:
    """Another run's folder is never written into."""
    if (folder / "manifest.json").exists():
        raise CheckpointError(
            f"{folder} already holds a run; continue it with resume={folder}, or choose another name="
        )


def refuse_unwritable(folder: Path) -> None:
    """Tries to write into a run's folder, and leaves nothing behind."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise CheckpointError(f"cannot write {folder} ({error.strerror}); choose another runs_dir or name") from None
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """While this lasts no other process can write the run (made if missing); a killed process lets go of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder} ({error.strerror}); choose another runs_dir or name") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise CheckpointError(f"{folder} is being written by another process; wait for it or stop it first") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Is a process writing the run?"""
    try:
        with hold_run(folder):
            return False
    except CheckpointError:
        return True


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
        known = (checksums.get(name), checksums.get(f"{name}, next"))  # two: change_config was cut short
        if hashlib.sha256(contents[name]).hexdigest() not in known:
            raise CheckpointError(f"{folder / name} is damaged: its checksum differs; restore it from a copy")
    source = Tokenizer.from_bytes(contents["src.spm"])
    same = contents["src.spm"] == contents["tgt.spm"]
    pair = TokenizerPair(source, source if same else Tokenizer.from_bytes(contents["tgt.spm"]))
    return read_config(folder / "config.yaml", contents["config.yaml"]), pair


def read_config(path: Path, content: bytes) -> dict[str, Any]:
    """Plain data: tags that would make Python objects are refused."""
    try:
        config = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError):
        raise CheckpointError(f"{path} is no plain YAML, so nmt did not write it; restore it from a copy") from None
    missing = [name for name in SECTIONS if not isinstance(config, dict) or not isinstance(config.get(name), dict)]
    if missing:
        raise CheckpointError(f"{path} has no section {missing[0]}, so nmt did not write it; restore it from a copy")
    return dict(config)


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
    weights, signature = read_signed(folder / "model.safetensors")
    set_weights(model, weights, folder / "model.safetensors")
    return LoadedModel(config, model.eval(), tokenizers, signature)


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
    write_atomically(path, packed(tensors))


def packed(tensors: Mapping[str, Tensor]) -> bytes:
    """Content of such a file."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(plain, {"format": str(FORMAT), "sha256": checksum(plain)})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file, checked against the checksum it carries."""
    return read_signed(path)[0]


def read_signed(path: Path) -> tuple[dict[str, Tensor], str]:
    """The same, and the checksum."""
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); restore it from a copy") from None
    signature = checksum(tensors)
    if metadata.get("sha256") != signature:
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return tensors, signature


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, shapes, types and bytes, in order of names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
