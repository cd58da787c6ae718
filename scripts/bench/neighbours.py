"""Other work on the same machine while something is measured, and the share of the machine that is fair beside it."""

import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from nmt.machine.launch import cores

# Counts until standard input ends, which it does with the process that measures, however that ends.
COUNTING = """import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True: pass
"""


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """So many processes that count without end, while the block runs."""
    with ExitStack() as ends:
        for _ in range(count):
            ends.enter_context(subprocess.Popen([sys.executable, "-c", COUNTING], stdin=subprocess.PIPE))
        yield


@contextmanager
def working_neighbours(count: int, command: Sequence[str]) -> Iterator[None]:
    """So many processes of a command, while the block runs, which begins when each has printed a line.

    They are to end when their standard input does.
    """
    with ExitStack() as ends:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        neighbours = [ends.enter_context(subprocess.Popen(command, **pipes)) for _ in range(count)]  # type: ignore[call-overload]
        for neighbour in neighbours:
            if not neighbour.stdout.readline():
                sys.exit(neighbour.wait() or 1)  # it has said why
        yield


def is_to_end() -> bool:
    """Has standard input ended?"""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def fair_share(workers: int, others: int) -> float:
    """Of its idle rate, what w workers on c cores get beside n busy threads of others: c / (w + n), at most all."""
    return min(1.0, max(cores(), workers) / (workers + others))
