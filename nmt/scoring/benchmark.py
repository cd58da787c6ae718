"""The data on which a model is evaluated: sentences, references, gold alignments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.config.sections import DataConfig, Format, SplitConfig, Unit
from nmt.config.verbs import EvaluateCommand
from nmt.data.contents import SPREADSHEETS, format_of_one_side, found_format
from nmt.data.corpus import read_corpus
from nmt.data.formats.pairs import FORMATS
from nmt.data.formats.referenced import ReferencedSegments
from nmt.data.formats.test_sets import read_test_set
from nmt.data.paths import read_sentences, resolve
from nmt.data.readers import FILE_PER_LANGUAGE, find_split
from nmt.data.split import Split
from nmt.data.text import Cleaning, clean
from nmt.errors import ConfigError, DataError, counted
from nmt.machine.home import expanded
from nmt.scoring.aer import Gold, load_gold
from nmt.scoring.test_sets import named_test_set
from nmt.scoring.word_rules import WordRule, word_rule_of

AS_IN_FILES = Cleaning(nfc=False, plain_source=False)
OF_TABLES = ("src_column", "tgt_column", "delimiter", "header", "quotes", "encoding")


@dataclass(frozen=True)
class Benchmark:
    """Sentences and their reference translations, one list per reference; an empty line is not a reference."""

    name: str
    sources: list[str]
    references: list[list[str]]
    word_rule: WordRule
    notes: tuple[str, ...] = ()  # about its files: what was detected, and what was left out


@dataclass(frozen=True)
class GoldAlignments:
    """The gold links between sources and reference, and the units that the links count."""

    links: list[Gold]
    unit: Unit
    file: str


def read_benchmark(config: EvaluateCommand, data: DataConfig) -> Benchmark:
    """The test set: files, a set that sacreBLEU knows by name, or a split of the model's or a typed corpus."""
    typed = next((key for key in config.changes.values if key.startswith(f"data.{config.split}.")), None)
    for key, value in (("src", config.src), ("test_set", config.test_set)):
        if value is not None and typed is not None:
            raise ConfigError(f"{key}={value} and {typed} are both given; leave one of them out")
    if config.src is not None:
        return from_files(config.src, config.ref, data)
    if config.test_set is not None:
        if data.src_lang is None or data.tgt_lang is None:
            raise ConfigError(
                f"the model's corpus does not say its languages, test_set={config.test_set}; "
                "type them, for example data.src_lang=en data.tgt_lang=de"
            )
        sources, references = named_test_set(config.test_set, data.src_lang, data.tgt_lang)
        return Benchmark(config.test_set, sources, references, rule_of(data, references))
    name = config.split if typed is None else _name_of(getattr(data, config.split))
    return from_corpus(config.split, data, expanded(config.cache_dir), name)


def _name_of(files: SplitConfig) -> str:
    """The name of the first file of a split, without what a folder's name should not have."""
    given = files.files or files.src or files.tgt or ""
    return re.sub(r"[^\w.-]+", "_", Path(given if isinstance(given, str) else given[0]).name)


def read_alignments(config: EvaluateCommand, data: DataConfig, benchmark: Benchmark) -> GoldAlignments | None:
    """Gold alignments from the file in `gold`, or from the corpus for its test split; None if there are no such."""
    own = config.src is None and config.test_set is None and config.split == "test"
    if config.gold is not None:
        path = expanded(config.gold)
        unit: Unit = config.gold_units or (data.gold_units if own else "words")
    elif own and data.gold is not None:
        path, unit = resolve(data.gold, data.root), data.gold_units
    else:
        return None
    if len(benchmark.references) > 1:
        raise ConfigError(
            f"gold alignments are of one translation, and there are {len(benchmark.references)} references, "
            f"gold={path}; give one ref"
        )
    links = load_gold(path, config.gold_reverse, benchmark.sources, benchmark.references[0], unit)
    return GoldAlignments(links, unit, str(path))


def with_references(benchmark: Benchmark, gold: GoldAlignments | None) -> tuple[Benchmark, GoldAlignments | None]:
    """Only the sentences that have a reference, and their gold alignments."""
    rows = referenced(benchmark.references)
    sources = [benchmark.sources[row] for row in rows]
    references = [[reference[row] for row in rows] for reference in benchmark.references]
    kept = None if gold is None else replace(gold, links=[gold.links[row] for row in rows])
    return replace(benchmark, sources=sources, references=references), kept


def referenced(references: Sequence[Sequence[str]]) -> list[int]:
    """The numbers, from 0, of the sentences that have a reference."""
    return [row for row, lines in enumerate(zip(*references, strict=True)) if any(map(str.strip, lines))]


