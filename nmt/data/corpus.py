"""Sentence pairs, cleaned, filtered and split into train, dev and test, in memory-mapped Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt.config.sections import SPLITS, DataConfig
from nmt.data.cache import cached
from nmt.data.filters import HASH, Sieve, Sifted, cache_key, hashes_of
from nmt.data.parallel import LengthAgreement
from nmt.data.paths import read_lines, resolve
from nmt.data.readers import FILE_PER_LANGUAGE, find_split
from nmt.data.split import Block, Pair, Split, blocks
from nmt.data.suspicions import VERSION as SUSPICIONS_VERSION
from nmt.data.suspicions import suspicions
from nmt.data.tables import BATCH_ROWS, TableWriter, load_table, read_batches
from nmt.data.text import Cleaning, is_visible
from nmt.errors import ConfigError, DataError, counted
from nmt.machine.digests import digest

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["Corpus", "load_table", "read_batches", "read_corpus", "read_lines", "resolve"]

CORPUS_VERSION = 6  # version of the cached tables; raise it whenever their content changes
REPORT_VERSION = 4  # version of their report
CORPUS_SCHEMA = pa.schema([("src", pa.string()), ("tgt", pa.string()), ("index", pa.int64())])
FEW_SOURCES = 1000  # different ones; with fewer, a corpus that repeats them gets a caution
MANY_EMPTY = 0.1  # share of training sources, or of targets, above which they get a caution
MOSTLY = 0.5  # share of dev or test sources in the training split that makes its scores worthless
SMALLEST_CUT = 10  # training pairs, of which one may be cut off
REPORT_FILE = "report.json"
BATCH_CHARACTERS = 1 << 25


@dataclass(frozen=True)
class Corpus:
    """Three splits with the columns src, tgt (text) and index (number of the pair in the split as read)."""

    folder: Path
    report: list[str]  # lines about pairs read, dropped and cut off
    fingerprint: str  # digest of the content and the settings

    @property
    def mixed(self) -> list[int]:
        """The number of pairs, as read, in each weighted part of the training split."""
        return list(json.loads((self.folder / "mixed.json").read_text("utf-8")))

    @cached_property
    def _ends(self) -> npt.NDArray[np.int64]:
        """Where each weighted part ends, in pairs as read."""
        return np.cumsum(self.mixed)

    def parts_of(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The number of the weighted part that each of these training pairs is in; `index`: their numbers as read."""
        parts: npt.NDArray[np.int64] = np.searchsorted(self._ends, index, side="right")
        return parts

    def path(self, split: str) -> Path:
        """The file of a split; dev and test are empty if they are neither given nor cut off the training split."""
        return self.folder / f"{split}.arrow"

    @property
    def train(self) -> Dataset:
        return load_table(self.path("train"))

    @property
    def dev(self) -> Dataset:
        return load_table(self.path("dev"))

    @property
    def test(self) -> Dataset:
        return load_table(self.path("test"))


def read_corpus(data: DataConfig, cache_dir: Path) -> Corpus:
    """The corpus that a configuration describes; taken from `cache_dir` if content and settings are unchanged."""
    splits = {name: find_split(data, name, cache_dir) for name in SPLITS}
    if splits["train"] is None:
        raise _no_training_split(data)
    settings = {
        "version": CORPUS_VERSION,
        "splits": {name: split and split.content for name, split in splits.items()},
        "filters": cache_key(data),
        **{k: v for k, v in asdict(data).items() if k in ("format", "src_column", "tgt_column", "nfc", "plain_source")},
        **{k: v for k, v in asdict(data).items() if k in ("dev_size", "test_size") and splits[k[:-5]] is None},
    }
    if data.encoding is not None:
        settings["encoding"] = data.encoding
    if data.train.weights is not None:
        sizes = splits["train"].parts
        settings["parts"] = sizes if len(set(sizes)) > 1 else len(sizes)  # even parts: as in earlier caches
    key = digest(settings)
    folder = cached(cache_dir, "corpus", digest([key, REPORT_VERSION]), lambda draft: _build(data, splits, draft))
    notes = [note for split in splits.values() if split is not None for note in split.notes]
    given = [name for name, split in splits.items() if split is not None]
    return Corpus(folder, notes + _lines(folder) + _suspicions(folder, key, given, data, cache_dir), key)


def _lines(folder: Path) -> list[str]:
    """The report in a folder of the cache."""
    return list(json.loads((folder / REPORT_FILE).read_text("utf-8")))


def _suspicions(folder: Path, key: str, given: Sequence[str], data: DataConfig, cache_dir: Path) -> list[str]:
    """Cautions about the content of the splits that were given; they also depend on the languages."""

    def write(draft: Path) -> None:
        tables = {name: folder / f"{name}.arrow" for name in given}
        found = [line for name, table in tables.items() for line in suspicions(name, table, data)]
        (draft / REPORT_FILE).write_text(json.dumps(found, ensure_ascii=False), "utf-8")

    settings = [SUSPICIONS_VERSION, key, data.src_lang, data.tgt_lang]
    return _lines(cached(cache_dir, "suspicions", digest(settings), write))


