"""Sentence pairs as they stand in text files, TSV, JSONL, CSV, Parquet or a hub dataset, one at a time."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa

from nmt.config.sections import DataConfig, Paths, SplitConfig
from nmt.data.paths import find_files, read_lines
from nmt.errors import ConfigError, DataError, counted, nearest
from nmt.machine.digests import file_digest

Pair = tuple[str, str]
ColumnKey = str | int


@dataclass(frozen=True)
class Split:
    """One split of a corpus, found but not yet read."""

    content: list[str]  # digests of what will be read
    pairs: Callable[[], Iterator[Pair]]


def find_split(data: DataConfig, name: str, cache_dir: Path) -> Split | None:
    """The split `name` (train, dev or test) of a corpus; None when the configuration does not give it."""
    split: SplitConfig = getattr(data, name)
    if data.format == "text":
        return _find_text(data, split, name)
    for side in ("src", "tgt"):
        if getattr(split, side) is not None:
            raise ConfigError(
                f"data.{name}.{side}={getattr(split, side)} is for data.format=text, but the format is"
                f" {data.format}; set data.{name}.files"
            )
    if split.files is None:
        return None
    src, tgt = (_column(data, key) for key in ("src_column", "tgt_column"))
    if data.format == "hub":
        return _find_hub(data, split.files, src, tgt, cache_dir)
    read = TABLES[data.format]
    files = find_files(split.files, data.root, f"data.{name}.files")
    return Split(
        [file_digest(path) for path in files],
        lambda: (pair for path in files for pair in read(path, src, tgt)),
    )


def _find_text(data: DataConfig, split: SplitConfig, name: str) -> Split | None:
    if split.files is not None:
        raise ConfigError(
            f"data.{name}.files={split.files} is for tables, but data.format=text; set data.{name}.src, .tgt"
        )
    if split.src is None and split.tgt is None:
        return None
    for side in ("src", "tgt"):
        if getattr(split, side) is None:
            raise ConfigError(f"data.{name}.{side} is null but the other side is given; set both or none")
    sources = find_files(split.src, data.root, f"data.{name}.src")
    targets = find_files(split.tgt, data.root, f"data.{name}.tgt")
    if len(sources) != len(targets):
        raise DataError(
            f"data.{name}.src names {counted(len(sources), 'file')} but data.{name}.tgt {len(targets)};"
            " file N of one must be the translation of file N of the other"
        )
    files = list(zip(sources, targets, strict=True))
    return Split(
        [file_digest(path) for pair in files for path in pair],
        lambda: (pair for src, tgt in files for pair in _read_text(src, tgt)),
    )


def _read_text(src: Path, tgt: Path) -> Iterator[Pair]:
    counts = [0, 0]
    for pair in zip_longest(read_lines(src), read_lines(tgt)):
        for side, line in enumerate(pair):
            counts[side] += line is not None
        if pair[0] is not None and pair[1] is not None:
            yield pair
    if counts[0] != counts[1]:
        raise DataError(
            f"{src} has {counted(counts[0], 'line')} but {tgt} has {counts[1]:,};"
            " line N of one must be the translation of line N of the other"
        )


def _read_tsv(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    if not (isinstance(src, int) and isinstance(tgt, int) and src >= 0 and tgt >= 0):
        raise ConfigError(f"data.src_column={src}, data.tgt_column={tgt}: columns of TSV are numbers from 0; set both")
    width = None
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        width = width or len(cells)
        if len(cells) != width or width <= max(src, tgt):
            wanted = f"line 1 has {width}" if len(cells) != width else f"column {max(src, tgt)} is asked for"
            raise DataError(f"{path}, line {number}: {_columns(len(cells))}, but {wanted}; correct the file")
        yield cells[src], cells[tgt]


def _read_csv(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """The first row names the columns; a quoted field may hold line breaks; blank rows are no pairs."""
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader((line.replace("\r", " ") + "\n" for line in read_lines(path)), strict=True)
    try:
        header = next(rows, [])
        at = [_choose_column(header, column, str(path)) for column in (src, tgt)]
        for row in rows:
            if len(row) not in (0, len(header)):
                raise DataError(
                    f"{path}, line {rows.line_num}: {_columns(len(row))}, but the header has {len(header)};"
                    " correct the file"
                )
            if row:
                yield row[at[0]], row[at[1]]
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: not valid CSV ({error}); correct the quotes") from error


def _choose_column(header: list[str], column: ColumnKey, name: str) -> int:
    if column not in header:
        raise DataError(f"column '{column}' is not in {name}; {nearest(str(column), header)}")
    return header.index(str(column))


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"


def _read_jsonl(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """One object a line; blank lines are no pairs; null is an empty sentence."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not valid JSON ({error}); put one object on each line") from error
        yield _dig(row, str(src), where), _dig(row, str(tgt), where)


