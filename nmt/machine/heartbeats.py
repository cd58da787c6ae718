"""Tells a process that works from one that hangs: while others wait for a process, it beats once a second."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nmt.machine.timed_store import TimedStore

BEAT_S = 1.0


@contextmanager
def beating(store: TimedStore, rank: int) -> Iterator[None]:
    """While the block runs, a thread of this process counts in the store."""
    over = threading.Event()

    def beat() -> None:
        with contextlib.suppress(RuntimeError):  # the store is gone; who waits for it notices
            while not over.wait(BEAT_S):
                store.add(_beats(rank), 1)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def noting_failure(store: TimedStore, rank: int) -> Iterator[None]:
    """A block that fails leaves a note for the other processes."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(RuntimeError):
            store.set(_failed(rank))
        raise


class Listener:
    """Finds processes that have failed, or have not beaten for `limit_s` seconds."""

    def __init__(self, store: TimedStore, limit_s: float) -> None:
        self._store = store
        self._limit_s = limit_s
        self._heard: dict[int, tuple[int, float]] = {}  # of each process: its beats, and when the last one came
        self._listened = -BEAT_S

    def silent(self, ranks: Sequence[int]) -> list[int]:
        """Those of the processes that will not answer. Asks the store at most once a second."""
        now = time.monotonic()
        if now < self._listened + BEAT_S:
            return []
        self._listened = now
        for rank in ranks:
            beats = self._store.add(_beats(rank), 0)
            if rank not in self._heard or self._heard[rank][0] != beats:
                self._heard[rank] = beats, now
        return [
            rank for rank in ranks if now - self._heard[rank][1] > self._limit_s or self._store.has([_failed(rank)])
        ]


def _beats(rank: int) -> str:
    return f"beats {rank}"


def _failed(rank: int) -> str:
    return f"process {rank} failed"
