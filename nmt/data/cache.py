"""Results keyed by what they were made from: built beside, then renamed, so never half-written."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from nmt.errors import ConfigError
from nmt.machine.allocator import memory_given_back


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
        with memory_given_back():
            build(draft)
        for path in draft.iterdir():
            _flush(path)
        _publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


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
