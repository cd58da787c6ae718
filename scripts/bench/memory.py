"""Resident memory: now, and the most of it, watched by a process of its own.

    python scripts/bench/memory.py PID RssAnon   (until standard input ends; then it prints the most, in MB)

The second word is a field of /proc/PID/status: RssAnon is memory that is no file's, VmRSS all that is resident.

The processes that it starts count with it; the one that watches does not.

Watched from within, a process would keep more of what it frees.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ANONYMOUS = "RssAnon"
EVERY = 0.02  # seconds between two looks


@dataclass
class Highest:
    """The most memory that was seen, known when the watching has ended."""

    mb: float = 0.0


def anonymous_memory_mb(process: int | str = "self") -> float:
    """Resident memory that is no file's (RssAnon), in MB: mapped corpora do not count."""
    return memory_mb(process, ANONYMOUS)


def memory_mb(process: int | str, field: str) -> float:
    """What a field of the process's status says, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"/proc/{process}/status has no {field}: this needs Linux 4.5 or later")


@contextmanager
def watched_memory(field: str) -> Iterator[Highest]:
    """The most memory that this process and its children have together inside the block."""
    highest = Highest()
    command = [sys.executable, __file__, str(os.getpid()), field]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as watcher:  # type: ignore[call-overload]
        watcher.stdout.readline()  # it has begun
        try:
            yield highest
        finally:
            highest.mb = float(watcher.communicate()[0])


def watch(process: int, field: str) -> float:
    """The most memory that a process and its children have together until standard input ends."""
    highest = together(process, field)
    print("watching", flush=True)
    while not select.select([sys.stdin], [], [], EVERY)[0]:
        highest = max(highest, together(process, field))
    return max(highest, together(process, field))


def together(process: int, field: str) -> float:
    """Memory of a process and of its children now, in MB."""
    found = memory_mb(process, field)
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError, RuntimeError):  # a thread or a child has ended meanwhile
            for child in path.read_text().split():
                found += memory_mb(child, field) if int(child) != os.getpid() else 0
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its standard input
    print(watch(int(sys.argv[1]), sys.argv[2]))