def _dig(row: object, column: str, where: str) -> str:
    found, path = row, [column] if isinstance(row, dict) and column in row else column.split(".")
    for part in path:
        if not isinstance(found, dict) or part not in found:
            names = map(str, found) if isinstance(found, dict) else []
            raise DataError(f"{where}: no column '{column}'; {nearest(part, names)}")
        found = found[part]
    if found is not None and not isinstance(found, str):
        raise DataError(f"{where}: column '{column}' is {json.dumps(found)[:40]}, not text; correct the file")
    return found or ""


def _read_parquet(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as handle, pq.ParquetFile(handle) as file:  # whose name need not be UTF-8
            names = file.schema_arrow.names
            tops = {name if name in names else name.split(".")[0] for name in (str(src), str(tgt))}
            for missing in sorted(tops - set(names)):
                raise DataError(f"column '{missing}' is not in {path}; {nearest(missing, names)}")
            for batch in file.iter_batches(batch_size=4096, columns=sorted(tops)):
                yield from _pairs_of(pa.table(batch), src, tgt, str(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a Parquet file that can be read: {_first_line(error)}; check it") from error


def _pairs_of(table: pa.Table, src: ColumnKey, tgt: ColumnKey, name: str) -> Iterator[Pair]:
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
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_null(values.type)):
        raise DataError(f"column '{column}' of {name} holds {str(values.type)[:60]}, not text; name another column")
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError as error:
        raise DataError(f"column '{column}' of {name} is not valid UTF-8; write the file again") from error


def _find_hub(data: DataConfig, files: Paths, src: ColumnKey, tgt: ColumnKey, cache_dir: Path) -> Split:
    if data.hub is None:
        raise ConfigError("data.hub is null; set it to the id of a dataset on the Hugging Face hub")
    split = files if isinstance(files, str) else "+".join(files or [])
    import datasets

    datasets.disable_progress_bars()
    try:
        table = datasets.load_dataset(
            data.hub,
            data.hub_config,
            split=split,
            revision=data.hub_revision,
            cache_dir=str(cache_dir.expanduser() / "hub"),
        )
    except Exception as error:  # whatever the network, the hub or its libraries raise
        raise DataError(
            f"data.hub={data.hub} (configuration {data.hub_config}, split {split}) cannot be read:"
            f" {_first_line(error)}; check the id, the configuration, the split and the network"
        ) from error

    def pairs() -> Iterator[Pair]:
        for batch in table.with_format("arrow").iter(4096):
            yield from _pairs_of(batch, src, tgt, f"dataset {data.hub}")

    return Split([str(table._fingerprint)], pairs)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"


def _column(data: DataConfig, key: str) -> ColumnKey:
    column: ColumnKey | None = getattr(data, key)
    if column is None:
        raise ConfigError(f"data.{key} is null; format {data.format} needs the column of that side")
    return column


TABLES: dict[str, Callable[[Path, ColumnKey, ColumnKey], Iterator[Pair]]] = {
    "tsv": _read_tsv,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
}
