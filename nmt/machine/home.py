"""Paths as users type them."""

from pathlib import Path

from nmt.errors import ConfigError


def expanded(path: str | Path) -> Path:
    """The path, with a user's home folder in place of ~ or ~name at the beginning."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(f"{path}: {Path(path).parts[0]} is not the home of any user; type the whole path") from None
