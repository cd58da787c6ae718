"""Several processes at one study: who decides what is next, and who trains which trial.

Both are locks that end with the process that holds them. Where nothing can be locked, there may be one process.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.machine.claims import take_lock

LOOK_AGAIN_S = 0.05


@contextmanager
def alone_at(study: Path) -> Iterator[None]:
    """No other process decides anything about the study meanwhile; waits for one that does."""
    handle = os.open(study, os.O_RDONLY)
    try:
        while take_lock(handle) is False:
            time.sleep(LOOK_AGAIN_S)
        yield
    finally:
        os.close(handle)


def claimed(study: Path, trial: str) -> int | None:
    """The claim on a trial, an open file that ends it when it is closed; None: another process has it."""
    handle = os.open(study / f".{trial}.claim", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    if take_lock(handle) is False:
        os.close(handle)
        return None
    return handle
