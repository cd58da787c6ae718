"""What a process and the others take of the machine; the standard library alone, for the peers' environments."""

import os
import platform
import resource
import time
from contextlib import suppress
from pathlib import Path


class Usage:
    """Wall time of a block, and the shares of all cores' time that we and other processes used meanwhile.

    It begins when it is made, or with the block. Without /proc (not Linux) the others' share stays 0.
    """

    wall_s = ours = others = 0.0

    def __init__(self) -> None:
        self.start = _seconds()

    def __enter__(self) -> "Usage":
        self.start = _seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> "Usage":
        """Takes the figures, up to now."""
        self.wall_s, busy, own = (now - before for now, before in zip(_seconds(), self.start, strict=True))
        cores = self.wall_s * (os.cpu_count() or 1)
        self.ours, self.others = own / cores, max(0.0, busy - own) / cores
        return self


def _seconds() -> tuple[float, float, float]:
    """On the wall, of work of all cores together, of our own work and that of our children."""
    own = sum(os.times()[:4])
    stat, busy = Path("/proc/stat"), own
    if stat.exists():
        user, nice, system, _, _, *rest = map(int, stat.read_text().split(maxsplit=9)[1:9])
        busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), busy, own


def peak_memory_mb() -> float:
    """The most resident memory that this process has had, in MB (1e6 bytes).

    Linux counts it anew for a program that begins; getrusage gives what its parent had, if that is more.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
