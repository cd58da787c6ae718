"""Reads and writes lines of text: files, standard input, standard output."""

import glob
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nmt.data.kinds import refuse_other_kinds
from nmt.data.pairing import natural_order
from nmt.data.paths import decode_lines, read_lines
from nmt.errors import ConfigError, DataError
from nmt.machine.home import expanded
from nmt.machine.safe_files import whole_file

LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}  # JSON may hold these line ends unescaped


def input_lines(given: str | list[str] | None) -> Iterator[str]:
    """Lines of the given files, one after another, or of standard input; refuses missing files at once."""
    if given is None:
        return standard_input()
    return (line for path in input_files(given) for line in file_lines(path))


def placed_lines(given: str | list[str] | None) -> Iterator[tuple[str, str]]:
    """The place and the text of each line of `input_lines`; a place names the file if there are several."""
    files = [] if given is None else input_files(given)
    if len(files) > 1:
        return ((f"{path}, line {number:,}", line) for path in files for number, line in enumerate(file_lines(path), 1))
    return ((f"line {number:,}", line) for number, line in enumerate(input_lines(given), 1))


def input_files(given: str | list[str]) -> list[Path]:
    """The files, pipes or folders that `input` names; refuses names without a file.

    Files of a glob are sorted, part.2 before part.10.
    """
    names = [given] if isinstance(given, str) else given
    if not names:
        raise ConfigError("input is an empty list; name a file, or leave input out to read standard input")
    return [path for name in names for path in _named(name)]


def _named(name: str) -> list[Path]:
    path = expanded(name)
    if path.exists():
        return [path]
    if not glob.has_magic(name):
        raise DataError(f"no file {name}, input={name}; check the path")
    found = sorted(glob.glob(str(path), recursive=True), key=natural_order)
    if lost := [each for each in found if not os.path.exists(each)]:
        raise DataError(f"{lost[0]} is a link to a file that is missing, input={name}; mend or delete the link")
    files = [Path(each) for each in found if Path(each).is_file()]
    if not files:
        raise DataError(f"no file matches {name}, input={name}; check the pattern")
    return files


def standard_input() -> Iterator[str]:
    """Lines of standard input."""
    if sys.stdin is None:
        raise DataError("standard input is closed; give it a file, or input=FILE")
    if sys.stdin.isatty():
        print("type sentences; Ctrl-D ends and translates them (nmt interactive answers at once)", file=sys.stderr)
    try:
        if isinstance(sys.stdin.buffer, io.BufferedReader):
            refuse_other_kinds(sys.stdin.buffer, "standard input")
        yield from decode_lines(sys.stdin.buffer, "standard input")
    except OSError as error:
        raise DataError(f"cannot read standard input ({error.strerror}); give it a file, or input=FILE") from None


def file_lines(path: Path) -> Iterator[str]:
    """Lines of a file, compressed or not, or of a pipe."""
    if path.is_file() or path.is_dir():
        yield from read_lines(path)
        return
    try:
        with open(path, "rb") as pipe:
            refuse_other_kinds(pipe, str(path))
            yield from decode_lines(pipe, str(path))
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}); check it, or name another file") from None


@contextmanager
def output_file(name: str | None) -> Iterator[IO[str]]:
    """The file `name`, open for writing; it appears whole or not at all. None means standard output."""
    try:
        with standard_output() if name is None else _named_file(expanded(name)) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "standard output" if name is None else name
        raise DataError(f"cannot write {shown} ({error.strerror}); choose another output=") from None


@contextmanager
def _named_file(path: Path) -> Iterator[IO[str]]:
    if path.exists() and not path.is_file():  # a pipe or a device; /dev/stdout leads to one that has no other name
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        with whole_file(path.resolve()) as whole, io.TextIOWrapper(whole, encoding="utf-8", newline="\n") as text:
            yield text


@contextmanager
def standard_output() -> Iterator[IO[str]]:
    """Standard output as UTF-8 with LF; refuses one that is closed.

    If a write fails, standard output becomes the null device, so that Python prints no second error at exit.
    """
    if sys.stdout is None:
        raise DataError("standard output is closed; give it a file, or output=FILE")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
