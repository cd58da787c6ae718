"""Paths as people type them."""

from pathlib import Path

from nmt.errors import ConfigError


def expanded(path: str | Path) -> Path:
    """With the folder of a user in place of ~ or ~name at its beginning."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(f"{path}: nobody's home is {Path(path).parts[0]}; type the whole path") from None
