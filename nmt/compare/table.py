"""The table of a comparison: columns and what they mean, cells for people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.figures.table import NONE

Row = dict[str, Any]  # a variant or a run in results.json


@dataclass(frozen=True)
class Column:
    """A column of the table of variants."""

    title: str
    meaning: str
    cell: Callable[[Row], str]


def number(value: float | int | None, digits: int) -> str:
    """The value with thousands separators; a dash for None."""
    return NONE if value is None else f"{value:,.{digits}f}"


def over_seeds(key: str, digits: int) -> Callable[[Row], str]:
    """A cell with mean ± sample standard deviation, or with the value alone if there is one seed."""

    def cell(row: Row) -> str:
        found = row[key]
        if found is None:
            return NONE
        deviation = "" if found["sd"] is None else f" ± {number(found['sd'], digits)}"
        return number(found["mean"], digits) + deviation

    return cell


def mean(key: str, digits: int, scale: float = 1.0) -> Callable[[Row], str]:
    """A cell with the mean over seeds, multiplied by `scale`."""
    return lambda row: number(None if row[key] is None else row[key]["mean"] * scale, digits)


def interval(row: Row) -> str:
    """The bounds of the 95 % interval."""
    return f"{row['low']:.2f} to {row['high']:.2f}"


def p(row: Row) -> str:
    """The p-value of a variant; a dash for the first variant."""
    return number(row["p"], 3)


TABLE_COLUMNS = (
    Column("variant", "what differs, as typed", lambda row: str(row["variant"])),
    Column(
        "BLEU",
        "sacreBLEU, in percent; mean ± sample standard deviation over seeds",
        over_seeds("bleu", 2),
    ),
    Column(
        "95 % interval",
        "of that mean over seeds, by bootstrap: 1,000 resamples of the sentences (sacreBLEU's seed, 12345). It "
        "tells what other sentences would change, not what other seeds would",
        interval,
    ),
    Column(
        "p",
        "of the gap in mean BLEU to the first variant: paired bootstrap (Koehn 2004) on the same resamples, by "
        "sacreBLEU's formula. Two equally good variants have p below 0.05 on about one test set in nine, and below "
        "0.025 on about one in 20. 0.001 is the smallest it can be. No correction for several comparisons",
        p,
    ),
    Column("chrF", "chrF2 by sacreBLEU, in percent; mean ± deviation over seeds", over_seeds("chrf", 2)),
    Column(
        "perplexity",
        "of the references, force-decoded: per piece, ends of sentences included; lower is better",
        over_seeds("perplexity", 3),
    ),
    Column(
        "AER",
        "alignment error rate in percent (Och & Ney 2003) of the attention over the references against the gold links: "
        "each target unit linked to the source unit it attends to most; lower is better",
        over_seeds("aer", 1),
    ),
    Column("parameters", "trained numbers in the model", mean("parameters", 0)),
    Column(
        "train tokens/s",
        "real target tokens a second in training: the median over the log intervals of a run, mean over seeds",
        mean("tokens_per_s", 0),
    ),
    Column(
        "sentences/s",
        "sentences translated a second, with the search below; mean over seeds",
        mean("sentences_per_s", 0),
    ),
    Column(
        "updates to best",
        "the update of the best validation; the model that is evaluated may be the average of the best checkpoints",
        mean("best_update", 0),
    ),
    Column(
        "minutes to best",
        "training time until then by the speeds of the log intervals, without validations; mean over seeds",
        mean("best_seconds", 1, 1 / 60),
    ),
)

RUN_COLUMNS: dict[str, tuple[str, int]] = {
    "BLEU": ("bleu", 2),
    "chrF": ("chrf", 2),
    "perplexity": ("perplexity", 3),
    "AER": ("aer", 1),
    "precision": ("precision", 1),
    "recall": ("recall", 1),
    "train tokens/s": ("tokens_per_s", 0),
    "sentences/s": ("sentences_per_s", 0),
    "updates": ("updates", 0),
    "updates to best": ("best_update", 0),
}


def table(variants: Sequence[Row]) -> list[list[str]]:
    """A header, and a row for each variant."""
    used = columns(variants)
    return [[column.title for column in used], *([column.cell(row) for column in used] for row in variants)]


def columns(variants: Sequence[Row]) -> list[Column]:
    """The columns in which some variant has a value."""
    return [column for column in TABLE_COLUMNS if any(column.cell(row) != NONE for row in variants)]


def run_table(runs: Sequence[Row]) -> list[list[str]]:
    """A header, and a row for each run."""
    rows = [
        [run["variant"], str(run["seed"]), *(number(run[key], digits) for key, digits in RUN_COLUMNS.values())]
        for run in runs
    ]
    return [["variant", "seed", *RUN_COLUMNS], *rows]
