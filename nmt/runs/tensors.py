"""Parameters, and the files that keep tensors (safetensors, with a checksum). Nothing read here is ever executed."""

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

Form = tuple[torch.dtype | None, tuple[int, ...]]  # of a stored tensor: type (None: none that nmt writes) and shape
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "U8": torch.uint8}
TYPES |= {"I64": torch.int64, "I32": torch.int32, "BOOL": torch.bool}  # by safetensors' names
CHUNK_BYTES = 2**20


def parameters_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every parameter once, also where tables are tied."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def read_forms(path: Path) -> dict[str, Form]:
    """Names, types and shapes of a file's tensors; takes no memory for them."""
    with _opened(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return {name: (TYPES.get(one.get_dtype()), tuple(one.get_shape())) for name, one in slices.items()}


def refuse_other_forms(model: torch.nn.Module, forms: Mapping[str, Form], where: Path) -> dict[str, torch.nn.Parameter]:
    """The model's parameters, which must have these names, types and shapes."""
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
    """Copies parameters into a model of the same names, shapes and types."""
    parameters = refuse_other_forms(model, {name: form_of(tensor) for name, tensor in tensors.items()}, where)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


@dataclass(frozen=True)
class Signed:
    """Tensors to be written, on the CPU, with their checksum: taken once, however many files and records get it.

    They may share memory with a model: write them before it is trained on.
    """

    tensors: Mapping[str, Tensor]
    checksum: str


def signed(tensors: Mapping[str, Tensor]) -> Signed:
    """These tensors with their checksum, which all of their bytes are read for."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return Signed(plain, checksum(plain))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A safetensors file that carries the checksum of its tensors."""
    write_signed(path, signed(tensors))


def write_signed(path: Path, content: Signed) -> None:
    """The same where the checksum is known."""
    write_atomically(path, packed(content))


def packed(content: Signed) -> bytes:
    """Content of such a file: the same bytes in every process (several entries would be written in any order)."""
    return safetensors.torch.save(dict(content.tensors), {"sha256": content.checksum})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file, checked against the checksum it carries."""
    return read_signed(path)[0]


def read_signed(path: Path) -> tuple[dict[str, Tensor], str]:
    """The same, and the checksum."""
    with _opened(path) as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    found = checksum(tensors)
    if metadata.get("sha256") != found:
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return tensors, found


def check_tensors(path: Path) -> None:
    """Refuses a file whose checksum differs; takes no memory for its tensors."""
    forms = read_forms(path)  # the header is sound, and the file as long as it says
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
