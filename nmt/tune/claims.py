"""Locks for processes that share a study: one for decisions about the study, and one for each trial in training.

A lock ends with the process that holds it. On a file system without locks, a study may have only one process.
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
    """Waits for the study's lock and holds it: meanwhile no other process decides anything about the study."""
    handle = os.open(study, os.O_RDONLY)
    try:
        while take_lock(handle) is False:
            time.sleep(LOOK_AGAIN_S)
        yield
    finally:
        os.close(handle)


def claimed(study: Path, trial: str) -> int | None:
    """A claim on a trial: an open file, which ends the claim when it is closed; None: another process has the trial."""
    handle = os.open(study / f".{trial}.claim", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    if take_lock(handle) is False:
        os.close(handle)
        return None
    return handle
