"""Weights, and the files that keep tensors (safetensors, with a checksum). Nothing read here is ever executed."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nmt.atomic import write_atomically
from nmt.errors import CheckpointError

FORMAT = 4  # of run folders; a change that older code cannot read raises it, and CHANGELOG says so


def weights_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every parameter once, also where tables are tied."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a file's tensors; takes no memory for them."""
    with _opened(path) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 (no mapping)


def refuse_other_shapes(
    model: torch.nn.Module, shapes: Mapping[str, Sequence[int]], where: Path
) -> dict[str, torch.nn.Parameter]:
    """The model's parameters, which must have these names and shapes."""
    parameters = dict(model.named_parameters())
    different = sorted(
        name
        for name in parameters.keys() | shapes.keys()
        if name not in shapes or name not in parameters or tuple(parameters[name].shape) != tuple(shapes[name])
    )
    if different:
        raise CheckpointError(
            f"{where} does not fit its config.yaml: {different[0]} differs in name or shape "
            f"({len(different)} in all); both must come from the same run"
        )
    return parameters


def set_weights(model: torch.nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Copies weights into a model of the same names and shapes."""
    parameters = refuse_other_shapes(model, {name: tensor.shape for name, tensor in tensors.items()}, where)
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
    with _opened(path) as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    signature = checksum(tensors)
    if metadata.get("sha256") != signature:
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return tensors, signature


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A safetensors file; what is wrong with it is said."""
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); restore it from a copy") from None


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, shapes, types and bytes, in order of names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
