"""Reads sentence pairs one at a time from text files, tables, files of segments or a dataset of the hub."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from math import inf
from pathlib import Path
from typing import Any

from nmt.config.sections import DataConfig, Format, Paths, SplitConfig
from nmt.data.arrow_files import ColumnKey, first_line, names_in_parquet, pairs_of, read_parquet
from nmt.data.contents import SPREADSHEETS, format_of_one_side, found_format, paired_texts
from nmt.data.csv_files import find_form, find_named, read_pairs, refuse_one_column
from nmt.data.formats import apart
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.pairs import FORMATS, SegmentPairs
from nmt.data.formats.referenced import Referenced, ReferencedSegments
from nmt.data.formats.tally import Tally
from nmt.data.formats.test_sets import read_test_set
from nmt.data.formats.wmt_xml import read_wmt_xml
from nmt.data.json_files import names_in_json, read_json
from nmt.data.named_tables import NamedTable
from nmt.data.pairing import described_pairs
from nmt.data.paths import find_files, read_sentences
from nmt.data.split import Pair, Split, joined
from nmt.data.tatoeba_files import TatoebaPairs
from nmt.data.xlsx_files import find_sheet, read_sheet
from nmt.data.zip_files import described, find_entries
from nmt.errors import ConfigError, DataError, counted, printable
from nmt.machine.digests import digest, file_digest
from nmt.machine.home import expanded

TextFile = tuple[Path, str | None]  # a file, and the name in it if it is a zip
FEWEST_ALIKE = 5  # fewer lines may be the same on both sides by chance: "OK" is "OK" in many languages
FILE_PER_LANGUAGE = ("text", "sgm", "strings", "subtitles")  # formats with a file for each language
BOTH_SIDES = "name the file of each language, or data=tsv data.train.files=FILE for one with both"


def find_split(data: DataConfig, name: str, cache_dir: Path) -> Split | None:
    """The split `name` (train, dev or test) of a corpus; None if the configuration does not give it."""
    split: SplitConfig = getattr(data, name)
    if split.weights is None:
        return _find(data, split, name, cache_dir)
    parts = [_find(data, part, name, cache_dir) for part in _weighted(split, name)]
    return joined([part for part in parts if part is not None])


def _weighted(split: SplitConfig, name: str) -> list[SplitConfig]:
    """One split for each weight: weight N gets item N of each list of files or globs."""
    weights = split.weights or []
    keys = {key: getattr(split, key) for key in ("src", "tgt", "files") if getattr(split, key) is not None}
    if name != "train":
        raise ConfigError(f"data.{name}.weights={weights} is for the training split; leave it out")
    for key, paths in keys.items():
        if isinstance(paths, str):
            raise ConfigError(f"data.train.weights={weights} weighs a list of files; set data.train.{key}=[{paths}]")
        if len(paths) != len(weights):
            raise ConfigError(
                f"data.train.weights={weights} has {counted(len(weights), 'weight')}, data.train.{key} names "
                f"{len(paths):,}; give lists with one weight for each file or glob"
            )
    if not all(0 < weight < inf for weight in weights):
        raise ConfigError(f"data.train.weights={weights} has a weight that is not above 0; leave its file out, too")
    if not keys:
        raise ConfigError(f"data.train.weights={weights} weighs no files; set data.train.files, or .src and .tgt")
    return [
        replace(split, weights=None, **{key: paths[number] for key, paths in keys.items()})
        for number in range(len(weights))
    ]


def _find(data: DataConfig, split: SplitConfig, name: str, cache_dir: Path) -> Split | None:
    """Like `find_split`, but ignores weights."""
    if data.format in FILE_PER_LANGUAGE or (data.format == "auto" and split.files is None):
        return _find_two_sides(data, split, name)
    for side in ("src", "tgt"):
        if getattr(split, side) is not None:
            raise ConfigError(
                f"data.{name}.{side}={getattr(split, side)} is for files of one language, but data.format="
                f"{data.format}; set data.{name}.files"
            )
    if split.files is None:
        return None
    if data.format in ("auto", "glossary"):
        return _find_any(data, split.files, name, cache_dir)
    if data.format == "moses_zip":
        return _find_zips(data, find_files(split.files, data.root, f"data.{name}.files"), name)
    if data.format == "tatoeba":
        return _find_tatoeba(data, find_files(split.files, data.root, f"data.{name}.files"))
    if data.format == "wmt_xml":
        return _find_wmt_xml(data, find_files(split.files, data.root, f"data.{name}.files"))
    if data.format in FORMATS:
        files = find_files(split.files, data.root, f"data.{name}.files")
        return _find_segments(data, [(path,) for path in files], name)
    if data.format in SPREADSHEETS:
        return _find_rows(data, find_files(split.files, data.root, f"data.{name}.files"), name)
    if data.format == "hub":
        src, tgt = (_column(data, key) for key in ("src_column", "tgt_column"))
        return _find_hub(data, split.files, src, tgt, cache_dir)
    return _find_table(data, find_files(split.files, data.root, f"data.{name}.files"), name)


def _find_table(data: DataConfig, files: list[Path], name: str) -> Split:
    """Files with named columns; if the configuration names none, the column names of the first file decide."""
    read, names_in = TABLES[data.format]
    notes: list[str] = []
    if data.src_column is None and data.tgt_column is None:
        src, tgt = find_named(names_in(files[0]), files[0], data)
        data = replace(data, src_column=src, tgt_column=tgt)
        notes = [f"{name}: {files[0].name}: source is column '{src}', target '{tgt}'"]
    columns = _column(data, "src_column"), _column(data, "tgt_column")
    refuse_one_column(columns[0], columns[1], files[0])
    content = [*map(file_digest, files), *map(str, columns)]
    tables = [NamedTable(path, read, columns, names_in(path), data) for path in files]
    if not any(table.rules.leave_out for table in tables):
        return Split(content, lambda: (pair for table in tables for pair in table.pairs()), tuple(notes))
    tally = Tally(printable(files[0].name) if len(files) == 1 else f"{len(files):,} files", "row")

    def pairs() -> Iterator[Pair]:
        tally.reset()
        for table in tables:
            yield from table.pairs(tally)

    notes += _notes(name, files, [table.described() for table in tables])
    return Split([*content, *(repr(table.rules) for table in tables), tally.name], pairs, tuple(notes), (tally,))


def _find_any(data: DataConfig, paths: Paths, name: str, cache_dir: Path) -> Split:
    """Files of any format, grouped by format; text files are paired by the languages in their names.

    With data=glossary, tables are glossaries, and so is text, which may be a table without a name that says so.
    """
    formats: dict[Format, list[Path]] = {}
    for path in find_files(paths, data.root, f"data.{name}.files"):
        found = found_format(path)
        in_glossary = data.format == "glossary" and found in (*SPREADSHEETS, "text")
        formats.setdefault("glossary" if in_glossary else found, []).append(path)
    splits = []
    for found, files in formats.items():
        if found in FILE_PER_LANGUAGE:
            pairs = paired_texts(files, data, f"data.{name}")
            splits.append(_texts(replace(data, format=found), pairs, name, always=True))
            continue
        own = replace(data, format=found)
        if found in FORMATS:
            split = _find_segments(own, [(path,) for path in files], name)
        else:
            names = [str(path.absolute()) for path in files]
            other = _find(own, SplitConfig(None, None, names), name, cache_dir)
            assert other is not None
            split = other
        read_as = f"{name}: {files[0].name}{f' and {len(files) - 1:,} more' if len(files) > 1 else ''}: data={found}"
        splits.append(replace(split, content=[found, *split.content], notes=(read_as, *split.notes)))
    return splits[0] if len(splits) == 1 else joined(splits)


def _find_tatoeba(data: DataConfig, files: list[Path]) -> Split:
    pairs = TatoebaPairs(data, files)
    settings = digest([data.src_lang, data.tgt_lang])
    return Split([settings, *map(file_digest, files)], lambda: iter(pairs), tallies=(pairs.tally,))


def _find_zips(data: DataConfig, files: list[Path], name: str) -> Split:
    found = [(path, find_entries(path, data)) for path in files]
    return Split(
        [part for path, (entries, _) in found for part in (file_digest(path), repr(entries))],
        lambda: chain.from_iterable(
            _read_text((path, src), (path, tgt)) for path, (entries, _) in found for src, tgt in entries
        ),
        _notes(name, files, [described(*entries) for _, entries in found]),
    )


def _find_two_sides(data: DataConfig, split: SplitConfig, name: str) -> Split | None:
    if split.files is not None:
        raise ConfigError(
            f"data.{name}.files={split.files} is for files with both languages, but data.format={data.format};"
            f" set data.{name}.src, .tgt, or add data=auto"
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
    if data.format == "auto":
        found = format_of_one_side(sources[0])
        data = replace(data, format=found if found in FILE_PER_LANGUAGE else "text")
    return _texts(data, list(zip(sources, targets, strict=True)), name)


def _texts(data: DataConfig, files: list[tuple[Path, Path]], name: str, always: bool = False) -> Split:
    """Reads each source file with its target file; notes name both if there are several pairs, or if `always`."""
    for src, tgt in files:
        if src.samefile(tgt):
            raise DataError(f"{src} is given on both sides, data.{name}.src, .tgt; {BOTH_SIDES}")
    notes = tuple(described_pairs(files, name, always))
    if data.format in FORMATS:
        found = _find_segments(data, files, name)
        return replace(found, notes=(*notes, *found.notes))
    content = [file_digest(path) for pair in files for path in pair]
    if data.format == "sgm":
        sources = [src for src, _ in files]
        return _of_test_set(
            data, sources, content, notes,
            lambda: (each for src, tgt in files for each in read_test_set(src, [tgt], data)),
        )  # fmt: skip
    return Split(
        content, lambda: chain.from_iterable(_read_text((src, None), (tgt, None)) for src, tgt in files), notes
    )


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
    return Split([settings, *content], segments.pairs, notes, (segments.tally,), references=segments)


def _find_rows(data: DataConfig, files: list[Path], name: str) -> Split:
    """The pairs of tables; the report counts rows if some may be left out."""
    find, read = (find_sheet, read_sheet) if data.format == "xlsx" else (find_form, read_pairs)
    found: list[tuple[Any, str]] = [find(path, data) for path in files]
    forms = {path: form for path, (form, _) in zip(files, found, strict=True)}
    tally = Tally(printable(files[0].name) if len(files) == 1 else f"{len(files):,} files", "row")

    def pairs() -> Iterator[Pair]:
        tally.reset()
        for path in files:
            yield from read(path, forms[path], tally)

    counts = any(form.rules.leave_out for form in forms.values())
    content = [part for path in files for part in (file_digest(path), repr(forms[path]))]
    notes = _notes(name, files, [said for _, said in found])
    return Split([*content, *([tally.name] if counts else [])], pairs, notes, (tally,) if counts else ())


def _notes(split: str, files: list[Path], said: list[str]) -> tuple[str, ...]:
    """One line for each description but empty ones; it names the first file that it describes and counts the others."""
    named: dict[str, list[str]] = {}
    for path, words in zip(files, said, strict=True):
        named.setdefault(words, []).append(path.name)
    return tuple(
        f"{split}: {names[0]}{f' and {len(names) - 1:,} more' if len(names) > 1 else ''}: {words}"
        for words, names in named.items()
        if words
    )


def _find_segments(data: DataConfig, files: Sequence[tuple[Path, ...]], name: str) -> Split:
    """The pairs of files of segments; each of `files` is a file, or one for each language."""
    pairs = SegmentPairs(data, files)
    settings = digest([data.src_lang, data.tgt_lang, data.inline, pairs.tally.name])  # the name is in the report
    found = [opened.described() for opened in map(pairs.open, files)]
    content = [settings, *(file_digest(path) for paths in files for path in paths), *filter(None, found)]
    notes = _notes(name, [paths[0] for paths in files], found)

    def read() -> Iterator[Pair]:
        return apart.read_apart(data, files, pairs.tally) if apart.pays(files) else iter(pairs)

    return Split(content, read, notes, (pairs.tally,))


def _read_text(src_file: TextFile, tgt_file: TextFile) -> Iterator[Pair]:
    """Pairs line N of one file with line N of the other; refuses files with different counts or with the same text."""
    src, tgt = (str(path) if entry is None else f"{path}, {printable(entry)}" for path, entry in (src_file, tgt_file))
    counts, differ, written = [0, 0], False, False
    for pair in zip_longest(read_sentences(*src_file), read_sentences(*tgt_file)):
        for side, line in enumerate(pair):
            counts[side] += line is not None
        differ |= pair[0] != pair[1]
        written = written or any(line and line.strip() for line in pair)
        if pair[0] is not None and pair[1] is not None:
            yield pair
    if counts[0] != counts[1]:
        raise DataError(
            f"{src} has {counted(counts[0], 'line')} but {tgt} has {counts[1]:,};"
            " line N of one must be the translation of line N of the other"
        )
    if counts[0] and not written:
        raise DataError(f"{src} and {tgt} hold empty lines only; check both files")
    if counts[0] >= FEWEST_ALIKE and not differ:
        raise DataError(f"{src} and {tgt} hold the same text; {BOTH_SIDES}")


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
            cache_dir=str(expanded(cache_dir) / "hub"),
        )
    except Exception as error:  # any error of the network, the hub or its libraries
        raise DataError(
            f"data.hub={data.hub} (configuration {data.hub_config}, split {split}) cannot be read:"
            f" {first_line(error)}; check the id, the configuration, the split and the network"
        ) from error

    def pairs() -> Iterator[Pair]:
        for batch in table.with_format("arrow").iter(4096):
            yield from pairs_of(batch, src, tgt, f"dataset {data.hub}")

    return Split([str(table._fingerprint)], pairs)


def _column(data: DataConfig, key: str) -> ColumnKey:
    column: ColumnKey | None = getattr(data, key)
    if column is None:
        raise ConfigError(f"data.{key} is null; format {data.format} needs the column of that side")
    return column


Reader = tuple[Callable[[Path, ColumnKey, ColumnKey], Iterator[Pair]], Callable[[Path], list[str]]]
TABLES: dict[str, Reader] = {  # for each format, the readers of pairs and of column names
    "jsonl": (read_json, names_in_json),
    "parquet": (read_parquet, names_in_parquet),
}
