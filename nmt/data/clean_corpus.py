"""Writes the training split without the pairs that filters and scores drop, and keeps samples of the dropped pairs.

The result is two text files. Until then the text is in a table on disk; memory holds some tens of bytes per pair.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt.config.sections import DataConfig
from nmt.data.corpus import batches
from nmt.data.filters import Sieve, Sifted
from nmt.data.parallel import LengthAgreement
from nmt.data.split import Split
from nmt.data.tables import TableWriter, read_batches
from nmt.data.text import Cleaning
from nmt.errors import DataError, counted
from nmt.machine.progress_bar import progress_bar

LOOKED_AT = 10_000  # pairs that the filters leave, in which to look for the training pairs of a scorer
TABLE_SCHEMA = pa.schema([("src", pa.string()), ("tgt", pa.string())])
SHOWN_CHARACTERS = 1000  # characters shown of each side of a sample, at most


@dataclass(frozen=True)
class PairScores:
    """Model scores of each pair; higher is worse.

    a is the cross-entropy of the target given the source, b that of the source given the target, in nats per piece.
    """

    cross_entropy: npt.NDArray[np.float64]  # |a - b| + (a + b) / 2 (Junczys-Dowmunt 2018, eq. 2)
    end: npt.NDArray[np.float64]  # nats of the end of the sentence, in target or source, whichever is higher
    contrast: npt.NDArray[np.float64]  # a / (a given another source), or b / (b given another target) if higher


@dataclass(frozen=True)
class Scoring:
    """The scorer of pairs and the limits of its scores; None turns a limit off. One of the last two is always off."""

    score: Callable[[Sequence[str], Sequence[str]], PairScores]
    cautions: Callable[[Sequence[str], Sequence[str]], Iterable[str]]  # reasons to distrust the scores, of some pairs
    max_end_surprise: float | None
    max_contrast: float | None
    max_cross_entropy: float | None
    drop_worst: float | None  # share of the pairs to drop, the highest cross-entropy first


@dataclass(frozen=True)
class Sample:
    """A pair that was dropped."""

    pair: int  # its number as read, from 1
    src: str
    tgt: str
    score: float | None  # the score that the pair was dropped for; None: a filter dropped it, or it was not scored


@dataclass(frozen=True)
class Dropped:
    """The pairs that one filter or limit has dropped."""

    filter: str  # a key of data.filters, or a limit of Scoring
    pairs: int
    share: float  # of the pairs read
    samples: list[Sample]


@dataclass(frozen=True)
class Cleaned:
    """The result of cleaning a corpus, in numbers of pairs."""

    read: int
    kept: int
    dropped: list[Dropped]
    cautions: list[str]  # if the two sides do not look like translations, and the like


@dataclass(frozen=True)
class Judged:
    """The verdict on every pair of a split."""

    sifted: Sifted
    scores: dict[str, npt.NDArray[np.float32]]  # for each active limit, the score of each pair; inf: not scored
    cautions: list[str]


def clean(
    split: Split,
    data: DataConfig,
    scoring: Scoring | None,
    files: tuple[Path, Path],
    samples: int,
    seed: int,
    say: Callable[[str], None],
) -> Cleaned:
    """Writes the remaining pairs, one a line, to the file of each side; a temporary table is beside these files.

    Each caution goes to `say` as soon as it is known: scoring may take hours.
    """
    table = files[0].with_name("read.arrow")
    judged = judge(split, data, scoring, table, say)
    sifted, count = judged.sifted, len(judged.sifted.dropped_by)
    if not sifted.keep.any():
        counts = ", ".join(f"{pairs:,} {name}" for name, pairs in sifted.counts.items() if pairs)
        by_score = any(sifted.counts.get(name) for name in judged.scores)
        remedy = "loosen data.filters, or take a better scorer or another limit" if by_score else "loosen data.filters"
        raise DataError(f"no pair is left of {counted(count, 'pair')} read, data.train: dropped: {counts}; {remedy}")
    chosen = _chosen(sifted, samples, seed)
    scores = {
        row: float(judged.scores[name][row])
        for name, rows in zip(sifted.names, chosen, strict=True)
        if name in judged.scores
        for row in rows
        if np.isfinite(judged.scores[name][row])
    }
    shown = _write(table, sifted, files, {row for rows in chosen for row in rows})
    table.unlink()
    dropped = [
        Dropped(name, pairs, pairs / count, [Sample(row + 1, *shown[row], scores.get(row)) for row in rows])
        for (name, pairs), rows in zip(sifted.counts.items(), chosen, strict=True)
    ]
    return Cleaned(count, int(sifted.keep.sum()), dropped, judged.cautions)


def judge(split: Split, data: DataConfig, scoring: Scoring | None, table: Path, say: Callable[[str], None]) -> Judged:
    """Cleans the pairs and writes them to a table. Filters judge all pairs, then the scorer judges the pairs left."""
    agreement = LengthAgreement()
    sifted = _store(split, data, table, agreement)
    scores: dict[str, npt.NDArray[np.float32]] = {}
    caution = agreement.caution("train")
    cautions = [] if caution is None else [caution]
    if scoring is not None:
        cautions += [f"caution: {text}" for text in scoring.cautions(*_some_left(table, sifted.keep))]
    for text in cautions:
        say(text)
    if scoring is not None:
        sifted, scores = _scored(sifted, scoring, table)
    return Judged(sifted, scores, cautions)


def _store(split: Split, data: DataConfig, table: Path, agreement: LengthAgreement) -> Sifted:
    """Cleans the pairs, writes them to the table and has the filters judge them."""
    sieve, cleaning = Sieve(data), Cleaning.of(data)
    read = ((cleaning.source(src), cleaning.target(tgt)) for src, tgt in split.pairs())
    count = 0
    with TableWriter(table, TABLE_SCHEMA) as writer:
        for sources, targets in batches(read):
            sieve.add(sources, targets)
            agreement.add(sources, targets)
            writer.write({"src": sources, "tgt": targets})
            count += len(sources)
    if not count:
        raise DataError("the training split has no sentence pair, data.train; check its files")
    return sieve.result()


def _some_left(table: Path, keep: npt.NDArray[np.bool_]) -> tuple[list[str], list[str]]:
    """Source and target sentences of at most LOOKED_AT pairs, from all over the pairs that stay."""
    rows, chosen = np.flatnonzero(keep), np.zeros(len(keep), np.bool_)
    chosen[rows[:: max(1, -(-len(rows) // LOOKED_AT))]] = True
    src: list[str] = []
    tgt: list[str] = []
    for batch, here in _with_rows(table, chosen):
        left = batch.filter(pa.array(here))
        src += left["src"].to_pylist()
        tgt += left["tgt"].to_pylist()
    return src, tgt


def _scored(sifted: Sifted, scoring: Scoring, table: Path) -> tuple[Sifted, dict[str, npt.NDArray[np.float32]]]:
    """Scores the pairs that the filters keep, and drops more by the limits; returns the new verdict and the scores."""
    entropies, ends, contrasts = (np.full(len(sifted.dropped_by), np.inf, np.float32) for _ in range(3))
    begin = 0
    with progress_bar(len(sifted.keep), "pairs") as bar:
        for batch, keep in _with_rows(table, sifted.keep):
            left = batch.filter(pa.array(keep))
            rows = begin + np.flatnonzero(keep)
            if len(rows):
                found = scoring.score(left["src"].to_pylist(), left["tgt"].to_pylist())
                entropies[rows], ends[rows], contrasts[rows] = found.cross_entropy, found.end, found.contrast
            begin += len(keep)
            bar.update(len(keep))
    names, dropped_by = list(sifted.names), sifted.dropped_by.copy()
    limits = {
        "max_end_surprise": ends,
        "max_contrast": contrasts,
        "max_cross_entropy": entropies,
        "drop_worst": entropies,
    }
    limits = {name: scores for name, scores in limits.items() if getattr(scoring, name) is not None}
    for name, scores in limits.items():
        left = np.flatnonzero(dropped_by == 0)
        if name == "drop_worst":
            assert scoring.drop_worst is not None
            bad = np.argsort(-scores[left], kind="stable")[: int(scoring.drop_worst * len(left))]
        else:
            bad = np.flatnonzero(scores[left] > getattr(scoring, name))
        names.append(name)
        dropped_by[left[bad]] = len(names)
    return Sifted(names, dropped_by), limits


def _chosen(sifted: Sifted, samples: int, seed: int) -> list[list[int]]:
    """At most `samples` of the rows that each filter has dropped, chosen at random, in ascending order."""
    chosen = []
    for number in range(1, len(sifted.names) + 1):
        rows = np.flatnonzero(sifted.dropped_by == number)
        drawn = np.random.default_rng([seed, number]).choice(rows, min(samples, len(rows)), replace=False)
        chosen.append(sorted(map(int, drawn)))
    return chosen


def _write(table: Path, sifted: Sifted, files: tuple[Path, Path], shown: set[int]) -> dict[int, tuple[str, str]]:
    """Writes the remaining pairs, one a line; returns the text of the rows in `shown`, shortened."""
    texts: dict[int, tuple[str, str]] = {}
    first = 0
    with ExitStack() as stack:
        outputs = [stack.enter_context(open(file, "xb")) for file in files]
        for batch, keep in _with_rows(table, sifted.keep):
            for row in (row for row in range(first, first + len(keep)) if row in shown):
                src, tgt = (shortened(batch[side][row - first].as_py()) for side in ("src", "tgt"))
                texts[row] = src, tgt
            left = batch.filter(pa.array(keep))
            for side, output in zip(("src", "tgt"), outputs, strict=True):
                output.write("".join(f"{line}\n" for line in left[side].to_pylist()).encode())
            first += len(keep)
    return texts


def _with_rows(table: Path, keep: npt.NDArray[np.bool_]) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.bool_]]]:
    """Each batch of the table, with the mask of its rows that stay."""
    first = 0
    for batch in read_batches(table):
        yield batch, keep[first : first + batch.num_rows]
        first += batch.num_rows


def shortened(text: str) -> str:
    """The text; a long one is cut to SHOWN_CHARACTERS."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
