"""Results keyed by what they were made from: built beside, then renamed, so never half-written."""

import ctypes
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import ConfigError, DataError

M_ARENA_MAX = -8  # mallopt(3)


def digest(value: object) -> str:
    """Hexadecimal SHA-256 of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"file {path} cannot be read: {error.strerror}; check the path") from error


def cached(cache_dir: Path, kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder that `build` filled for this key, now or in an earlier run.

    Of several runs that build the same folder at once, the first to finish wins; the others use its result.
    """
    cache_dir = cache_dir.expanduser()
    folder = cache_dir / f"{kind}-{key[:32]}"
    if folder.is_dir():
        return folder
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{kind}-", dir=cache_dir))
    except OSError as error:
        raise ConfigError(
            f"cache_dir={cache_dir} cannot be written: {error.strerror}; set cache_dir to another folder"
        ) from error
    try:
        with _memory_given_back():
            build(draft)
        for path in draft.iterdir():
            _flush(path)
        _publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


@contextmanager
def _memory_given_back() -> Iterator[None]:
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


def _flush(path: Path) -> None:
    with open(path, "rb") as handle:
        os.fsync(handle.fileno())


def _publish(draft: Path, folder: Path) -> None:
    draft.chmod(0o777 & ~_umask())
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
