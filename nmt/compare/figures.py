"""The pictures of a comparison, from its results."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from nmt.figures.attention import panels_figure
from nmt.figures.curves import bleu_by_length_figure, curves_figure
from nmt.scoring.metrics import LengthBucket

Results = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its file, its title and its caption."""

    name: str
    title: str
    caption: str
    figure: Figure


def results_pictures(results: Results) -> Iterator[Picture]:
    """Every picture that the results have numbers for."""
    seeds = len(results["seeds"])
    band = "" if seeds == 1 else f" Lines are means over {seeds} seeds, bands reach from the lowest to the highest."
    yield by_length(results, seeds)
    yield from curve(results, "bleu", "Dev BLEU over training", "dev BLEU", "Greedy search." + band)
    yield from curve(results, "perplexity", "Dev perplexity over training", "dev perplexity", f"Per piece.{band}")
    entropy = (
        "Mean over target pieces, layers and heads: 0 is a look at one source piece only, log(S) an equal look at all "
        f"S of them. A variant without attention has no line.{band}"
    )
    yield from curve(
        results, "attention_entropy", "Attention entropy over training", "attention entropy (nats)", entropy
    )
    yield from attention(results)


def by_length(results: Results, seeds: int) -> Picture:
    """The figure that made attention famous (Bahdanau et al. 2015, figure 2)."""
    series = {
        row["variant"]: [LengthBucket(**bucket) for bucket in row["bleu_by_source_length"]]
        for row in results["variants"]
    }
    pooled = f" The outputs of all {seeds} seeds are pooled." if seeds > 1 else ""
    caption = (
        "Corpus BLEU of the sentences in groups of about equal size by source length (grey bars); after "
        f"Bahdanau et al. 2015, figure 2.{pooled}"
    )
    return Picture("bleu_by_length", "BLEU by source length", caption, bleu_by_length_figure(series))


def curve(results: Results, key: str, title: str, label: str, caption: str) -> Iterator[Picture]:
    """A picture of a value of the validations over the updates; no picture if no run has the value."""
    series: dict[str, list[list[tuple[float, float]]]] = {row["variant"]: [] for row in results["variants"]}
    for run in results["runs"]:
        points = [(point["update"], point[key]) for point in run["dev"] if point.get(key) is not None]
        series[run["variant"]] += [points] if points else []  # a variant without points keeps its colour
    if any(series.values()):
        yield Picture(f"dev_{key}", title, caption, curves_figure(series, "updates", label))


def attention(results: Results) -> Iterator[Picture]:
    """A picture for each sentence, with the attention matrices of all variants side by side."""
    shown = results["shown"]
    for number, sentence in enumerate(shown["sentences"], 1):
        panels = [
            (name, np.array(matrix["weights"]).reshape(len(matrix["tgt_words"]), len(matrix["src_words"])),
             matrix["src_words"], matrix["tgt_words"])
            for name, matrix in sentence["attention"].items()
        ]  # fmt: skip
        if panels:
            title = f"Attention {number}: test sentence {sentence['line']:,}"
            caption = (
                f"Source: {sentence['source']} Reference: {sentence['reference']} Columns are source words, rows the "
                f"words of the reference, which every variant is given; seed {shown['seed']}."
            )
            yield Picture(f"attention_{number}", title, caption, panels_figure(panels))
