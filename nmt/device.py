"""Where tensors live and in which precision products are taken."""

from contextlib import AbstractContextManager
from typing import Literal

import torch

from nmt.errors import ConfigError

Precision = Literal["auto", "fp32", "bf16"]


def choose_device(wanted: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """The device of that name; `auto` is the GPU where there is one."""
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError("device is cuda, but torch finds no GPU here; set device=cpu or device=auto")
    return torch.device("cuda" if available and wanted != "cpu" else "cpu")


def choose_dtype(wanted: Precision, device: torch.device) -> torch.dtype:
    """Type of the products' factors; `auto` is bfloat16 where the processor or GPU multiplies it natively."""
    if wanted == "auto":
        if device.type == "cuda":
            native = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            capabilities = torch.cpu.get_capabilities()
            native = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
        return torch.bfloat16 if native else torch.float32
    return torch.bfloat16 if wanted == "bf16" else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[None]:
    """Products in `dtype`; master weights stay float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=dtype == torch.bfloat16)
