"""Files and folders that hold either their old content or all of the new one, whatever happens."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from nmt.errors import CheckpointError, remedy

RECORD_BYTES = 2**26  # of a file that `read_file` reads, unless told otherwise


def write_atomically(path: Path, content: bytes) -> None:
    """The file holds either its old content or all of the new one, whatever happens."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def join_files(path: Path, parts: Sequence[Path]) -> None:
    """A file that holds these one after another, or its old content; takes no memory for them."""
    try:
        with whole_file(path) as together:
            for part in parts:
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, together)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def write_privately(path: Path, content: bytes) -> None:
    """The same as `write_atomically` for a file that its owner alone may read.

    Where root replaces somebody's file, it stays theirs.
    """
    try:
        with whole_file(path, 0o600) as file:
            if os.geteuid() == 0 and path.exists():
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
            file.write(content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def replace_file(path: Path, content: bytes) -> None:
    """The same as `write_atomically` with the system's own error."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file to write, so that no link is followed; it takes the path's place at the end, unless that fails.

    `mode` gives its permissions; the umask removes some of them.
    """
    beside = draft(path)
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
        put_in_place(beside, path)
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A new folder to fill, for `put_in_place`; it is gone at the end."""
    make_folder(path.parent)
    beside = draft(path)
    try:
        beside.mkdir()
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def put_in_place(beside: Path, path: Path) -> None:
    """Gives a file, or a folder of files, its name once all of it is on the disk; returns when the name is too.

    A folder takes the place of none or an empty one only.
    """
    files = sorted(beside.iterdir()) if beside.is_dir() else []
    for each in [*files, beside]:
        sync(each)
    os.replace(beside, path)
    sync(path.parent)


def draft(path: Path) -> Path:
    """A name beside the path that no file has."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.writing")


def sync(path: Path) -> None:
    """Makes a file's content, or the names in a folder, survive a power cut."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # somebody's folder to leave files in, which only its owner reads
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """With the folders that it lies in, so that they survive a power cut."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync(path.parent)


def refuse_foreign_files(folder: Path) -> None:
    """A run folder holds folders and regular files: links, pipes and devices in it would lead elsewhere, or hang."""
    for place, folders, names in os.walk(folder):  # which follows no link
        for path in (Path(place) / name for name in (*folders, *names)):
            with suppress(FileNotFoundError):  # a run that trains took it away
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    raise CheckpointError(f"{path} is a link, which nmt never makes; put what it names in its place")
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise CheckpointError(f"{path} is neither a file nor a folder, so nmt did not make it; delete it")


def read_file(path: Path, most: int = RECORD_BYTES) -> bytes:
    """Content of a file that a run folder must hold, which nmt never makes larger than `most` bytes."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe is not waited for
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise CheckpointError(f"{path} is no regular file, so nmt did not write it; restore it from a copy")
            if found.st_size > most:
                raise CheckpointError(
                    f"{path} has {found.st_size:,} bytes, more than the {most:,} it can have; restore it from a copy"
                )
            return file.read(most)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path} ({error.strerror}); check its permissions") from None


def refuse_unwritable(folder: Path, keys: str) -> None:
    """Refuses a folder that cannot be written or made, before the work; leaves nothing behind.

    `keys`: the keys that choose another folder.
    """
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists() or path.is_symlink())
        TemporaryFile(dir=there).close()
    except OSError as error:
        raise unwritable(folder, error, keys) from None


def unwritable(folder: Path, error: OSError, keys: str) -> CheckpointError:
    """The error for a folder that cannot be written."""
    return CheckpointError(f"cannot write {folder} ({error.strerror}); {remedy(error)}, or choose another {keys}")