def training_split(data: DataConfig, cache_dir: Path) -> Split:
    """The training split alone, found but not yet read."""
    split = find_split(data, "train", cache_dir)
    if split is None:
        raise _no_training_split(data)
    return split


def _no_training_split(data: DataConfig) -> ConfigError:
    texts = "data.train.src and data.train.tgt"
    named = {"auto": f"data.train.files, or {texts}", **dict.fromkeys(FILE_PER_LANGUAGE, texts)}
    files = named.get(data.format, "data.train.files")
    return ConfigError(f"the training split is not given, data.format={data.format}; set {files}")


@dataclass(frozen=True)
class _Marks:
    """The data that the cut needs: 8 bytes for each pair."""

    src: npt.NDArray[np.uint64]  # hash of each source
    made_plain: int  # number of sources that were made plain
    empty: tuple[int, int]  # numbers of sources and of targets without a visible character


def _build(data: DataConfig, splits: dict[str, Split | None], folder: Path) -> None:
    marks: dict[str, _Marks] = {}
    report, cautions = [], []
    sieve = Sieve(data)
    for name, split in splits.items():
        if split is not None:
            agreement = LengthAgreement()
            marks[name] = _store(
                split, Cleaning.of(data), folder / f"{name}.arrow", agreement, sieve if name == "train" else None
            )
            cautions += [line for line in [agreement.caution(name)] if line is not None]
            if not len(marks[name].src):
                raise DataError(f"the {name} split holds no sentence pair, data.{name}; check its files")
            report += [f"{name}: {tally}" for tally in split.tallies]
            cautions += _of_empty(name, marks[name])
    sifted = sieve.result()
    keep, dropped = sifted.keep, _dropped(sifted)
    train = marks["train"]
    line = f"train: {counted(len(train.src), 'pair')} read"
    if not keep.any():
        raise DataError(f"no training pair is left: {line}, {dropped}; change data.filters or the files")
    report.append(f"{line}, {dropped}" if dropped else line)
    if train.made_plain:
        report.append(
            f"train: {counted(train.made_plain, 'source')} with typographic or invisible characters, which become "
            "plain ones (data.plain_source)"
        )
    cautions += _of_repeated(train.src[keep])
    missing = [name for name in ("dev", "test") if splits[name] is None]
    home = _cut(train.src, keep, {name: getattr(data, f"{name}_size") for name in missing})
    report += [_cut_line(name, home, data) for name in missing]
    for name in ("dev", "test"):
        if name in marks:
            pairs, shared = len(marks[name].src), int(np.isin(marks[name].src, train.src[home == 0]).sum())
            report.append(_overlap_line(name, pairs, shared))
            cautions += _of_overlap(name, pairs, shared, data)
    _route(folder, home, missing)
    (folder / REPORT_FILE).write_text(json.dumps(report + cautions, ensure_ascii=False), "utf-8")
    if data.train.weights is not None and splits["train"] is not None:
        counts = splits["train"].counts
        if 0 in counts:
            raise DataError(
                f"part {counts.index(0) + 1} of data.train.weights={data.train.weights} holds no sentence pair; check "
                "its files, or leave it out"
            )
        (folder / "mixed.json").write_text(json.dumps(counts), "utf-8")


def _of_repeated(sources: npt.NDArray[np.uint64]) -> Iterator[str]:
    """Says that there are few different sources, given the hashes of all, if most pairs have one that occurs again."""
    different = len(np.unique(sources))
    if different < min(FEW_SOURCES, len(sources) / 2):
        few = counted(different, "different source")
        yield (f"caution: the {counted(len(sources), 'training pair')} have {few} only, which is little to learn from")


def _of_overlap(name: str, pairs: int, shared: int, data: DataConfig) -> Iterator[str]:
    """Says that most of the sources of a dev or test split are trained on."""
    if shared > MOSTLY * pairs:
        cut = getattr(data, f"{name}_size") > 0
        instead = f", or leave data.{name} out: nmt cuts some off the training split" if cut else ""
        yield (
            f"caution: {shared / pairs:.0%} of the {name} sources are trained on, so its scores show only what was "
            f"learned by heart; give other text{instead}"
        )


