"""Sentence pairs of JSON: one object a line, or an array of objects; memory holds one object at a time."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path

from nmt.data.encodings import conversion, likely_encoding
from nmt.data.kinds import refuse_other_kinds
from nmt.data.packed import unpacked
from nmt.data.paths import LONGEST_LINE, read_lines
from nmt.errors import DataError, nearest

EXAMPLE = '{"src": "a text", "tgt": "its translation"}'
CHUNK = 1 << 16  # bytes that are read at a time
_SPACES = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def names_in_json(path: Path) -> list[str]:
    """The keys of the first object; a nested key is joined by dots to the keys around it."""
    with unpacked(path) as stream:
        start = stream.peek(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    _, row = next(_array(path) if start == b"[" else _lines(path), ("", {}))
    return list(_dotted(row))


def _dotted(row: object, before: str = "") -> Iterator[str]:
    if isinstance(row, dict):
        for key, value in row.items():
            yield from _dotted(value, f"{before}{key}.") if isinstance(value, dict) else [f"{before}{key}"]


def read_json(path: Path, src: str | int, tgt: str | int) -> Iterator[tuple[str, str]]:
    """The pairs of a file; blank lines are skipped, and null is an empty sentence."""
    with unpacked(path) as stream:
        start = stream.peek(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    for where, row in _array(path) if start == b"[" else _lines(path):
        yield _dig(row, str(src), where), _dig(row, str(tgt), where)


def _lines(path: Path) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield where, json.loads(line)
            except (ValueError, RecursionError) as error:
                helps = f"put one object on each line, or all into one array: [{EXAMPLE}, …]"
                raise DataError(f"{where}: not valid JSON on one line ({error}); {helps}") from error


def _array(path: Path) -> Iterator[tuple[str, object]]:
    """Each value of an array, after its name in errors: the file and the number of the value, from 1."""
    chunks = _chunks(path)
    text = next(piece for piece in chunks if piece.strip())
    at, number, needs_comma = text.index("[") + 1, 1, False
    while True:
        at = _SPACES.match(text, at).end()  # type: ignore[union-attr]
        where = f"{path}, item {number}"
        if at == len(text):
            text, at = next(chunks, ""), 0
            if not text:
                raise DataError(f"{where}: not valid JSON (the array has no end); correct the file")
        elif text[at] == "]":
            if text[at + 1 :].strip() or any(more.strip() for more in chunks):
                raise DataError(f"{path}: there is more after the array; put all objects into it")
            return
        elif needs_comma:
            if text[at] != ",":
                raise DataError(f"{where}: not valid JSON (there is no comma before it); correct the file")
            at, needs_comma = at + 1, False
        else:
            value, text, at = _value(text, at, chunks, where)
            yield where, value
            number, needs_comma = number + 1, True


def _value(text: str, at: int, chunks: Iterator[str], where: str) -> tuple[object, str, int]:
    """The value that begins at `at`, the text and the position after it; reads more chunks until the value is whole."""
    while True:
        try:
            value, end = _DECODER.raw_decode(text, at)
            more = next(chunks, "") if end == len(text) else ""  # a number may continue there
            if not more:
                return value, text, end
            text += more
            continue
        except RecursionError:
            raise DataError(f"{where}: not valid JSON (nested too deeply); correct the file") from None
        except ValueError as found:
            error = str(found).split(":")[0]
        text, at = text[at:], 0
        size = len(text)
        if size > LONGEST_LINE:
            raise DataError(f"{where}: not valid JSON ({error}), or longer than {LONGEST_LINE >> 20} M; correct it")
        while len(text) <= 2 * size and (more := next(chunks, "")):
            text += more
        if len(text) == size:
            raise DataError(f"{where}: not valid JSON ({error}); correct the file")


def _chunks(path: Path) -> Iterator[str]:
    """The text of the file, chunk by chunk."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        with unpacked(path) as stream:
            refuse_other_kinds(stream, str(path))
            while chunk := stream.read(CHUNK):
                if text := decoder.decode(chunk):
                    yield text
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: byte {error.object[error.start]:#04x} is not valid UTF-8; convert the file: "
            f"{conversion(likely_encoding(error.object), str(path))}"
        ) from error


def _dig(row: object, column: str, where: str) -> str:
    found, path = row, [column] if isinstance(row, dict) and column in row else column.split(".")
    for part in path:
        if not isinstance(found, dict):
            kind = "a list" if isinstance(found, list) else "text" if isinstance(found, str) else "a number or null"
            what = "the row" if found is row else f"what '{column}' is asked of"
            raise DataError(f"{where}: {what} is {kind}, not an object; write rows such as {EXAMPLE}")
        if part not in found:
            raise DataError(f"{where}: no column '{column}'; {nearest(part, map(str, found))}")
        found = found[part]
    if found is not None and not isinstance(found, str):
        raise DataError(f"{where}: column '{column}' is {json.dumps(found)[:40]}, not text; correct the file")
    return found or ""
