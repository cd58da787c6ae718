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
    """Threads that take pieces of work side by side, each with one torch thread; the caller is one of them.

    Unlike torch's own threads, workers do not wait for each other inside an operation. So other work on the machine
    costs no more than its share. A piece has the same bits, whichever worker computes it.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = (
            ThreadPoolExecutor(count - 1, "nmt", initializer=torch.set_num_threads, initargs=(1,))
            if count > 1
            else None
        )

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of `work` for each item, in order. Whichever worker is free takes the next item.

        After an error, workers stop once they have finished their items, and the error is raised.
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

            try:
                others = [self._pool.submit(take) for _ in range(min(self.count, len(items)) - 1)]
                take()
                for other in others:
                    other.result()
            except BaseException as error:  # Ctrl-C between two items
                errors.append(error)
                raise
            if errors:
                raise errors[0]
            return [found[number] for number in range(len(items))]


def workers_on(device: torch.device, wanted: int | None) -> Workers:
    """The `wanted` number of workers (None: one per torch thread); on a GPU, a single worker."""
    if device.type != "cpu":
        return Workers(1)
    return Workers(torch.get_num_threads() if wanted is None else wanted)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Inside the block, the caller has a single torch thread."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
