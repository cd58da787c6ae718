"""Translates whole files into a folder, by any number of processes on any number of machines.

Each process goes through the files. It skips a file that is finished, or that another process has claimed. A
translation gets its name when all of it is on the disk. `.nmt-translate.json` in the folder records how the
translations are made. A command that would make them differently is refused.
"""

import errno
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from nmt.data.packed import packing
from nmt.errors import DataError, counted, in_one_line, printable, remedy
from nmt.machine.claims import claimed_file, has_locks
from nmt.machine.safe_files import make_folder, read_file
from nmt.translation.notes import caution

RECORD = ".nmt-translate.json"
NAMES_SHOWN = 5  # file names in one line
OF_ONE_FILE = (errno.ENAMETOOLONG, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EPERM)  # errors in writing


@dataclass(frozen=True)
class Plan:
    """The files to translate into a folder."""

    folder: Path
    targets: Mapping[Path, Path]  # source -> target, in the order of the file names


def plan(sources: Iterable[Path], folder: Path) -> Plan:
    """The plan to make a file of the same name in the folder for each source."""
    found: dict[str, Path] = {}
    for source in dict.fromkeys(sources):
        if not source.is_file():
            raise DataError(f"{source} is not a regular file, input; name files, or another output= than a folder")
        if source.suffix.lower() == ".zip":
            raise DataError(f"{source} is a zip, which cannot be written to {folder}; unpack it first")
        if source.name in found:
            raise DataError(
                f"{found[source.name]} and {source} have the same name, input; their translations would be one file, "
                f"{folder / source.name}: translate them into two folders"
            )
        if source.resolve() == (folder / source.name).resolve():
            raise DataError(f"{source} is in the folder {folder}, output; choose another folder, or name a file in it")
        found[source.name] = source
    return Plan(folder, {found[name]: folder / name for name in sorted(found)})


def prepare(plan: Plan, made_with: Mapping[str, Any], sharded: bool) -> None:
    """Makes the folder and the record of how its translations are made.

    Refuses a folder whose translations are made differently, or that has files with the names of targets but no record.
    `plan` covers the files of all processes; `sharded`: this process was told its own share of them.
    """
    folder = plan.folder
    content = f"{json.dumps(made_with, indent=1)}\n".encode()
    record = folder / RECORD
    with _writing(folder):
        make_folder(folder)
        refuse_no_claims(folder, sharded)
        # listed before the check for the record, which is older than any translation
        there = [target for target in plan.targets.values() if target.is_file()]
        if there and not record.exists():
            raise DataError(
                f"{there[0]} exists, and no {RECORD} beside it says that nmt translate wrote it; choose another "
                "output=, or move it away"
            )
        while not record.is_file():
            with claimed_file(record) as file:
                if file is None:  # another process is writing it
                    time.sleep(0.01)
                else:
                    file.write(content)
    refuse_others(record, json.loads(content))


def refuse_no_claims(folder: Path, sharded: bool) -> None:
    """Refuses a folder where files cannot be locked, unless each process was told which files are its own."""
    if has_locks(folder):
        return
    if not sharded:
        raise DataError(
            f"{folder} is on a file system without locks, so processes cannot see which files others "
            "translate; give each its own shard=i/n, or shard=1/1 if there is only one"
        )
    print(f"note: {folder} is on a file system without locks: start one process for each shard", file=sys.stderr)


def refuse_others(record: Path, made_with: Mapping[str, Any]) -> None:
    """Refuses a folder whose translations are made differently; the error says what differs."""
    try:
        stored = dict(json.loads(read_file(record)))
    except (ValueError, TypeError, RecursionError):
        raise DataError(f"{record} is damaged; choose another output=, or delete the folder") from None
    differences = [
        f"{key} was {json.dumps(stored.get(key))}, is {json.dumps(made_with.get(key))}"
        for key in {**made_with, **stored}
        if stored.get(key) != made_with.get(key)
    ]
    if differences:
        raise DataError(
            f"{record.parent} holds translations that were made with other settings: {'; '.join(differences)}; type "
            "the same as there, or choose another output="
        )


