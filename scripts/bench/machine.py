"""The machine under a benchmark: its own matrix rate, what others took of it, and the memory that we took."""

import os
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

SIZE = 2048  # rows and columns of the matrices whose product is the measure


def matrix_rate(dtype: torch.dtype, device: torch.device, seconds: float = 1.0) -> float:
    """Floating-point operations per second of square matrix products here and now: the best of a few tries.

    The best, because what disturbs a product can only slow it.
    """
    left, right = (torch.randn(SIZE, SIZE, device=device).to(dtype) for _ in range(2))
    best = 0.0
    until = time.perf_counter() + seconds
    for number in range(1_000_000):
        start = time.perf_counter()
        for _ in range(1 if device.type == "cpu" else 20):
            left @ right
        wait(device)
        rate = 2.0 * SIZE**3 * (1 if device.type == "cpu" else 20) / (time.perf_counter() - start)
        best = max(best, rate if number else 0.0)  # the first prepares the product
        if number >= 3 and time.perf_counter() > until:
            break
    return best


def wait(device: torch.device) -> None:
    """Until the device has done all that it was asked to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@dataclass
class Usage:
    """Of all cores' time while something was measured: the shares that we and that other processes used."""

    ours: float = 0.0
    others: float = 0.0
    wall_s: float = 0.0


@contextmanager
def watched() -> Iterator[Usage]:
    """Fills the usage it gives when the block ends. Without /proc (not Linux) the others' share stays 0."""
    usage = Usage()
    start, busy, own = time.perf_counter(), _busy_s(), _own_s()
    yield usage
    usage.wall_s = time.perf_counter() - start
    cores = usage.wall_s * (os.cpu_count() or 1)
    usage.ours = (_own_s() - own) / cores
    usage.others = max(0.0, (_busy_s() - busy) / cores - usage.ours)


def _own_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _busy_s() -> float:
    """Seconds that all cores together have worked since the machine started."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return _own_s()
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text().split(maxsplit=9)[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def peak_memory_mb() -> float:
    """The most resident memory that this process has had, in MB (1e6 bytes)."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def describe(device: torch.device) -> str:
    """One line: processor or card, threads, torch."""
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    capabilities = torch.cpu.get_capabilities()
    has = [name for name in ("amx_bf16", "avx512_bf16", "avx512_f", "avx2") if capabilities.get(name)]
    widest = has[0] if has else platform.machine()
    return f"{os.cpu_count()} cores, {widest}, torch {torch.__version__} with {torch.get_num_threads()} threads"
