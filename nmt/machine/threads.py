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


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item], device: torch.device) -> Iterator[Result]:
    """`work` of each item, in order.

    On a CPU every core takes whole items, with one thread of torch's: small operations, which two threads would not
    share, run side by side too, and no thread waits for another after each of them. A single item gets all threads.
    """
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(items) < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(min(threads, len(items)), "nmt", initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)  # an end that is asked for meanwhile waits for what has begun, no more
        torch.set_num_threads(threads)


class Workers:
    """Threads that take pieces of work side by side, each with one thread of torch's; the caller is one of them.

    With a `count` of 1 the caller works alone, with all threads of torch's.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = (
            ThreadPoolExecutor(count - 1, "nmt", initializer=torch.set_num_threads, initargs=(1,))
            if count > 1
            else None
        )

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """`each` is called inside."""
        if self._pool is None:
            yield
            return
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`work` of each item, done by whichever worker is free.

        An error ends the workers after the item at hand, and is raised.
        """
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
