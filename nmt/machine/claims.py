"""Which of several processes writes a file: locks that end with the process that holds them."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from nmt.machine.safe_files import put_in_place, whole_file


def take_lock(handle: int) -> bool | None:
    """Locks an open file. False: another process holds the lock. None: the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def has_locks(folder: Path) -> bool:
    """Can files in the folder be locked?"""
    with TemporaryFile(dir=folder) as file:
        return take_lock(file.fileno()) is not None


@contextmanager
def claimed_file(path: Path) -> Iterator[IO[bytes] | None]:
    """A file to write that takes the path's place at the end, unless that fails.

    None where the path is a file already, or another process is writing it. Until the end the file has a hidden name
    beside the path. That file is the claim. It is locked, and a killed process lets go of the lock. The next process
    that claims the path writes the file anew. Where nothing can be locked there are no claims: every process gets a
    file of its own, the last to end wins, and one that is killed leaves its file behind.
    """
    if not has_locks(path.parent):
        if path.is_file():
            yield None
            return
        with whole_file(path) as file:
            yield file
        return
    beside = path.with_name(f".{path.name}.writing")
    handle = _claim(beside, path)
    if handle is None:
        yield None
        return
    with open(handle, "wb") as file:  # closing it ends the lock
        try:
            file.truncate()  # what a killed process has left
            yield file
            file.flush()
            put_in_place(beside, path)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise


def _claim(beside: Path, path: Path) -> int | None:
    """The locked file `beside`, open for writing; None as in `claimed_file`."""
    while not path.is_file():
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        locked = take_lock(handle)
        if not locked:
            os.close(handle)
            if locked is None:  # `has_locks` has just said that the file system has locks
                raise OSError(errno.ENOLCK, "the file system does not lock it now", str(beside))
            return None
        if not _is_at(handle, beside):  # before the lock was taken, its writer renamed or deleted it
            os.close(handle)
        elif path.is_file():  # its writer ended before the opening, which made a new file
            beside.unlink()
            os.close(handle)
        else:
            return handle
    return None


def _is_at(handle: int, path: Path) -> bool:
    """Is the open file the one at the path?"""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
