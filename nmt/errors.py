"""Errors that a user can cause: one clear line each, shown without a traceback, exit code 2."""

import difflib
import errno
import os
from collections.abc import Iterable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)  # the disk or the quota is full
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
FAILING = (errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV)  # the disk fails or has gone


class NmtError(Exception):
    """Bad input. The message is one line: what is wrong (with the value), where, and what to do."""


class ConfigError(NmtError):
    """A key or value of the configuration that cannot be used."""


class DataError(NmtError):
    """A corpus, file or line that cannot be used."""


class CheckpointError(NmtError):
    """A run or another output of nmt that is damaged or unreadable, or that nmt cannot or must not write."""


class PeerError(NmtError):
    """Another process of the same training has ended or does not answer."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """A remedy for a mistyped word: "did you mean 'x'?" if a choice is close, else the list of choices."""
    known = sorted(set(choices))
    if (close := closest(word, known)) is not None:
        return f"did you mean '{close}'?"
    return "choose from: " + ", ".join(known) if known else "nothing can be set here"


def closest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most like the word; None if no choice is close to it."""
    return next(iter(difflib.get_close_matches(word, sorted(set(choices)), n=1, cutoff=0.6)), None)


def printable(text: str) -> str:
    """The text with unprintable characters escaped, so that it cannot control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def in_one_line(error: BaseException) -> str:
    """The message of an error as one line that cannot control the terminal."""
    return printable(" ".join(str(error).split()))


def counted(count: int, word: str) -> str:
    """A count with its noun: "1 worker", "2 workers"."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def place_of(error: OSError) -> str | None:
    """The file that an error names, printable; None if it names none. tensorboard names it in bytes."""
    name = error.filename
    return None if name is None else printable(os.fsdecode(name) if isinstance(name, bytes) else str(name))


def remedy(error: OSError) -> str:
    """Advice for a user whose file cannot be written."""
    if error.errno in NO_ROOM:
        return "make room"
    if error.errno in FORBIDDEN:
        return "make it writable"
    return "mend the disk" if error.errno in FAILING else "check that place"
