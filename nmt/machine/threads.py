"""Independent pieces of work side by side, one on each core."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Threads that take pieces of work side by side, each with one thread of torch's; the caller is one of them.

    Nobody waits for another inside an operation, as torch's own threads do, so that a busy machine costs no more than
    its share; and nobody who computes a piece changes a bit of it.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = (
            ThreadPoolExecutor(count - 1, "nmt", initializer=torch.set_num_threads, initargs=(1,))
            if count > 1
            else None
        )

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`work` of each item in order, done by whichever worker is free.

        An error ends the workers after the item at hand, and is raised.
        """
        with _one_thread():
            if self._pool is None or len(items) < 2:
                return list(map(work, items))
            numbers, lock = count(), Lock()
            found: dict[int, Result] = {}
            errors: list[BaseException] = []

            def take() -> None:
                while not errors:
                    with lock:
                        number = next(numbers)
                    if number >= len(items):
                        return
                    try:
                        found[number] = work(items[number])
                    except BaseException as error:
                        errors.append(error)

            others = [self._pool.submit(take) for _ in range(min(self.count, len(items)) - 1)]
            take()
            for other in others:
                other.result()
            if errors:
                raise errors[0]
            return [found[number] for number in range(len(items))]


def workers_on(device: torch.device, wanted: int | None) -> Workers:
    """As many workers as are wanted (None: as torch has threads), and one where a GPU computes."""
    if device.type != "cpu":
        return Workers(1)
    return Workers(torch.get_num_threads() if wanted is None else wanted)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread of torch's for the caller meanwhile."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
