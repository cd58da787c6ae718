"""One process writes a run at a time."""

import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt.errors import CheckpointError, remedy
from nmt.machine.safe_files import make_folder, refuse_foreign_files


def refuse_unwritable(folder: Path) -> None:
    """Tries to write into a run's folder, and leaves nothing behind."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def unwritable(folder: Path, error: OSError) -> CheckpointError:
    """For a run's folder, of a new run or one to go on with."""
    return CheckpointError(
        f"cannot write {folder} ({error.strerror}); {remedy(error)}, or choose another runs_dir or name"
    )


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """While this lasts no other process can write the run (made if missing); a killed process lets go of it."""
    try:
        make_folder(folder)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(folder, error) from None
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
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError:
            return None
        return True
    return False


def is_held(folder: Path) -> bool:
    """Is a process writing the run?"""
    try:
        with hold_run(folder):
            return False
    except CheckpointError:
        return True
