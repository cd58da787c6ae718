"""The machine under a benchmark: what it is, and its own matrix rate."""

import platform
import time

import torch

from bench import usage
from nmt.machine.launch import cores

SIZES = {"cpu": 2048, "cuda": 8192}  # rows and columns of the matrices whose product is the measure


def matrix_rate(dtype: torch.dtype, device: torch.device, seconds: float = 1.0) -> float:
    """Floating-point operations per second of square matrix products here and now: the best of a few tries.

    The best, because what disturbs a product can only slow it.
    """
    size, times = SIZES[device.type], 1 if device.type == "cpu" else 10
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best = 0.0
    until = time.perf_counter() + seconds
    for number in range(1_000_000):
        start = time.perf_counter()
        for _ in range(times):
            left @ right
        wait(device)
        rate = 2.0 * size**3 * times / (time.perf_counter() - start)
        best = max(best, rate if number else 0.0)  # the first prepares the product
        if number >= 3 and time.perf_counter() > until:
            break
    return best


def peak_memory_mb(device: torch.device) -> float:
    """The most memory that this process has had at a time: of the card, or resident. In MB (1e6 bytes)."""
    return torch.cuda.max_memory_allocated(device) / 1e6 if device.type == "cuda" else usage.peak_memory_mb()


def wait(device: torch.device) -> None:
    """Until the device has done all that it was asked to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def describe(device: torch.device | None = None) -> str:
    """One line: processor or card, threads, torch; without a device, of the one that `nmt train` takes."""
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    capabilities = torch.cpu.get_capabilities()
    has = [name for name in ("amx_bf16", "avx512_bf16", "avx512_f", "avx2") if capabilities.get(name)]
    widest = has[0] if has else platform.machine()
    return f"{cores()} cores, {widest}, torch {torch.__version__} with {torch.get_num_threads()} threads"
