"""Attention as pictures: heat maps, one or many, and two sentences joined by lines.

The scale is always 0 to 1, so that pictures can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt.figures.figure import DPI, dress, new_figure
from nmt.figures.fonts import drawable
from nmt.figures.terminal import display_width, fit, shown_token

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

Panel = tuple[str, NDArray[np.floating], Sequence[str], Sequence[str]]  # title, weights [T, S], src, tgt tokens

COLOR_MAP = "Blues"  # from light to dark throughout, so that the order survives in grey
LARGEST_GRID = 60.0  # inches, the longest side that a grid may have: cells of longer sentences shrink
LARGEST_TOGETHER = 160.0  # inches, the sum of the longest sides of all grids in a picture
PAGE = 10.0  # inches, the width of a row of grids
MARGIN, GAP = 0.08, 0.25  # inches
VECTORS = 4_000  # most cells of a picture to draw as vectors in .svg and .pdf; more take megabytes, so they are pixels

# the bipartite drawing; sizes are in inches
DRAWN = 0.05  # the smallest weight that gets a line
SHORTEST_ROW, ROW = 2.0, 8.0  # shortest and longest row of words
WORD_GAP, WIDEST_WORD_GAP = 0.14, 0.5  # smallest and largest gap between words in a row
LINE_HEIGHT, WIDEST_LINE_GAP = 0.25, 0.15  # height of a line of text; largest gap between words in a column
ASIDE = 0.05  # gap between a word and its lines


def attention_figure(weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> Figure:
    """A heat map of the weights [target, source]: source above, target at the left; darker means more attention."""
    return _heat_maps([("", weights, src_tokens, tgt_tokens)], cells=(0.26, 0.5), font_size=9.0)


def panels_figure(panels: Sequence[Panel]) -> Figure:
    """Heat maps side by side, each with its title, in as many rows as they need."""
    return _heat_maps(panels, cells=(0.18, 0.3), font_size=8.0)


def bipartite_figure(weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> Figure:
    """Both sentences, with lines from target to source words; a wider and darker line means more attention.

    The source is above the target if each sentence fits into one row of a page. Otherwise the words are in columns,
    with the source at the left. Weights below `DRAWN` get no line.
    """
    from matplotlib.collections import LineCollection

    assert (len(tgt_tokens), len(src_tokens)) == weights.shape
    figure = new_figure()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    words = [[axes.text(0, 0, label_of(token), fontsize=10) for token in side] for side in (src_tokens, tgt_tokens)]
    for word in [*words[0], *words[1]]:
        dress(word)
    sizes = [[word.get_window_extent().width / DPI for word in side] for side in words]
    row = max(sum(own) + WORD_GAP * (len(own) - 1) for own in sizes)
    in_rows = row <= ROW
    if in_rows:
        room = max(row, SHORTEST_ROW)
        between, widest_gap = min(max(1.2, room / 3), 2.2), WIDEST_WORD_GAP
        aligned = (("center", "bottom"), ("center", "top"))
    else:
        line = min(LINE_HEIGHT, LARGEST_GRID / max(weights.shape))
        sizes = [[line] * len(side) for side in words]
        room = line * max(weights.shape)
        between, widest_gap = min(max(2.5, room / 2), 4.0), WIDEST_LINE_GAP
        aligned = (("right", "center_baseline"), ("left", "center_baseline"))
        for word in [*words[0], *words[1]]:
            word.set_fontsize(min(10, 62 * line))

    def point(along: float, across: float) -> tuple[float, float]:
        return (along, across) if in_rows else (across, along)

    src, tgt = (_spread(own, room, widest_gap) for own in sizes)
    for side, places, across, (ha, va) in zip(words, (src, tgt), (-ASIDE, between + ASIDE), aligned, strict=True):
        for word, along in zip(side, places, strict=True):
            word.set(position=point(along, across), ha=ha, va=va)
    drawn = sorted((float(weights[j, i]), j, i) for j, i in np.argwhere(weights >= DRAWN))  # the heaviest on top
    lines = LineCollection(
        [(point(src[i], 0.0), point(tgt[j], between)) for _, j, i in drawn],
        linewidths=[line_width(weight) for weight, _, _ in drawn],
        colors=[line_color(weight) for weight, _, _ in drawn],
        capstyle="round",
        clip_on=False,
    )
    axes.add_collection(lines, autolim=False)
    width, height = point(room, between)
    axes.set(xlim=(0, width), ylim=(height, 0), position=(0, 0, width, height))
    _explain_lines(axes, height)
    _fit_around(figure)
    return figure


def line_width(weight: float) -> float:
    """The width, in points, of a line in the bipartite drawing."""
    return 0.5 + 4.0 * weight


def line_color(weight: float) -> str:
    """The colour of a line in the bipartite drawing; even the lightest line is visible on white."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return to_hex(colormaps[COLOR_MAP](0.25 + 0.75 * weight))


