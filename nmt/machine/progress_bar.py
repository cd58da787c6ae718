"""How far something long has come, on a terminal."""

from typing import NoReturn

from tqdm import tqdm


def progress_bar(total: int, unit: str) -> "tqdm[NoReturn]":
    """A bar for `with`; it shows nothing where stderr is no terminal, and leaves nothing behind."""
    return tqdm(total=total, unit=f" {unit}", leave=False, disable=None, dynamic_ncols=True)
