"""Independent pieces of work side by side, one on each core."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