def _of_empty(name: str, marks: _Marks) -> Iterator[str]:
    """Says how many pairs lack a side; refuses a dev split whose side is always empty.

    Filters drop such pairs from the training split, so a few of them get no caution there.
    """
    pairs = len(marks.src)
    for side, empty in zip(("source", "target"), marks.empty, strict=True):
        if empty == pairs and name == "dev":
            raise DataError(
                f"the {name} split has no text on its {side} side in any of {counted(pairs, 'pair')}, data.{name}; "
                "check its files"
            )
        if empty > (MANY_EMPTY * pairs if name == "train" else 0):
            yield f"caution: {name}: {empty:,} of {counted(pairs, side)} {'is' if empty == 1 else 'are'} empty"


def _store(split: Split, cleaning: Cleaning, path: Path, agreement: LengthAgreement, sieve: Sieve | None) -> _Marks:
    """Cleans, writes and judges the pairs of a split; in memory, only the marks and the sieve grow with the corpus."""
    hashes = bytearray()
    first = made_plain = 0
    empty = [0, 0]
    with TableWriter(path, CORPUS_SCHEMA) as table:
        for typed, targets in batches(split.pairs()):
            sources = list(map(cleaning.source, typed))
            targets = list(map(cleaning.target, targets))
            if cleaning.plain_source:
                made_plain += sum(
                    source != cleaning.target(as_typed)
                    for source, as_typed in zip(sources, typed, strict=True)
                    if not as_typed.isascii()
                )
            hashes += hashes_of(sources)
            for side, texts in enumerate((sources, targets)):
                empty[side] += sum(not is_visible(text) for text in texts)
            if sieve is not None:
                sieve.add(sources, targets)
            agreement.add(sources, targets)
            table.write({"src": sources, "tgt": targets, "index": range(first, first + len(sources))})
            first += len(sources)
    return _Marks(np.frombuffer(hashes, HASH), made_plain, (empty[0], empty[1]))


def batches(pairs: Iterator[Pair]) -> Iterator[Block]:
    """The pairs as a table is written: BATCH_ROWS at a time, or fewer if they have many characters."""
    return blocks(pairs, BATCH_ROWS, BATCH_CHARACTERS)


def _dropped(sifted: Sifted) -> str:
    """The counts of the active filters, for the report."""
    counts = [f"{count:,} {name}" for name, count in sifted.counts.items()]
    return f"dropped: {', '.join(counts)}" if counts else ""


def _cut(src: npt.NDArray[np.uint64], keep: npt.NDArray[np.bool_], sizes: dict[str, int]) -> npt.NDArray[np.int8]:
    """The split of each pair: 0 (train), 1 (dev), 2 (test) or -1 (dropped).

    All pairs with the same source go to the same split. Sources are taken in the order of their hashes, so the choice
    depends on the text alone, and no source of dev or test is trained on.
    """
    home = np.where(keep, 0, -1).astype(np.int8)
    wanted = {name: min(size, int(keep.sum()) // SMALLEST_CUT) for name, size in sizes.items()}
    if not any(wanted.values()):
        return home
    groups, counts = np.unique(src[keep], return_counts=True)
    chosen: dict[str, list[int]] = {name: [] for name in wanted}
    for group, count in zip(groups, counts, strict=True):
        room = next((name for name, left in wanted.items() if left >= count), None)
        if room is not None:
            chosen[room].append(group)
            wanted[room] -= int(count)
        elif not any(wanted.values()):
            break
    for name, hashes in chosen.items():
        home[keep & np.isin(src, np.array(hashes, np.uint64))] = SPLITS.index(name)
    return home


def _cut_line(name: str, home: npt.NDArray[np.int8], data: DataConfig) -> str:
    count = int((home == SPLITS.index(name)).sum())
    if count:
        return f"{name}: {counted(count, 'pair')} cut off the training split (data.{name} is not given)"
    if getattr(data, f"{name}_size") == 0:
        return f"{name}: none (data.{name} is not given, data.{name}_size=0)"
    why = "too small" if (home >= 0).sum() < SMALLEST_CUT else "of too few different sources"
    return f"{name}: none (data.{name} is not given, the training split is {why} to cut it off)"


def _overlap_line(name: str, pairs: int, shared: int) -> str:
    line = f"{name}: {counted(pairs, 'pair')} read"
    return (
        f"{line}, {shared:,} of their sources {'stands' if shared == 1 else 'stand'} in the training split too"
        if shared
        else line
    )


def _route(folder: Path, home: npt.NDArray[np.int8], missing: list[str]) -> None:
    """Moves each pair that was read as training data to the file of the split that it belongs to."""
    read = folder / "read.arrow"
    (folder / "train.arrow").rename(read)
    for name in ["train", *missing]:
        with TableWriter(folder / f"{name}.arrow", CORPUS_SCHEMA) as writer:
            first = 0
            for batch in read_batches(read):
                rows = pa.array(home[first : first + batch.num_rows] == SPLITS.index(name))
                chosen = batch.filter(rows)
                if chosen.num_rows:
                    writer.write({column: chosen[column] for column in CORPUS_SCHEMA.names})
                first += batch.num_rows
    read.unlink()
