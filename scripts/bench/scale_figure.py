"""The picture of a curve: speed and memory over a size, beside the arithmetic."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.scale_point import Point
from nmt.figures.curves import LINE_COLORS
from nmt.figures.figure import dress, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (8.4, 3.4)  # inches


def scale_figure(points: Sequence[Point], middle: int, label: str) -> "Figure":
    """Tokens per second, and what the point `middle` makes of the others' operations; memory."""
    figure = new_figure(*SIZE)
    figure.set_layout_engine("constrained")
    speed, memory = figure.subplots(1, 2)
    sizes = [point.size for point in points]
    speed.plot(sizes, [point.tokens_per_s for point in points], color=LINE_COLORS[0], marker="o", label="measured")
    base = next((point for point in points if point.size == middle), points[0])
    product = base.tokens_per_s * base.operations_per_token
    expected = [product / point.operations_per_token for point in points]
    speed.plot(sizes, expected, color="0.5", linestyle="--", label="as the operations say")
    memory.plot(sizes, [point.memory_mb for point in points], color=LINE_COLORS[0], marker="o", label="in training")
    if any(point.prepared_mb for point in points):
        prepared, highest = ([getattr(p, name) for p in points] for name in ("prepared_mb", "highest_mb"))
        memory.plot(sizes, prepared, color=LINE_COLORS[1], marker="s", label="after preparing")
        memory.plot(sizes, highest, color="0.5", marker="^", linestyle="--", label="while preparing, highest")
    for axes, name in ((speed, "target tokens a second"), (memory, "memory, no file's (MB)")):
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        dress(axes.set_xlabel(label))
        dress(axes.set_ylabel(name))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
        axes.legend(frameon=False)
    speed.set_yscale("log")
    low, high = speed.get_ylim()
    speed.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))  # whole decades: labelled ones
    room = 1 + 0.15 * len(memory.get_lines())  # for the legend
    memory.set_ylim(0, room * memory.get_ylim()[1])
    memory.legend(frameon=False, loc="upper left")
    return figure
