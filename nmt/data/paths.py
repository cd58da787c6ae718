"""Finds the files that a configuration names by path or glob; has the one reader of text lines."""

import glob
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from nmt.config.sections import Paths
from nmt.data.encodings import conversion, likely_encoding
from nmt.data.kinds import refuse_other_kinds, refuse_tables
from nmt.data.packed import unpacked
from nmt.data.pairing import natural_order
from nmt.errors import ConfigError, DataError, nearest, printable
from nmt.machine.home import expanded

BUNDLED = "bundled:"
BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26  # bytes
SAMPLE, SAMPLE_LINES = 1 << 10, 50  # bytes per line, and lines after a bad line, to guess its encoding from


@runtime_checkable
class ByteLines(Protocol):
    """An open binary stream."""

    def readline(self, size: int, /) -> bytes: ...


def resolve(path: str, root: str | None) -> Path:
    """A path of the configuration, under `root` unless absolute; 'bundled:NAME' is a corpus that comes with nmt."""
    return _folder(root) / expanded(path)


def _folder(root: str | None) -> Path:
    if root is None:
        return Path()
    if not root.startswith(BUNDLED):
        return expanded(root)
    name = root.removeprefix(BUNDLED)
    package = Path(__file__).parents[1]
    places = [package / "corpora", package.parent / "data"]  # in a wheel, in a checkout
    there = {
        entry.name: entry for place in reversed(places) if place.is_dir() for entry in place.iterdir() if entry.is_dir()
    }
    if name not in there:
        raise ConfigError(f"data.root={root}: no such corpus comes with nmt; {nearest(name, there)}")
    return there[name]


def find_files(paths: Paths, root: str | None, key: str) -> list[Path]:
    """The files that a path, a glob or a list of these names; a glob gives part.2 before part.10."""
    named = [paths] if isinstance(paths, str) else list(paths or [])
    if not named:
        raise ConfigError(f"{key} is an empty list; name at least one file")
    return [path for name in named for path in _expand(name, root, key)]


def _expand(name: str, root: str | None, key: str) -> list[Path]:
    path = resolve(name, root)
    if path.is_file():
        return [path]
    if path.exists():
        raise DataError(f"{path} is not a regular file, {key}; name a file or a glob such as FOLDER/*.txt")
    if not glob.has_magic(name):
        raise DataError(f"file {path} does not exist, {key}; check the path{_and_root(name, root)}")
    pattern = str(expanded(name))
    found = sorted(glob.glob(pattern, root_dir=_folder(root), recursive=True), key=natural_order)
    files = [file for file in (_folder(root) / entry for entry in found) if file.is_file()]
    if not files:
        raise DataError(f"no file matches {path}, {key}; check the pattern{_and_root(name, root)}")
    return files


def _and_root(name: str, root: str | None) -> str:
    """The end of the remedy: the folder that was searched, or how to give one."""
    if root:
        return f" and data.root={root}"
    return "" if expanded(name).is_absolute() else ", or give the folder that it is in: data.root=FOLDER"


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, compressed or not. Only \\n ends a line; one \\r before it and the BOM are dropped."""
    with unpacked(path) as stream:
        refuse_other_kinds(stream, str(path))
        yield from decode_lines(stream, str(path))


class NotUtf8Error(DataError):
    """Bytes that are not UTF-8, most likely in this encoding."""

    def __init__(self, message: str, encoding: str | None) -> None:
        super().__init__(message)
        self.encoding = encoding


def read_sentences(path: Path, entry: str | None = None) -> Iterator[str]:
    """Lines of a file, or of a file in a zip, that should hold one sentence each, in one language.

    Refuses JSON and tables.
    """
    name = str(path) if entry is None else f"{path}, {printable(entry)}"
    with unpacked(path, entry) as stream:
        refuse_other_kinds(stream, name)
        refuse_tables(stream, name)
        yield from decode_lines(stream, name)


def decode_lines(stream: ByteLines, name: str) -> Iterator[str]:
    """Lines of an open UTF-8 stream, split as in `read_lines`; errors call the stream `name`."""
    for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), start=1):
        if len(raw) > LONGEST_LINE:
            raise DataError(f"{name}, line {number}: longer than {LONGEST_LINE >> 20} MB; is it text with line ends?")
        if raw == BOM and number == 1:  # an empty file that begins with a BOM
            continue
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            line = line.removeprefix(BOM)
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            following = islice(iter(partial(stream.readline, SAMPLE), b""), SAMPLE_LINES)
            encoding = likely_encoding(raw + b"".join(following))
            raise NotUtf8Error(
                f"{name}, line {number}: byte {raw[error.start]:#04x} is not valid UTF-8;"
                f" convert the file: {conversion(encoding, name)}",
                encoding,
            ) from error