def translate_files(plan: Plan, share: slice, translated: Callable[[Path], Iterator[str]]) -> None:
    """Writes the lines of `translated(source)` to each source's target, unless that exists or is being written.

    `share` selects the sources of this process. A source that cannot be read, or whose target alone cannot be written,
    does not stop the others; an error at the end names it. At the end, what other processes had claimed is tried again:
    some may have ended without writing it.
    """
    counts: Counter[str] = Counter()
    newer: list[Path] = []
    bad: list[Path] = []
    held: dict[Path, Path] = {}  # claimed by other processes when this one reached them
    targets = list(plan.targets.items())[share]
    for source, target in chain(targets, again(held)):
        was_held = held.pop(source, None) is not None
        begin = time.perf_counter()
        try:
            lines = _translate(source, target, translated)
        except NothingWritableError:
            if bad:
                caution(_bad(bad, len(targets)))
            raise
        except DataError as error:
            caution(f"{in_one_line(error)}; the other files go on")
            counts["not translated"] += 1
            bad.append(source)
            continue
        if lines is not None:
            rate = lines / (time.perf_counter() - begin)
            print(f"{printable(str(target))}: {counted(lines, 'line')}, {rate:,.0f} a second", file=sys.stderr)
            counts["translated"] += 1
        elif not target.is_file():
            held[source] = target
        elif was_held:
            counts["done by other processes meanwhile"] += 1
        else:
            counts["there already"] += 1
            if _is_newer(source, target):
                newer.append(target)
    if held:
        counts["in the hands of other processes"] += len(held)
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    print(f"{len(targets):,} of {len(plan.targets):,} files{said and f': {said}'}", file=sys.stderr)
    if newer:
        _say_older(newer)
    if bad:
        raise DataError(f"{_bad(bad, len(targets))}; repair them, and type the same command again")


def _translate(source: Path, target: Path, translated: Callable[[Path], Iterator[str]]) -> int | None:
    """The number of lines that are written; None: the target is there, or another process is writing it."""
    with _writing(target), claimed_file(target) as file:
        if file is None:
            return None
        before = _state(source)
        count = _write(translated(source), file, source.suffix.lower())
        if _state(source) != before:
            raise DataError(f"{source} has changed while it was translated")
        return count


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of a file, by which one that somebody writes is found; None: it is gone."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None


def _bad(sources: Sequence[Path], count: int) -> str:
    return f"{len(sources):,} of {count:,} files cannot be translated, for the reasons above: {_named(sources)}"


def _say_older(targets: Sequence[Path]) -> None:
    """Says which translations are older than their source."""
    first = f"{targets[0]} is older than the file that it translates"
    more = len(targets) - 1
    others = f", and so {'is' if more == 1 else 'are'} {counted(more, 'other')}" if more else ""
    caution(f"{first}{others}; delete such translations, and they are made again")


def again(held: Mapping[Path, Path]) -> Iterator[tuple[Path, Path]]:
    """What is held at the end of the first pass, then what is held at the end of this one, until that is no less."""
    before = len(held) + 1
    while 0 < len(held) < before:
        before = len(held)
        yield from list(held.items())


def _write(lines: Iterable[str], file: IO[bytes], suffix: str) -> int:
    """Writes the lines, compressed as the suffix asks, and returns their number; equal lines give equal bytes."""
    count = 0
    with packing(file, suffix) as out:
        for line in lines:
            out.write(f"{line}\n".encode())
            count += 1
    return count


def _is_newer(source: Path, target: Path) -> bool:
    """Was the source written after its translation?"""
    with suppress(FileNotFoundError):
        return source.stat().st_mtime > target.stat().st_mtime
    return False


def _named(paths: Sequence[Path]) -> str:
    """The first few paths by name, and the number of the others."""
    more = len(paths) - NAMES_SHOWN
    return ", ".join(map(str, paths[:NAMES_SHOWN])) + (f" and {more:,} more" if more > 0 else "")


class NothingWritableError(DataError):
    """No file can be written to a folder: its disk is full, or fails."""


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Reports system errors inside as errors in writing the path; `NothingWritableError` where others fail as well."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        kind = DataError if error.errno in OF_ONE_FILE else NothingWritableError
        raise kind(f"cannot write {path} ({error.strerror}); {remedy(error)}, or choose another output=") from None
