"""One process writes a run at a time.

The lock is on the folder itself, because `filelock` writes a file of its own, which `nmt status` may not do in a folder
that it can only read, and because it uses a marker that outlives a killed process on a file system without locks.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import CheckpointError
from nmt.machine.claims import take_lock
from nmt.machine.safe_files import make_folder, refuse_foreign_files, unwritable

PLACE = "runs_dir or name"  # which keys decide where a run lies


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """While this lasts no other process can write the run (made if missing); a killed process lets go of it."""
    try:
        make_folder(folder)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(folder, error, PLACE) from None
    locked = _locked(handle)
    if locked is None:
        print(f"note: {folder} lies where nothing can be locked: start no second process for it", file=sys.stderr)
    if locked is False:
        os.close(handle)
        raise CheckpointError(f"{folder} is being written by another process; wait for it or stop it first")
    try:
        refuse_foreign_files(folder)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """Takes the lock, unless a process holds it for longer than `is_held` does; None: a file system without locks."""
    for wait_s in (0.0, 0.05, 0.2):
        time.sleep(wait_s)
        locked = take_lock(handle)
        if locked is not False:
            return locked
    return False


def is_held(folder: Path) -> bool:
    """Is a process writing the run?"""
    try:
        with hold_run(folder):
            return False
    except CheckpointError:
        return True
