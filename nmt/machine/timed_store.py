"""A store whose calls end. Those of torch.distributed wait for a frozen host without end, and hear no signal."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch.distributed as dist

T = TypeVar("T")


class TimedStore:
    """Notes that processes leave for each other.

    Each call raises RuntimeError if the store is gone, or does not answer within `limit_s` seconds.
    """

    def __init__(self, store: dist.Store, limit_s: float) -> None:
        self._store = store
        self._limit_s = min(limit_s, threading.TIMEOUT_MAX)

    def set(self, name: str, note: str = "") -> None:
        """Leaves a note."""
        self._answer(lambda: self._store.set(name, note))

    def get(self, name: str) -> str:
        """The note, which is there."""
        note: bytes = self._answer(lambda: self._store.get(name))
        return note.decode()

    def add(self, name: str, number: int) -> int:
        """Adds to a number, which begins at 0; the sum."""
        total: int = self._answer(lambda: self._store.add(name, number))
        return total

    def has(self, names: Sequence[str]) -> bool:
        """Are all of these there?"""
        there: bool = self._answer(lambda: self._store.check(list(names)))
        return there

    def _answer(self, call: Callable[[], T]) -> T:
        answers: list[T] = []
        failures: list[RuntimeError] = []

        def ask() -> None:
            try:
                answers.append(call())
            except RuntimeError as error:
                failures.append(error)

        thread = threading.Thread(target=ask, daemon=True)  # it may never end
        thread.start()
        thread.join(self._limit_s)
        if failures:
            raise failures[0]
        if not answers:
            raise RuntimeError("the store does not answer")
        return answers[0]
