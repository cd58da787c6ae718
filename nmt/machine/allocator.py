"""How the process keeps the memory that it has been given, and which errors say that there is too little."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # mallopt(3)
STEP = 256 * 1024 * 1024  # bytes by which the heap grows
LACK = ("DefaultCPUAllocator", "_STATUS_ALLOC_FAILED", "CUDA error: out of memory")
# How many prepared kernels are kept, by oneDNN and by torch's layer above it (by default 1,024 each, in every thread,
# with memory for their batches). oneDNN needs those of products, which have few sizes (nmt/model/linear.py).
CAPACITIES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "8"}


def keep_freed_memory() -> None:
    """Makes the C library keep what is freed for the next update or the next batch of sentences.

    By default the GNU library hands large blocks back to the system and soon asks for them again, to be filled with
    zeros first. Other C libraries are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_MAX, 0)  # large blocks come from the heap too
    mallopt(M_TRIM_THRESHOLD, -1)  # which never shrinks
    mallopt(M_TOP_PAD, STEP)


def lacks_memory(error: BaseException) -> bool:
    """Does the error say so? torch has a class of its own for it on a GPU only, and not for what libraries take there.

    The class is known by its name, so that nobody imports torch for it.
    """
    known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return known or (isinstance(error, RuntimeError) and any(words in str(error) for words in LACK))


def keep_few_kernels() -> None:
    """Makes oneDNN and torch keep little of what they prepare. They read their variables when they first compute.

    One that the user has set stays.
    """
    for capacity, kernels in CAPACITIES.items():
        os.environ.setdefault(capacity, kernels)


M_ARENA_MAX = -8  # mallopt(3)


@contextmanager
def memory_given_back() -> Iterator[None]:
    """What is freed inside the block goes back to the system at its end.

    The GNU library keeps a heap for each of several threads, and of each some pages: inside there is one for all.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if not hasattr(library, "malloc_trim"):
        yield
        return
    assert library is not None
    library.mallopt(M_ARENA_MAX, 1)
    yield
    library.malloc_trim(0)
