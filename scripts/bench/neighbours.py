"""Other work on the same machine while something is measured, and the share of the machine that is fair beside it."""

import select
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from nmt.machine.launch import cores


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """So many processes that count without end, while the block runs."""
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


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


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median, and from least to most where there are several."""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}} to {max(values):{form}})"
