"""Sentence pairs of Parquet and Arrow files, batch by batch."""

import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nmt.data.encodings import likely_encoding
from nmt.data.split import Pair
from nmt.errors import DataError, nearest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ColumnKey = str | int
ARROW, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # first bytes of Arrow files and streams
ARROW_ERRORS = (pa.ArrowException, UnicodeDecodeError, OSError)  # what a damaged file of Arrow or Parquet may raise
TEXT = (  # types of columns that may hold text; Impala, Hive and old Spark write it as binary
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null),
)
MOST_OF_STRING, MOST_OF_LIST = 100_000_000, 1_000_000  # Arrow's own limits for metadata of Parquet files


def names_in_parquet(path: Path) -> list[str]:
    """The columns of a Parquet or Arrow file; a field in a structure has dots in its name."""
    kind = "a Parquet"
    try:
        with open(path, "rb") as file:
            start = file.peek(len(ARROW))
            kind = "an Arrow" if start.startswith((ARROW, ARROW_STREAM)) else kind
            if start.startswith(ARROW):
                schema = pa.ipc.open_file(file).schema
            elif start.startswith(ARROW_STREAM):
                schema = pa.ipc.open_stream(file).schema
            else:
                schema = _open_parquet(file).schema_arrow
        return [name for field in schema for name in _nested(field)]
    except ARROW_ERRORS as error:
        raise DataError(f"{path} is not {kind} file that can be read: {first_line(error)}; check it") from error


def _open_parquet(file: BufferedReader) -> "pq.ParquetFile":
    """The file's reader. No list in its metadata can be longer than the file, whatever it says of itself."""
    import pyarrow.parquet as pq

    size = os.fstat(file.fileno()).st_size
    limits = {
        "thrift_string_size_limit": max(1, min(size, MOST_OF_STRING)),
        "thrift_container_size_limit": max(1, min(size, MOST_OF_LIST)),
    }
    return pq.ParquetFile(file, **limits)


def _nested(field: pa.Field) -> list[str]:
    if not pa.types.is_struct(field.type):
        return [field.name]
    return [f"{field.name}.{name}" for inner in field.type for name in _nested(inner)]


def read_parquet(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """The pairs of a Parquet or Arrow file."""
    with open(path, "rb") as handle:
        if handle.read(len(ARROW)).startswith((ARROW, ARROW_STREAM)):
            yield from _read_arrow(path, src, tgt)
            return
    try:
        with path.open("rb") as handle, _open_parquet(handle) as file:  # the name of an open file need not be UTF-8
            names = file.schema_arrow.names
            tops = {name if name in names else name.split(".")[0] for name in (str(src), str(tgt))}
            for missing in sorted(tops - set(names)):
                raise DataError(f"column '{missing}' is not in {path}; {nearest(missing, names)}")
            for batch in file.iter_batches(batch_size=4096, columns=sorted(tops)):
                yield from pairs_of(pa.table(batch), src, tgt, str(path))
    except ARROW_ERRORS as error:
        raise DataError(f"{path} is not a Parquet file that can be read: {first_line(error)}; check it") from error


def _read_arrow(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """The pairs of an Arrow file or stream, with one batch in memory at a time.

    Arrow trusts what a file says of its buffers, and would read elsewhere in memory; so every batch is checked first.
    """
    try:
        with pa.OSFile(str(path)) as source:
            is_file = source.read(len(ARROW)) == ARROW
            source.seek(0)
            if is_file:
                file = pa.ipc.open_file(source)
                batches = (file.get_batch(number) for number in range(file.num_record_batches))
            else:
                batches = iter(pa.ipc.open_stream(source))
            for batch in batches:
                batch.validate(full=True)
                yield from pairs_of(pa.table(batch), src, tgt, str(path))
    except ARROW_ERRORS as error:
        raise DataError(f"{path} is not an Arrow file that can be read: {first_line(error)}; check it") from error


def pairs_of(table: pa.Table, src: ColumnKey, tgt: ColumnKey, name: str) -> Iterator[Pair]:
    sides = [_extract(table, str(column), name) for column in (src, tgt)]
    return ((left or "", right or "") for left, right in zip(*sides, strict=True))


def _extract(table: pa.Table, column: str, name: str) -> list[str | None]:
    import pyarrow.compute as pc

    path = [column] if column in table.column_names else column.split(".")
    known = table.column_names
    values = None
    for part in path:
        if part not in known:
            raise DataError(f"column '{column}' is not in {name}; {nearest(part, known)}")
        values = table[part] if values is None else pc.struct_field(values, part)
        known = [field.name for field in values.type] if pa.types.is_struct(values.type) else []
    assert values is not None
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not any(may_be_text(kind) for may_be_text in TEXT):
        raise DataError(f"column '{column}' of {name} holds {str(values.type)[:60]}, not text; name another column")
    try:
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return [_decoded(each, f"column '{column}' of {name}") for each in values.to_pylist()]
        return list((values if pa.types.is_null(kind) else values.cast(pa.large_string())).to_pylist())
    except UnicodeDecodeError as error:
        raise DataError(f"column '{column}' of {name} is not valid UTF-8; write the file again") from error


def _decoded(content: bytes | None, where: str) -> str | None:
    """The text of a cell of bytes."""
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        likely = likely_encoding(content)
        perhaps = f", perhaps {likely}" if likely else ""
        raise DataError(
            f"{where}: byte {content[error.start]:#04x} of {content[:40]!r} is not valid UTF-8{perhaps}; write the "
            "column as text"
        ) from error
    if "\0" in text:
        raise DataError(f"{where}: {content[:40]!r} has NUL bytes, as UTF-16 has; write the column as text")
    return text


def first_line(error: Exception) -> str:
    """The kind of the error and the first line of its message."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
