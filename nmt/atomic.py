"""Files that hold either their old content or all of the new one, whatever happens."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from nmt.errors import CheckpointError


def write_atomically(path: Path, content: bytes) -> None:
    """The file holds either its old content or all of the new one, whatever happens."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error.strerror}); make room or choose another place") from None


def join_files(path: Path, parts: Sequence[Path]) -> None:
    """A file that holds these one after another, or its old content; takes no memory for them."""
    beside = path.with_name(f".{path.name}.writing")
    try:
        with open(beside, "wb") as together:
            for part in parts:
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, together)
            together.flush()
            os.fsync(together.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise CheckpointError(f"cannot write {path} ({error.strerror}); make room or choose another place") from None


def replace_file(path: Path, content: bytes) -> None:
    """The same with the system's own error."""
    beside = path.with_name(f".{path.name}.writing")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_file(path: Path) -> bytes:
    """Content of a file that a run folder must hold."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; restore it from a copy, or train the model again") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path} ({error.strerror}); check its permissions") from None
