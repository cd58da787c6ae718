"""The API keys of a server. Their file holds the name and limits of each key, and the SHA-256 of its secret.

A secret is 256 random bits: nobody can guess it from its hash, and the hash needs no salt.
"""

import hashlib
import hmac
import json
import os
import re
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from nmt.config.keys import LARGEST_NUMBER
from nmt.errors import DataError, printable

FORMAT = 1  # version of the file's format; a change that older code cannot read raises it
MOST_BYTES = 2**24  # of a key file
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LIMITS = ("characters_per_minute", "requests_per_minute")
FIELDS = ("name", "sha256", "created", *LIMITS)
LOOK_S = 1.0  # between two checks whether the file has changed

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Key:
    """A client's key and its limits; None is no limit."""

    name: str
    characters_per_minute: int | None
    requests_per_minute: int | None


@dataclass(frozen=True)
class Entry:
    """A key as it is in the file."""

    key: Key
    sha256: str  # of the secret, hexadecimal
    created: date


class Keys:
    """The keys of a file, read again when it changes. If the file cannot be read, the last good keys stay in force."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock  # in seconds
        self._entries, self._stamp = _read(path)
        self._looked = clock()
        self._fault: str | None = None  # why the file cannot be read, as printed

    @classmethod
    def read(cls, path: Path, clock: Callable[[], float] = time.monotonic) -> "Keys":
        """Raises DataError if the file is missing or damaged."""
        return cls(path, clock)

    def of(self, secret: str) -> Key | None:
        """The key with this secret, or None. The time depends on the secret's length, not on whether it is valid."""
        if self._clock() - self._looked >= LOOK_S:
            self._look()
        digest = digest_of(secret)
        found = None
        for entry in self._entries:
            if hmac.compare_digest(digest, entry.sha256):
                found = entry.key
        return found

    def _look(self) -> None:
        """Reads the file again, unless it is still the last good one."""
        self._looked = self._clock()
        try:
            if self._fault is None and _stamp(os.stat(self._path)) == self._stamp:
                return
            self._entries, self._stamp = _read(self._path)
        except (DataError, OSError) as error:
            fault = str(error) if isinstance(error, DataError) else str(_unreadable(self._path, error))
            if fault != self._fault:
                _say(f"error: {fault}; the keys read before it stay in force")
            self._fault = fault
            return
        if self._fault is not None:
            _say(f"note: {self._path} can be read again, and its keys are in force")
        self._fault = None


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)


def digest_of(secret: str) -> str:
    """The SHA-256 of a secret, in hexadecimal. Accepts any text that a client may send."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def read_entries(path: Path) -> list[Entry]:
    """The keys of a file. Raises DataError if it is missing or damaged."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[Entry], Stamp]:
    """The keys of a file, and its stamp, which differs once the file has changed."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
                raise DataError(f"{path} is not a file of keys; name the one that nmt keys wrote")
            content = file.read(MOST_BYTES)
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        return _entries(json.loads(content)), _stamp(found)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _DamageError) else "it is not JSON"
        raise DataError(f"{path} is a damaged file of keys: {why}; restore it from a copy") from None


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _unreadable(path: Path, error: OSError) -> DataError:
    """The error, in one line, for a file that cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{path} does not exist; nmt keys file={path} add=NAME makes it with a first key")
    return DataError(f"cannot read {path} ({error.strerror}); check its permissions and its owner")


class _DamageError(ValueError):
    """A value in the file that nmt does not write; the message says which."""


def _entries(content: Any) -> list[Entry]:
    if not isinstance(content, dict) or content.keys() != {"format", "keys"} or not isinstance(content["keys"], list):
        raise _DamageError("it does not have exactly the fields format and keys")
    if type(content["format"]) is not int or content["format"] != FORMAT:
        raise _DamageError(f"its format is {content['format']!r}, and this version of nmt reads {FORMAT}")
    entries = [_entry(values, f"key {number}") for number, values in enumerate(content["keys"], 1)]
    for what in ([entry.key.name for entry in entries], [entry.sha256 for entry in entries]):
        if twice := [value for value, count in Counter(what).items() if count > 1]:
            raise _DamageError(f"{twice[0]} occurs twice")
    return entries


def _entry(values: Any, where: str) -> Entry:
    if not isinstance(values, dict) or values.keys() != set(FIELDS):
        raise _DamageError(f"{where} does not have exactly the fields {', '.join(FIELDS)}")
    name, digest = values["name"], values["sha256"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _DamageError(f"{where} has the name {name!r}")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise _DamageError(f"{name} has no SHA-256 of 64 hexadecimal digits in lower case")
    for limit in LIMITS:
        value = values[limit]
        if value is not None and (type(value) is not int or not 1 <= value <= LARGEST_NUMBER):
            raise _DamageError(f"{limit} of {name} is {value!r}")
    try:
        created = date.fromisoformat(values["created"])
    except (TypeError, ValueError):
        raise _DamageError(f"{name} was created on {values['created']!r}, which is not a date") from None
    return Entry(Key(name, *(values[limit] for limit in LIMITS)), digest, created)