def from_corpus(split: str, data: DataConfig, cache_dir: Path, name: str) -> Benchmark:
    """A split of a corpus, called `name`; if the split has files of its own, no other files are read."""
    if split != "train" and (found := find_split(data, split, cache_dir)) is not None:
        return of_split(name, found, data, Cleaning.of(data))
    if split != "train" and data.train.src is None and data.train.tgt is None and data.train.files is None:
        raise ConfigError(
            f"data.{split} is not given, split={split}; set data.{split}.files, or .src and .tgt, or another split="
        )
    table = getattr(read_corpus(data, cache_dir), split)
    if not len(table):
        raise DataError(f"the corpus has no pairs in its {split} split, split={split}; give src=FILE ref=FILE")
    references = [list(table["tgt"])]
    return Benchmark(name, list(table["src"]), references, rule_of(data, references))


def of_split(name: str, split: Split, data: DataConfig, cleaning: Cleaning) -> Benchmark:
    """All pairs of a split, with every reference that its files have."""
    segments = split.references or ((src, {"": tgt}) for src, tgt in split.pairs())
    rows = [
        (cleaning.source(src), {key: cleaning.target(text) for key, text in references.items()})
        for src, references in segments
    ]
    if not rows:
        raise DataError(f"{name} holds no sentence pair; check its files")
    keys = dict.fromkeys(key for _, references in rows for key in references)
    references = [[each.get(key, "") for _, each in rows] for key in keys]
    notes = (*split.notes, *map(str, split.tallies))
    return Benchmark(name, [src for src, _ in rows], references, rule_of(data, references), notes)


def from_files(src: str, ref: str | list[str] | None, data: DataConfig) -> Benchmark:
    """A test set in files: text (line N of every reference translates line N of the source) or another format."""
    path = existing(src, "src")
    is_file = path.is_file()  # a pipe can be read only once
    if ref is None:
        return of_split(path.name, _with_both(path, found_format(path) if is_file else "text", data), data, AS_IN_FILES)
    kind = format_of_one_side(path) if is_file else "text"
    names = [ref] if isinstance(ref, str) else ref
    if not names:
        raise ConfigError("ref is an empty list; name a file with reference translations")
    if kind == "sgm":
        references = [existing(name, "ref") for name in names]
        segments = ReferencedSegments([path], lambda: read_test_set(path, references, data))
        split = Split([], segments.pairs, tallies=(segments.tally,), references=segments)
        return of_split(path.name, split, data, AS_IN_FILES)
    if kind in FORMATS and kind in FILE_PER_LANGUAGE:
        return of_split(path.name, _of_two_files(path, names, kind, data), data, AS_IN_FILES)
    return _from_texts(src, names, data)


def _with_both(path: Path, kind: Format, data: DataConfig) -> Split:
    """The split in a file that also holds the references; its columns and the like are detected."""
    if kind in FILE_PER_LANGUAGE:
        raise ConfigError(
            f"ref is not given, and src={path} holds no references (WMT XML, TMX, XLIFF, PO, glossaries and tables do);"
            " give src=FILE ref=FILE"
        )
    if data.format == "glossary" and kind in SPREADSHEETS:
        kind = "glossary"
    changes: dict[str, Any] = {"format": kind, "root": None, **dict.fromkeys(OF_TABLES)}
    split = find_split(replace(data, test=SplitConfig(None, None, str(path)), **changes), "test", Path())
    assert split is not None
    return split


def _of_two_files(path: Path, names: list[str], kind: Format, data: DataConfig) -> Split:
    """The segments of a file whose translation is another file, not the same lines of it."""
    if len(names) > 1:
        raise ConfigError(
            f"ref names {len(names)} files, and src={path} is read with data={kind}, which pairs two; give one ref"
        )
    files = SplitConfig(str(path.absolute()), str(existing(names[0], "ref").absolute()), None)
    split = find_split(replace(data, test=files, format=kind, root=None), "test", Path())
    assert split is not None
    return split


def _from_texts(src: str, names: list[str], data: DataConfig) -> Benchmark:
    sources = text_lines(src, "src")
    references = [text_lines(name, "ref") for name in names]
    for name, lines in zip(names, references, strict=True):
        if len(lines) != len(sources):
            raise DataError(
                f"{src} has {counted(len(sources), 'line')}, {name} has {len(lines):,}; line N of one must translate "
                "line N of the other"
            )
    if not sources:
        raise DataError(f"{src} is empty, src={src}; give a file with sentences")
    return Benchmark(Path(src).name, sources, references, rule_of(data, references))


def rule_of(data: DataConfig, references: list[list[str]]) -> WordRule:
    """What BLEU counts as a word in all references."""
    return word_rule_of(data, chain.from_iterable(references))


def text_lines(name: str, key: str) -> list[str]:
    """All lines of a text file; inside a line, a character that other programs take for a line break is a space."""
    return [clean(line, nfc=False) for line in read_sentences(existing(name, key))]


def existing(name: str, key: str) -> Path:
    """The path of a file or pipe; refuses a path that does not exist."""
    path = expanded(name)
    if not path.exists():
        remedy = (
            "patterns are not expanded here; name the files, several in a list" if "*" in name else "check the path"
        )
        raise DataError(f"no file {name}, {key}={name}; {remedy}")
    return path
