"""Reads sentence pairs from text files, tables, files of segments or a dataset of the hub, one at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa

from nmt.config.sections import DataConfig, Paths, SplitConfig
from nmt.data.csv_files import find_form, form_key, read_pairs
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.pairs import FORMATS, SegmentPairs
from nmt.data.formats.referenced import Referenced, ReferencedSegments
from nmt.data.formats.tally import Tally
from nmt.data.formats.test_sets import read_test_set
from nmt.data.formats.wmt_xml import read_wmt_xml
from nmt.data.json_files import read_json
from nmt.data.pairing import described_pairs
from nmt.data.paths import find_files, read_sentences
from nmt.data.xlsx_files import find_sheet, read_sheet
from nmt.errors import ConfigError, DataError, counted, nearest
from nmt.machine.digests import digest, file_digest

Pair = tuple[str, str]
ColumnKey = str | int
ARROW, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how files begin
FEWEST_ALIKE = 5  # lines that are the same on both sides are not so by chance: "OK" is "OK" in many languages
FILE_PER_LANGUAGE = ("text", "sgm")  # formats
BOTH_SIDES = "name the file of each language, or data=tsv data.train.files=FILE for one with both"


@dataclass(frozen=True)
class Split:
    """One split of a corpus, found but not yet read."""

    content: list[str]  # digests of what will be read
    pairs: Callable[[], Iterator[Pair]]
    notes: tuple[str, ...] = ()  # for the report: what was found out about the files
    tally: Tally | None = None  # of files with units that may give no pair
    references: ReferencedSegments | None = None  # of a test set: all there are, by who made them


def find_split(data: DataConfig, name: str, cache_dir: Path) -> Split | None:
    """The split `name` (train, dev or test) of a corpus; None when the configuration does not give it."""
    split: SplitConfig = getattr(data, name)
    if data.format in FILE_PER_LANGUAGE:
        return _find_two_sides(data, split, name)
    for side in ("src", "tgt"):
        if getattr(split, side) is not None:
            raise ConfigError(
                f"data.{name}.{side}={getattr(split, side)} is for files of one language, but data.format="
                f"{data.format}; set data.{name}.files"
            )
    if split.files is None:
        return None
    if data.format == "wmt_xml":
        return _find_wmt_xml(data, find_files(split.files, data.root, f"data.{name}.files"))
    if data.format in FORMATS:
        return _find_segments(data, find_files(split.files, data.root, f"data.{name}.files"))
    if data.format in ("csv", "tsv", "xlsx"):
        find = _find_xlsx if data.format == "xlsx" else _find_csv
        return find(data, find_files(split.files, data.root, f"data.{name}.files"), name)
    src, tgt = (_column(data, key) for key in ("src_column", "tgt_column"))
    if data.format == "hub":
        return _find_hub(data, split.files, src, tgt, cache_dir)
    read = TABLES[data.format]
    files = find_files(split.files, data.root, f"data.{name}.files")
    return Split(
        [file_digest(path) for path in files],
        lambda: (pair for path in files for pair in read(path, src, tgt)),
    )


def _find_two_sides(data: DataConfig, split: SplitConfig, name: str) -> Split | None:
    if split.files is not None:
        raise ConfigError(
            f"data.{name}.files={split.files} is for files with both languages, but data.format={data.format};"
            f" set data.{name}.src, .tgt"
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
    for src, tgt in files:
        if src.samefile(tgt):
            raise DataError(f"{src} is given on both sides, data.{name}.src, .tgt; {BOTH_SIDES}")
    content = [file_digest(path) for pair in files for path in pair]
    notes = tuple(described_pairs(files, name))
    if data.format == "sgm":
        return _of_test_set(
            data,
            sources,
            content,
            notes,
            lambda: (each for src, tgt in files for each in read_test_set(src, [tgt], data)),
        )
    return Split(content, lambda: (pair for src, tgt in files for pair in _read_text(src, tgt)), notes)


def _find_wmt_xml(data: DataConfig, files: list[Path]) -> Split:
    if data.src_lang is not None and data.src_lang == data.tgt_lang:
        raise ConfigError(f"data.src_lang and data.tgt_lang are both {data.src_lang}; set one to another language")
    src, tgt = (code and WantedLanguage(code) for code in (data.src_lang, data.tgt_lang))
    content = [file_digest(path) for path in files]
    return _of_test_set(
        data,
        files,
        content,
        (),
        lambda: (each for path in files for each in read_wmt_xml(path, src or None, tgt or None)),
    )


def _of_test_set(
    data: DataConfig,
    files: list[Path],
    content: list[str],
    notes: tuple[str, ...],
    read: Callable[[], Iterator[Referenced]],
) -> Split:
    segments = ReferencedSegments(files, read)
    settings = digest([data.src_lang, data.tgt_lang, segments.tally.name])  # the name is in the report
    return Split([settings, *content], segments.pairs, notes, segments.tally, segments)


def _find_csv(data: DataConfig, files: list[Path], name: str) -> Split:
    found = [find_form(path, data) for path in files]
    forms = {path: form for path, (form, _) in zip(files, found, strict=True)}
    return Split(
        [part for path in files for part in (file_digest(path), form_key(forms[path]))],
        lambda: (pair for path in files for pair in read_pairs(path, forms[path])),
        _notes(name, files, [said for _, said in found]),
    )


def _find_xlsx(data: DataConfig, files: list[Path], name: str) -> Split:
    found = [find_sheet(path, data) for path in files]
    sheets = {path: (columns, header) for path, (columns, header, _) in zip(files, found, strict=True)}
    return Split(
        [part for path in files for part in (file_digest(path), repr(sheets[path]))],
        lambda: (pair for path in files for pair in read_sheet(path, *sheets[path])),
        _notes(name, files, [said for _, _, said in found]),
    )


def _notes(split: str, files: list[Path], said: list[str]) -> tuple[str, ...]:
    """One line for each description, which names the first file that it applies to and counts the others."""
    named: dict[str, list[str]] = {}
    for path, words in zip(files, said, strict=True):
        named.setdefault(words, []).append(path.name)
    return tuple(
        f"{split}: {names[0]}{f' and {len(names) - 1:,} more' if len(names) > 1 else ''}: {words}"
        for words, names in named.items()
    )


def _find_segments(data: DataConfig, files: list[Path]) -> Split:
    pairs = SegmentPairs(data, files)
    settings = digest([data.src_lang, data.tgt_lang, data.inline, pairs.tally.name])  # the name is in the report
    return Split([settings, *map(file_digest, files)], lambda: iter(pairs), tally=pairs.tally)


def _read_text(src: Path, tgt: Path) -> Iterator[Pair]:
    counts, differ = [0, 0], False
    for pair in zip_longest(read_sentences(src), read_sentences(tgt)):
        for side, line in enumerate(pair):
            counts[side] += line is not None
        differ |= pair[0] != pair[1]
        if pair[0] is not None and pair[1] is not None:
            yield pair
    if counts[0] != counts[1]:
        raise DataError(
            f"{src} has {counted(counts[0], 'line')} but {tgt} has {counts[1]:,};"
            " line N of one must be the translation of line N of the other"
        )
    if counts[0] >= FEWEST_ALIKE and not differ:
        raise DataError(f"{src} and {tgt} hold the same text; {BOTH_SIDES}")


def _read_parquet(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """A Parquet file, or one of Arrow."""
    import pyarrow.parquet as pq

    with open(path, "rb") as handle:
        if handle.read(len(ARROW)).startswith((ARROW, ARROW_STREAM)):
            yield from _read_arrow(path, src, tgt)
            return
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


def _read_arrow(path: Path, src: ColumnKey, tgt: ColumnKey) -> Iterator[Pair]:
    """A file or a stream of Arrow, one batch in memory at a time."""
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
                yield from _pairs_of(pa.table(batch), src, tgt, str(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not an Arrow file that can be read: {_first_line(error)}; check it") from error


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
    "jsonl": read_json,
    "parquet": _read_parquet,
}
