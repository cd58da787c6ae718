"""What a model is evaluated on: sentences, references, gold alignments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from nmt.config.sections import DataConfig, Unit
from nmt.config.verbs import EvaluateCommand
from nmt.data.corpus import read_corpus
from nmt.data.paths import read_sentences, resolve
from nmt.data.text import clean
from nmt.errors import ConfigError, DataError, counted
from nmt.scoring.aer import Gold, load_gold
from nmt.scoring.test_sets import named_test_set
from nmt.scoring.word_rules import WordRule, word_rule_of


@dataclass(frozen=True)
class Benchmark:
    """Sentences and their reference translations, one list per reference; an empty line is no reference."""

    name: str
    sources: list[str]
    references: list[list[str]]
    word_rule: WordRule


@dataclass(frozen=True)
class GoldAlignments:
    """The gold links between sources and reference, and what they count."""

    links: list[Gold]
    unit: Unit
    file: str


def read_benchmark(config: EvaluateCommand, data: DataConfig) -> Benchmark:
    """What is evaluated on: files, a set that sacreBLEU knows by name, or a split of the model's own corpus."""
    if config.src is not None and config.ref is not None:
        return from_files(config.src, config.ref, data)
    if config.test_set is not None:
        if data.src_lang is None or data.tgt_lang is None:
            raise ConfigError(
                f"the model's corpus does not say its languages, test_set={config.test_set}; "
                "type them, for example data.src_lang=en data.tgt_lang=de"
            )
        sources, references = named_test_set(config.test_set, data.src_lang, data.tgt_lang)
        return Benchmark(config.test_set, sources, references, rule_of(data, references))
    return from_corpus(config.split, data, Path(config.cache_dir).expanduser())


def read_alignments(config: EvaluateCommand, data: DataConfig, benchmark: Benchmark) -> GoldAlignments | None:
    """Gold alignments of the file named, else those of the corpus for its test split; None where there are none."""
    own = config.src is None and config.test_set is None and config.split == "test"
    if config.gold is not None:
        path = Path(config.gold).expanduser()
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
    """The sentences that have a reference, and their gold alignments."""
    rows = referenced(benchmark.references)
    sources = [benchmark.sources[row] for row in rows]
    references = [[reference[row] for row in rows] for reference in benchmark.references]
    kept = None if gold is None else replace(gold, links=[gold.links[row] for row in rows])
    return replace(benchmark, sources=sources, references=references), kept


def referenced(references: Sequence[Sequence[str]]) -> list[int]:
    """The numbers, from 0, of the sentences that have a reference."""
    return [row for row, lines in enumerate(zip(*references, strict=True)) if any(map(str.strip, lines))]


def from_corpus(split: str, data: DataConfig, cache_dir: Path) -> Benchmark:
    """A split of a corpus."""
    table = getattr(read_corpus(data, cache_dir), split)
    if not len(table):
        raise DataError(f"the corpus has no pairs in its {split} split, split={split}; give src=FILE ref=FILE")
    references = [list(table["tgt"])]
    return Benchmark(split, list(table["src"]), references, rule_of(data, references))


def from_files(src: str, ref: str | list[str], data: DataConfig) -> Benchmark:
    """A test set in text files; every reference has as many lines as the source."""
    sources = text_lines(src, "src")
    names = [ref] if isinstance(ref, str) else ref
    if not names:
        raise ConfigError("ref is an empty list; name a file with reference translations")
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
    """What BLEU counts as a word in all of them."""
    return word_rule_of(data, chain.from_iterable(references))


def text_lines(name: str, key: str) -> list[str]:
    """All lines of a text file; what other programs take for a line break inside of one is a space."""
    path = Path(name).expanduser()
    if not path.exists():
        raise DataError(f"no file {name}, {key}={name}; check the path")
    return [clean(line, nfc=False) for line in read_sentences(path)]