def label_of(token: str) -> str:
    """The token as a label in a picture, at most 30 columns wide."""
    return fit(drawable(fit(shown_token(token), 30)), 30)


def _spread(sizes: Sequence[float], room: float, widest_gap: float) -> list[float]:
    """The middle of each word, for words of these sizes, centred in the room, with equal gaps between them."""
    gap = min((room - sum(sizes)) / max(len(sizes) - 1, 1), widest_gap)
    before = (room - sum(sizes) - gap * (len(sizes) - 1)) / 2
    return [before + sum(sizes[:n]) + gap * n + size / 2 for n, size in enumerate(sizes)]


def _explain_lines(axes: Axes, height: float) -> None:
    """Adds the key below the drawing: the weights of four line widths, and which weights get no line."""
    from matplotlib.lines import Line2D

    weights = (DRAWN, 0.25, 0.5, 1.0)
    key = [Line2D([], [], color=line_color(w), linewidth=line_width(w), label=f"{w:g}") for w in weights]
    key.append(Line2D([], [], linewidth=0, label=f"less than {DRAWN:g}: no line"))
    below = (0.5, -0.35 / height)
    legend = axes.legend(handles=key, loc="upper center", bbox_to_anchor=below, ncols=5, frameon=False, fontsize=8)
    for text in legend.get_texts():
        text.set_color("0.3")


def _heat_maps(panels: Sequence[Panel], cells: tuple[float, float], font_size: float) -> Figure:
    """Grids in rows no wider than the page, with one colour scale; short sentences have larger cells."""
    figure = new_figure()
    if not panels:
        return figure
    T, S = (max([1, *(panel[1].shape[axis] for panel in panels)]) for axis in (0, 1))
    cell = min(max(cells[0], 6 * cells[1] / max(T, S)), cells[1])
    cell = min(cell, LARGEST_GRID / max(T, S), LARGEST_TOGETHER / max(T, S) / len(panels))
    width, height = S * cell, T * cell
    rasterized = sum(panel[1].size for panel in panels) > VECTORS
    grids = []
    for panel in panels:
        axes = figure.add_axes((0, 0, width, height), xlim=(0, S), ylim=(T, 0))
        grids.append(_draw_grid(axes, panel, min(font_size, 65 * cell), rasterized))
    across, down = np.array(figure.get_tightbbox().size) + GAP  # one grid's size: all are still in the same place
    rows = -(-len(panels) // max(1, int((PAGE + GAP) / across)))
    columns = -(-len(panels) // rows)  # so that the rows have about the same length
    for n, axes in enumerate(figure.axes):
        axes.set_position((n % columns * across, -(n // columns) * down, width, height))
    long = min(height, 2.0)
    place = (1 + 0.15 / width, 1 - long / height, 0.12 / width, long / height)  # to the right of the first row
    scale = figure.axes[columns - 1].inset_axes(place)
    figure.colorbar(grids[0], cax=scale, ticks=[0, 0.25, 0.5, 0.75, 1] if long > 0.7 else [0, 1])
    scale.tick_params(labelsize=8)
    _fit_around(figure)
    return figure


def _draw_grid(axes: Axes, panel: Panel, font_size: float, rasterized: bool) -> QuadMesh:
    title, weights, src_tokens, tgt_tokens = panel
    T, S = weights.shape
    assert (len(tgt_tokens), len(src_tokens)) == (T, S)
    mesh = axes.pcolormesh(weights, cmap=COLOR_MAP, vmin=0, vmax=1, edgecolors="0.8", linewidth=0.3, clip_on=False)
    mesh.set_rasterized(rasterized)
    src, tgt = ([label_of(token) for token in tokens] for tokens in (src_tokens, tgt_tokens))
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(S) + 0.5, src)
    axes.set_yticks(np.arange(T) + 0.5, tgt)
    if any(display_width(label) > 2 for label in src):
        for label in axes.get_xticklabels():
            label.set(rotation=55, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0, labelsize=font_size, pad=3)
    axes.spines[:].set_visible(False)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        dress(label)
    if title:
        dress(axes.set_title(title, loc="left", fontsize=font_size + 1, fontweight="bold"))
    return mesh


def _fit_around(figure: Figure) -> None:
    """Resizes a figure of 1 by 1 inch to fit everything that is drawn in and around it."""
    left, bottom, width, height = figure.get_tightbbox().padded(MARGIN).bounds
    figure.set_size_inches(width, height)
    for axes in figure.axes:
        x, y, w, h = axes.get_position().bounds
        axes.set_position(((x - left) / width, (y - bottom) / height, w / width, h / height))
