"""Where tensors live, and the precision in which products are computed."""

import platform
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import torch

from nmt.errors import ConfigError
from nmt.machine.allocator import keep_few_kernels

Precision = Literal["auto", "fp32", "bf16"]
TranslationPrecision = Literal["auto", "float", "fp32", "bf16", "int8"]  # float: auto, but never int8


def choose_device(wanted: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """The device of that name; `auto` is the GPU where there is one."""
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError("device is cuda, but torch finds no GPU here; set device=cpu or device=auto")
    return torch.device("cuda" if available and wanted != "cpu" else "cpu")


def choose_dtype(wanted: Precision, device: torch.device) -> torch.dtype:
    """The dtype that products are computed in; `auto` is bfloat16 where the processor or GPU multiplies it natively."""
    if wanted == "auto":
        if device.type == "cuda":
            native = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            capabilities = torch.cpu.get_capabilities()
            native = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
        return torch.bfloat16 if native else torch.float32
    if wanted == "bf16" and not computes_bf16(device):
        capability = torch.backends.cpu.get_cpu_capability()
        raise ConfigError(
            f"precision is bf16, but torch has no LSTM in bf16 for this processor ({capability}); set precision=auto"
        )
    return torch.bfloat16 if wanted == "bf16" else torch.float32


def computes_bf16(device: torch.device) -> bool:
    """Can every layer compute in bfloat16 here, natively or not? Without AVX-512, an LSTM cannot."""
    keep_few_kernels()
    with torch.random.fork_rng(devices=[]):  # the new layer draws weights
        layer = torch.nn.LSTM(8, 8).to(device)
    try:
        with autocast(device, torch.bfloat16):
            layer(torch.zeros(1, 1, 8, device=device))
    except RuntimeError:
        return False
    return True


def keep_bf16_weights_packed() -> None:
    """Makes torch lay out an RNN's bfloat16 weights on a GPU as one block, as it does in float32.

    Without it cuDNN copies them into a block at every call, with a warning.
    """
    torch.backends.cudnn.CUDNN_TENSOR_DTYPES.add(torch.bfloat16)


def choose_int8(wanted: TranslationPrecision, device: torch.device) -> bool:
    """Should the decoder multiply 8-bit integers in a search? `auto`: if that is faster than float32."""
    if wanted == "int8" and device.type != "cpu":
        raise ConfigError("precision is int8, which is for processors, but device is a GPU; set precision=bf16")
    return wanted == "int8" or (wanted == "auto" and device.type == "cpu" and (multiplies_int8() or has_fbgemm()))


def multiplies_int8() -> bool:
    """Does the processor multiply 8-bit integers natively?"""
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_vnni") or capabilities.get("amx_int8"))


@cache
def multiplies_tiles() -> bool:
    """Does the processor multiply tiles of bfloat16 (AMX)?"""
    return bool(torch.cpu.get_capabilities().get("amx_bf16"))


def has_fbgemm() -> bool:
    """Can torch multiply 8-bit integers by 7-bit ones with FBGEMM, for processors with AVX2?"""
    if not torch.cpu.get_capabilities().get("avx2") or "fbgemm" not in torch.backends.quantized.supported_engines:
        return False
    return hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")


def autocast(device: torch.device, dtype: torch.dtype, keeps_casts: bool = True) -> AbstractContextManager[None]:
    """A context that computes products in `dtype`; master weights stay in float32.

    `keeps_casts`: a weight that is used several times is cast once. All threads share these casts, and one that leaves
    its context drops them. Gradients of casts add up in bfloat16, so with several threads their bits would depend on
    the time.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=dtype == torch.bfloat16, cache_enabled=keeps_casts)


def versions() -> dict[str, str]:
    """Versions of all software that results depend on."""
    found = {"python": platform.python_version()}
    for package in ("nmt", "torch", "sentencepiece", "sacrebleu", "numpy", "entmax"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # nmt in a checkout, or an optional package
            found[package] = "not installed"
    return found


def environment(device: torch.device, dtype: torch.dtype) -> dict[str, str | int]:
    """All that must be equal for equal bits, besides configuration and data."""
    tiles = " with AMX" if dtype == torch.bfloat16 and multiplies_tiles() else ""
    return {
        **versions(),
        "torch": torch.__version__,
        "device": device.type,
        "products in": str(dtype).removeprefix("torch."),
        "processor": f"{torch.backends.cpu.get_cpu_capability()}{tiles}",
    }
