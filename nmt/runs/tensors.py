"""Model parameters, and files of tensors (safetensors with a checksum). Nothing that is read is ever executed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nmt.errors import CheckpointError
from nmt.machine.safe_files import write_atomically

Form = tuple[torch.dtype | None, tuple[int, ...]]  # type (None: nmt never writes it) and shape of a stored tensor
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "U8": torch.uint8}
TYPES |= {"I64": torch.int64, "I32": torch.int32, "BOOL": torch.bool}  # torch types by their names in safetensors
CHUNK_BYTES = 2**20


def parameters_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """The parameters by name; a tied table appears once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def read_forms(path: Path) -> dict[str, Form]:
    """Types and shapes of a file's tensors by name; the tensors themselves are not loaded."""
    with _opened(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return {name: (TYPES.get(one.get_dtype()), tuple(one.get_shape())) for name, one in slices.items()}


def refuse_other_forms(model: torch.nn.Module, forms: Mapping[str, Form], where: Path) -> dict[str, torch.nn.Parameter]:
    """The model's parameters by name; raises CheckpointError if names, types or shapes differ from `forms`."""
    parameters = dict(model.named_parameters())
    different = sorted(
        name
        for name in parameters.keys() | forms.keys()
        if name not in forms or name not in parameters or form_of(parameters[name]) != forms[name]
    )
    if different:
        raise CheckpointError(
            f"{where} does not fit its config.json: {different[0]} differs in name, shape or type "
            f"({len(different)} in all); both must come from the same run"
        )
    return parameters


def form_of(tensor: Tensor) -> Form:
    """Type and shape."""
    return tensor.dtype, tuple(tensor.shape)


def set_parameters(model: torch.nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Copies tensors into the model's parameters, which must have the same names, shapes and types."""
    parameters = refuse_other_forms(model, {name: form_of(tensor) for name, tensor in tensors.items()}, where)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


@dataclass(frozen=True)
class Signed:
    """Tensors on the CPU, ready to be written, with a checksum that is computed once for all files and records.

    They may share memory with a model: write them before its training goes on.
    """

    tensors: Mapping[str, Tensor]
    checksum: str


def signed(tensors: Mapping[str, Tensor]) -> Signed:
    """The tensors with their checksum; computing it reads every byte."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return Signed(plain, checksum(plain))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes a safetensors file that carries the checksum of its tensors."""
    write_signed(path, signed(tensors))


def write_signed(path: Path, content: Signed) -> None:
    """Like `write_tensors`, with a checksum that is already known."""
    write_atomically(path, packed(content))


def packed(content: Signed) -> bytes:
    """The bytes of the file, the same in every process: one entry of metadata, as the order of several would vary."""
    return safetensors.torch.save(dict(content.tensors), {"sha256": content.checksum})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, checked against its checksum."""
    return read_signed(path)[0]


def read_signed(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file and their checksum, which must be the one that the file carries."""
    with _opened(path) as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    found = checksum(tensors)
    if metadata.get("sha256") != found:
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return tensors, found


def check_tensors(path: Path) -> None:
    """Refuses a file whose checksum differs, without holding its tensors in memory."""
    forms = read_forms(path)  # checks the header, and that the file is as long as the header says
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        for name in sorted(forms):
            dtype, shape = forms[name]
            digest.update(f"{name} {shape} {dtype}\n".encode())
            begin, end = header[name]["data_offsets"]
            file.seek(8 + length + begin)
            for start in range(begin, end, CHUNK_BYTES):
                digest.update(file.read(min(CHUNK_BYTES, end - start)))
    if header.get("__metadata__", {}).get("sha256") != digest.hexdigest():
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An open safetensors file; a missing or damaged one raises CheckpointError."""
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
