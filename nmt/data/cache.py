"""A cache of folders keyed by their inputs. Each is built under another name, then renamed: none is half-written."""

from collections.abc import Callable
from pathlib import Path

from nmt.machine.allocator import memory_given_back
from nmt.machine.home import expanded
from nmt.machine.safe_files import folder_beside, put_in_place, refuse_unwritable


def cached(cache_dir: Path, kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder that `build` filled for this key, now or in an earlier run.

    If several runs build the same folder at once, the first to finish wins; the others use its result.
    """
    cache_dir = expanded(cache_dir)
    folder = cache_dir / f"{kind}-{key[:32]}"
    if folder.is_dir():
        return folder
    refuse_unwritable(cache_dir, "cache_dir")
    with folder_beside(folder) as beside:
        with memory_given_back():
            build(beside)
        try:
            put_in_place(beside, folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder
