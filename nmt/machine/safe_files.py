"""Files and folders that hold either their old content or all of their new content, whatever happens."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from nmt.errors import CheckpointError, remedy

RECORD_BYTES = 2**26  # largest file that `read_file` reads by default


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file, which holds either its old content or all of its new content, whatever happens."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def join_files(path: Path, parts: Sequence[Path]) -> None:
    """Writes these files one after another into one file, atomically and without holding them in memory."""
    try:
        with whole_file(path) as together:
            for part in parts:
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, together)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def write_privately(path: Path, content: bytes) -> None:
    """Like `write_atomically`, for a file that only its owner may read.

    If root replaces a file of another user, the file keeps its owner and group.
    """
    try:
        with whole_file(path, 0o600) as file:
            if os.geteuid() == 0 and path.exists():
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
            file.write(content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); {remedy(error)}, or write elsewhere") from None


def replace_file(path: Path, content: bytes) -> None:
    """Like `write_atomically`, but raises the system's own error."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file to write, which replaces the file at the path at the end of the block, unless the block fails.

    The file is always new, so that no link is followed. `mode`: its permissions, of which the umask removes some.
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
    """A new folder to fill and to `put_in_place`; if that is not done, it is deleted at the end of the block."""
    make_folder(path.parent)
    beside = draft(path)
    try:
        beside.mkdir()
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def put_in_place(beside: Path, path: Path) -> None:
    """Renames a file, or a folder of files, to `path` once its content is on disk; returns once the name is on disk.

    A folder can replace only an empty folder.
    """
    files = sorted(beside.iterdir()) if beside.is_dir() else []
    for each in [*files, beside]:
        sync(each)
    os.replace(beside, path)
    sync(path.parent)


def draft(path: Path) -> Path:
    """A new, hidden name beside the path."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.writing")


def sync(path: Path) -> None:
    """Makes a file's content, or the names in a folder, survive a power cut."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that others may write to, but only its owner may read
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Makes a folder and its missing parents, so that they survive a power cut."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync(path.parent)


def refuse_foreign_files(folder: Path) -> None:
    """Refuses links, pipes and devices in a run folder, which would lead elsewhere or hang. nmt makes none of them."""
    for place, folders, names in os.walk(folder):  # os.walk follows no links
        for path in (Path(place) / name for name in (*folders, *names)):
            with suppress(FileNotFoundError):  # a run that is training has deleted it
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    raise CheckpointError(
                        f"{path} is a link, and nmt never makes one; replace it with the file that it points to"
                    )
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise CheckpointError(f"{path} is neither a file nor a folder, so nmt did not make it; delete it")


def read_file(path: Path, most: int = RECORD_BYTES) -> bytes:
    """The content of a file that a run folder must hold; refuses more than `most` bytes, which nmt never writes."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # does not wait for a pipe
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise CheckpointError(f"{path} is not a regular file, so nmt did not write it; restore it from a copy")
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
    """Refuses, before any work, a folder that cannot be made or written to; leaves nothing behind.

    `keys`: the keys that choose another folder.
    """
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists() or path.is_symlink())
        TemporaryFile(dir=there).close()
    except OSError as error:
        raise unwritable(folder, error, keys) from None


def unwritable(folder: Path, error: OSError, keys: str) -> CheckpointError:
    """The error for a folder that cannot be written to."""
    return CheckpointError(f"cannot write {folder} ({error.strerror}); {remedy(error)}, or choose another {keys}")


def refuse_filled(path: Path, typed: str) -> None:
    """Refuses a place for a new folder where there is anything but an empty folder; `typed`: as the user named it."""
    if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
        raise CheckpointError(f"{typed} is there already; name a new or empty folder, or delete it")
