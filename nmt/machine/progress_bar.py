"""The progress of long work, on a terminal."""

from typing import NoReturn

from tqdm import tqdm


def progress_bar(total: int, unit: str) -> "tqdm[NoReturn]":
    """A bar for a `with` block. It shows nothing if stderr is not a terminal, and disappears at the end."""
    return tqdm(total=total, unit=f" {unit}", leave=False, disable=None, dynamic_ncols=True)
