"""Changes a key file: by one process at a time, atomically, and readable by the owner alone."""

import json
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from nmt.errors import ConfigError, NmtError, nearest, printable
from nmt.machine.claims import take_lock
from nmt.machine.safe_files import make_folder, unwritable, write_privately
from nmt.serve.keys import FORMAT, LIMITS, NAME, Entry, Key, digest_of, read_entries

BEGINNING = "nmt_"  # of every secret, so that a lost one can be recognised
WAIT_S = 10.0  # for another process that changes a file in the same folder


def add_key(path: Path, key: Key) -> str:
    """Adds a key and returns its secret, of which only the hash is kept. Creates the file if it is missing."""
    if not NAME.fullmatch(key.name):
        raise ConfigError(
            f"add='{printable(key.name)}' cannot name a key; take up to 64 of a-z, A-Z, 0-9, '.', '-' and '_', a "
            "letter or a digit first"
        )
    secret = BEGINNING + secrets.token_urlsafe(32)
    with _alone_at(path) as file:
        entries = read_entries(file) if file.exists() else []
        if key.name in names(entries):
            raise ConfigError(
                f"add={key.name}, but {path} has a key of that name; choose another, or revoke that one first: nmt "
                f"keys file={path} revoke={key.name}"
            )
        _write(file, [*entries, Entry(key, digest_of(secret), date.today())])
    return secret


def revoke_key(path: Path, name: str) -> None:
    """Removes the key from the file."""
    with _alone_at(path) as file:
        entries = read_entries(file)
        if name not in names(entries):
            helps = nearest(name, names(entries)) if entries else "the file holds no key"
            raise ConfigError(f"revoke='{printable(name)}', but {path} has no key of that name; {helps}")
        _write(file, [entry for entry in entries if entry.key.name != name])


def names(entries: Sequence[Entry]) -> list[str]:
    """The names of the keys."""
    return [entry.key.name for entry in entries]


@contextmanager
def _alone_at(path: Path) -> Iterator[Path]:
    """The file, with links resolved, while no other process may change a file in its folder.

    The lock is on the folder, because every change replaces the file.
    """
    file = Path(os.path.realpath(path))
    try:
        make_folder(file.parent)
        handle = os.open(file.parent, os.O_RDONLY)
    except OSError as error:
        raise unwritable(file.parent, error, "file") from None
    try:
        deadline = time.monotonic() + WAIT_S
        while (locked := take_lock(handle)) is False:
            if time.monotonic() > deadline:
                raise NmtError(f"another process has locked {file.parent} for {WAIT_S:.0f} s; wait for it, or stop it")
            time.sleep(0.01)
        if locked is None:
            print(f"note: {file} is on a file system without locks: run one nmt keys at a time", file=sys.stderr)
        yield file
    finally:
        os.close(handle)


def _write(path: Path, entries: Sequence[Entry]) -> None:
    keys = [
        {"name": each.key.name, "sha256": each.sha256, "created": each.created.isoformat()}
        | {limit: getattr(each.key, limit) for limit in LIMITS}
        for each in entries
    ]
    write_privately(path, (json.dumps({"format": FORMAT, "keys": keys}, indent=1) + "\n").encode())
