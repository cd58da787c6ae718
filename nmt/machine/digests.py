"""SHA-256 of data and files."""

import hashlib
import json
from pathlib import Path

from nmt.errors import DataError


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
