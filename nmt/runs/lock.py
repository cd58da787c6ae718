"""One process writes a run at a time.

The lock is on the run folder itself. `filelock` would not do: it writes a file of its own, and `nmt status` cannot
write in a read-only folder. On a file system without locks, `filelock` uses a marker, which outlives a killed process.
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

PLACE = "runs_dir or name"  # the keys that decide where a run is


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """Locks the run folder, which is made if missing, so that no other process writes the run.

    The lock ends with the process, even if that is killed. Raises CheckpointError while another process holds it.
    """
    try:
        make_folder(folder)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(folder, error, PLACE) from None
    locked = _locked(handle)
    if locked is None:
        print(
            f"note: {folder} is on a file system without locks: do not start a second process for it", file=sys.stderr
        )
    if locked is False:
        os.close(handle)
        raise CheckpointError(f"{folder} is being written by another process; wait for it, or stop it first")
    try:
        refuse_foreign_files(folder)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """Takes the lock, trying again because `is_held` holds it for a moment; None: the file system has no locks."""
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
