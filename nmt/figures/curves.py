"""Line charts: scores over the source length, losses over training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt.figures.figure import DPI, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nmt.scoring.metrics import LengthBucket

Point = tuple[int | float, int | float]

# The colours of Okabe and Ito, which colour-blind people can tell apart, without yellow, which is too light on paper.
# Each line has a marker of its own, so that lines can be told apart in grey, too.
LINE_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "p", "h", "d", "H")
DASHES = ("-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (2, 1.5)), (0, (9, 2, 2, 2, 2, 2)))
LINES = tuple((LINE_COLORS[n % len(LINE_COLORS)], marker, DASHES[n % len(DASHES)]) for n, marker in enumerate(MARKERS))
PLOT = (5.0, 3.6)  # inches, without the legend beside it
MOST_MARKERS = 8  # markers on a line of many points


def bleu_by_length_figure(series: Mapping[str, Sequence[LengthBucket]]) -> Figure:
    """BLEU over the source length, a line for each system; grey bars below show how far each bucket reaches."""
    lines = {
        name: [[((bucket.low + bucket.high) / 2, bucket.bleu) for bucket in buckets]]
        for name, buckets in series.items()
    }
    figure = curves_figure(lines, "source length (words); grey: what each point covers", "BLEU")
    axes = figure.axes[0]
    axes.set_ylim(0, axes.get_ylim()[1] * 1.03)
    reaches = sorted({(bucket.low, bucket.high) for buckets in series.values() for bucket in buckets})
    for low, high in reaches:
        axes.plot([low - 0.3, high + 0.3], [0, 0], color="0.6", linewidth=4, solid_capstyle="butt", clip_on=False)
    return figure


def curves_figure(series: Mapping[str, Sequence[Sequence[Point]]], x_label: str, y_label: str) -> Figure:
    """A line for each name: the mean of its runs' points (x, y), in a light band from the lowest run to the highest.

    Between its points a run is a straight line. After some runs have ended, the mean is over the remaining runs.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(*PLOT)
    figure.set_layout_engine("constrained")
    axes = figure.add_subplot()
    for number, (name, runs) in enumerate(series.items()):
        _draw_line(axes, name, runs, number)
    dress(axes.set_xlabel(x_label))
    dress(axes.set_ylabel(y_label))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    if series:
        legend = figure.legend(loc="outside right upper", frameon=False, handlelength=4)
        for text in legend.get_texts():
            dress(text)
        box = legend.get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
        figure.set_size_inches(PLOT[0] + box.width / DPI, max(PLOT[1], box.height / DPI + 0.2))
    return figure


def summary(runs: Sequence[Sequence[Point]]) -> NDArray[np.float64]:
    """x, mean y, lowest y and highest y [4, points] of the runs, at every x that any run has.

    A run counts from its first to its last point. Points with NaN or infinity are left out.
    """
    finite = [sorted((x, y) for x, y in run if math.isfinite(x) and math.isfinite(y)) for run in runs]
    known = [np.array(run).T for run in finite if run]
    xs = np.unique(np.concatenate([x for x, _ in known])) if known else np.zeros(0)
    ys = np.array([np.interp(xs, x, y, left=np.nan, right=np.nan) for x, y in known]).reshape(len(known), len(xs))
    if not known:
        return np.zeros((4, 0))
    return np.stack([xs, np.nanmean(ys, axis=0), np.nanmin(ys, axis=0), np.nanmax(ys, axis=0)])


def _draw_line(axes: Axes, name: str, runs: Sequence[Sequence[Point]], number: int) -> None:
    color, marker, dashes = LINES[number % len(LINES)]
    x, mean, low, high = summary(runs)
    if len(runs) > 1:
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    step = max(1, math.ceil(len(x) / MOST_MARKERS))
    (line,) = axes.plot(
        x,
        mean,
        color=color,
        linestyle=dashes,
        linewidth=1.5,
        marker=marker,
        markersize=6,
        markerfacecolor=color if number < len(LINE_COLORS) else "white",
        markevery=(number * step // max(len(LINES), 1), step),  # so that lines have markers at different x
    )
    line.set_label(f"\u200b{name}" if name.startswith("_") else name)  # matplotlib hides labels that begin with _
