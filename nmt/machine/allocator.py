"""Keeps or returns memory that the process has freed, and recognises errors that mean out of memory."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # mallopt(3)
STEP = 256 * 1024 * 1024  # bytes by which the heap grows
LACK = ("DefaultCPUAllocator", "_STATUS_ALLOC_FAILED", "CUDA error: out of memory")
# How many prepared kernels oneDNN and torch's layer above it keep (by default 1,024 each, in every thread, with memory
# for their batches). oneDNN must keep those of products and RNN layers, which have few sizes (nmt/model/linear.py).
CAPACITIES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "96", "LRU_CACHE_CAPACITY": "8"}


def keep_freed_memory() -> None:
    """Makes the C library keep freed memory for the next update or the next batch of sentences.

    By default, the GNU library returns large blocks to the system and soon asks for them again, which the system then
    fills with zeros. Other C libraries keep their settings.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_MAX, 0)  # large blocks come from the heap too
    mallopt(M_TRIM_THRESHOLD, -1)  # the heap never shrinks
    mallopt(M_TOP_PAD, STEP)


def lacks_memory(error: BaseException) -> bool:
    """Does the error mean out of memory?

    torch has a class for this error only on a GPU, and does not use it for memory that libraries allocate there. The
    class is recognised by its name, so that torch need not be imported.
    """
    known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return known or (isinstance(error, RuntimeError) and any(words in str(error) for words in LACK))


def keep_few_kernels() -> None:
    """Makes oneDNN and torch keep few prepared kernels, by environment variables that they read at first use.

    A variable that the user has set stays.
    """
    for capacity, kernels in CAPACITIES.items():
        os.environ.setdefault(capacity, kernels)


M_ARENA_MAX = -8  # mallopt(3)


@contextmanager
def memory_given_back() -> Iterator[None]:
    """The memory that is freed inside the block goes back to the system when the block ends.

    By default, the GNU library has heaps for several threads and keeps some pages of each heap. From here on, new
    threads get no heap of their own.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if not hasattr(library, "malloc_trim"):
        yield
        return
    assert library is not None
    library.mallopt(M_ARENA_MAX, 1)
    yield
    library.malloc_trim(0)
