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
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure
    from matplotlib.text import Text

Placed = tuple[tuple[float, float], list[list[tuple[float, float]]]]  # size; where lines end, of source and target
Panel = tuple[str, NDArray[np.floating], Sequence[str], Sequence[str]]  # title, weights [T, S], src, tgt tokens

COLORS = "Blues"  # light to dark without a turn: in grey the order stays
LARGEST = 60.0  # inches, of a side of a grid: cells of longer sentences shrink
LARGEST_TOGETHER = 160.0  # inches, of the grids of a picture one below another
PAGE = 10.0  # inches, of grids side by side
MARGIN, GAP = 0.08, 0.25  # inches
UNSEEN = 1 / 512  # weights below it are white in any case

# the bipartite drawing, in inches
DRAWN = 0.05  # the smallest weight that gets a line
ROW = 8.0  # the longest sentence that is written in a row
WORD_GAP, WIDEST_WORD_GAP = 0.14, 0.5  # between words in a row
LINE = 0.25  # height of a line of text
WIDEST_STEP = 1.6  # lines, between words one below another in the shorter sentence
KEY_WIDTH, KEY_HEIGHT = 4.4, 0.35


def attention_figure(weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> Figure:
    """A heat map of the weights [target, source]: source above, target at the left, the darker the more."""
    longest = max(*weights.shape, 1)
    return _heat_maps([("", weights, src_tokens, tgt_tokens)], min(max(0.26, 3.0 / longest), 0.5), font_size=9.0)


def panels_figure(panels: Sequence[Panel]) -> Figure:
    """Heat maps side by side, each with its title, in as many rows as they need."""
    longest = max([1, *(side for _, weights, _, _ in panels for side in weights.shape)])
    return _heat_maps(panels, min(max(0.18, 1.8 / longest), 0.3), font_size=8.0)


def bipartite_figure(weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> Figure:
    """Both sentences, a line from each target to each source word, the wider and darker the more attention.

    Source above and target below where both fit beside one another on a page, else at the left and at the right.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    assert (len(tgt_tokens), len(src_tokens)) == weights.shape
    figure = new_figure()
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    src, tgt = (
        [axes.text(0, 0, label_of(token), fontsize=10) for token in tokens] for tokens in (src_tokens, tgt_tokens)
    )
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for text in [*src, *tgt]:
        dress(text)
    widths = [[text.get_window_extent(renderer).width / DPI for text in texts] for texts in (src, tgt)]
    place = _rows if max(sum(row) + WORD_GAP * len(row) for row in widths) <= ROW else _columns
    (width, height), ends = place(src, tgt, widths)
    drawn = sorted((float(weights[j, i]), j, i) for j, i in np.argwhere(weights >= DRAWN))  # the heaviest on top
    lines = LineCollection(
        [(ends[0][i], ends[1][j]) for _, j, i in drawn],
        linewidths=[line_width(weight) for weight, _, _ in drawn],
        colors=[colormaps[COLORS](shade(weight)) for weight, _, _ in drawn],
        capstyle="round",
    )
    axes.add_collection(lines, autolim=False)
    figure.set_size_inches(width, height)
    axes.set(xlim=(0, width), ylim=(height, 0))
    _explain_lines(axes, height)
    return figure


def line_width(weight: float) -> float:
    """Points, of a line of the bipartite drawing."""
    return 0.5 + 4.0 * weight


def shade(weight: float) -> float:
    """Where on the colour scale a line stands: even the lightest can be seen on white."""
    return 0.25 + 0.75 * weight


def _heat_maps(panels: Sequence[Panel], cell: float, font_size: float) -> Figure:
    """Grids with cells of so many inches, and one colour scale."""
    longest = max([1, *(side for _, weights, _, _ in panels for side in weights.shape)])
    cell = min(cell, LARGEST / longest, LARGEST_TOGETHER / longest / max(len(panels), 1))
    figure = new_figure()
    grids = [_draw_grid(figure, panel, cell, min(font_size, 65 * cell)) for panel in panels]
    _arrange(figure)
    if grids:
        _add_scale(figure, grids[0])
    return figure


def _draw_grid(figure: Figure, panel: Panel, cell: float, font_size: float) -> Collection:
    """A heat map at the corner of the figure, which measures 1 inch by 1."""
    from matplotlib.collections import LineCollection, PolyCollection

    title, weights, src_tokens, tgt_tokens = panel
    T, S = weights.shape
    assert (len(tgt_tokens), len(src_tokens)) == (T, S)
    axes = figure.add_axes((0.0, 0.0, max(S, 1) * cell, max(T, 1) * cell), label=str(len(figure.axes)))
    axes.set(xlim=(0, max(S, 1)), ylim=(max(T, 1), 0))
    rows, columns = np.nonzero(weights >= UNSEEN)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    squares = np.stack([columns, rows], axis=-1)[:, None, :] + corners
    cells = PolyCollection(list(squares), cmap=COLORS, clim=(0, 1), edgecolors="none", linewidths=0, antialiased=False)
    cells.set_array(weights[rows, columns].astype(float))
    axes.add_collection(cells, autolim=False)
    lines = [((0, j), (S, j)) for j in range(T + 1)] + [((i, 0), (i, T)) for i in range(S + 1)]
    axes.add_collection(LineCollection(lines, colors="0.85", linewidths=0.5, clip_on=False), autolim=False)
    _label_tokens(axes, src_tokens, tgt_tokens, font_size)
    if title:
        dress(axes.set_title(title, loc="left", fontsize=font_size + 1, fontweight="bold"))
    return cells


def _label_tokens(axes: Axes, src_tokens: Sequence[str], tgt_tokens: Sequence[str], font_size: float) -> None:
    src, tgt = ([label_of(token) for token in tokens] for tokens in (src_tokens, tgt_tokens))
    axes.xaxis.tick_top()
    if all(display_width(label) <= 2 for label in src):
        axes.set_xticks(np.arange(len(src)) + 0.5, src)
    else:
        axes.set_xticks(np.arange(len(src)) + 0.5, src, rotation=55, ha="left", rotation_mode="anchor")
    axes.set_yticks(np.arange(len(tgt)) + 0.5, tgt)
    axes.tick_params(length=0, labelsize=font_size, pad=3)
    axes.spines[:].set_visible(False)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        dress(label)


def label_of(token: str) -> str:
    """The token as it stands in a picture, not too long."""
    return fit(drawable(fit(shown_token(token), 30)), 30)


def _arrange(figure: Figure) -> None:
    """Places the grids of a figure of 1 inch by 1 in rows no wider than the page, and grows the figure around them."""
    if not figure.axes:
        return
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    around = []  # inches from the grid's left, bottom, right and top side to the end of what is written there
    sizes = []
    for axes in figure.axes:
        written = axes.get_tightbbox(renderer)
        assert written is not None
        box, grid = np.asarray(written.extents) / DPI, np.asarray(axes.get_position().extents)
        around.append((grid[0] - box[0], grid[1] - box[1], box[2] - grid[2], box[3] - grid[3]))
        sizes.append((grid[2] - grid[0], grid[3] - grid[1]))
    left, bottom, right, top = np.max(around, axis=0)
    step = left + max(width for width, _ in sizes) + right + GAP
    columns = max(1, int((PAGE + GAP) / step))
    rows = -(-len(sizes) // columns)
    columns = -(-len(sizes) // rows)  # rows of the same length
    heights = [max(height for _, height in sizes[r * columns : (r + 1) * columns]) + top + bottom for r in range(rows)]
    total = (columns * step - GAP + 2 * MARGIN, sum(heights) + (rows - 1) * GAP + 2 * MARGIN)
    for number, (axes, (width, height)) in enumerate(zip(figure.axes, sizes, strict=True)):
        row, column = divmod(number, columns)
        x = MARGIN + column * step + left
        y = total[1] - MARGIN - sum(heights[:row]) - row * GAP - top - height
        axes.set_position((x / total[0], y / total[1], width / total[0], height / total[1]))
    figure.set_size_inches(*total)


def _add_scale(figure: Figure, cells: Collection) -> None:
    """The colour scale, at the right of all grids."""
    width, height = figure.get_size_inches()
    first = np.asarray(figure.axes[0].get_position().extents) * (width, height, width, height)
    long = min(first[3] - first[1], 2.0)
    room = 0.7
    for axes in figure.axes:
        x0, y0, x1, y1 = axes.get_position().extents
        axes.set_position((x0 * width / (width + room), y0, (x1 - x0) * width / (width + room), y1 - y0))
    figure.set_size_inches(width + room, height)
    place = ((width + 0.1) / (width + room), (first[3] - long) / height, 0.12 / (width + room), long / height)
    ticks = [0, 0.25, 0.5, 0.75, 1] if long > 0.7 else [0, 1]
    scale = figure.colorbar(cells, cax=figure.add_axes(place), ticks=ticks).ax
    scale.tick_params(labelsize=8)


def _rows(src: list[Text], tgt: list[Text], widths: list[list[float]]) -> Placed:
    """Source words above, target words below."""
    long = max(KEY_WIDTH, *(sum(row) + WORD_GAP * (len(row) - 1) for row in widths))
    tall = min(max(1.2, long / 3), 2.2)  # between the sentences
    ends: list[list[tuple[float, float]]] = []
    for texts, own, y, va in ((src, widths[0], MARGIN + LINE, "bottom"), (tgt, widths[1], MARGIN + LINE + tall, "top")):
        gap = min((long - sum(own)) / max(len(own) - 1, 1), WIDEST_WORD_GAP)
        x = MARGIN + (long - sum(own) - gap * (len(own) - 1)) / 2
        ends.append([])
        for text, width in zip(texts, own, strict=True):
            text.set(x=x + width / 2, y=y + (-0.04 if va == "bottom" else 0.04), ha="center", va=va)
            ends[-1].append((x + width / 2, y))
            x += width + gap
    return (long + 2 * MARGIN, tall + 2 * LINE + 2 * MARGIN + KEY_HEIGHT), ends


def _columns(src: list[Text], tgt: list[Text], widths: list[list[float]]) -> Placed:
    """Source words at the left, target words at the right, one below another."""
    step = min(LINE, LARGEST / max(len(src), len(tgt)))
    tall = step * max(len(src), len(tgt))
    wide = min(max(2.5, tall / 2), 4.0)  # between the sentences
    left, right = (max(own, default=0.0) + 0.1 for own in widths)  # and a space before the lines
    ends: list[list[tuple[float, float]]] = []
    for texts, x, ha, aside in ((src, left, "right", -0.1), (tgt, left + wide, "left", 0.1)):
        own_step = min(tall / max(len(texts), 1), WIDEST_STEP * step)
        top = MARGIN + (tall - own_step * len(texts)) / 2
        ends.append([])
        for number, text in enumerate(texts):
            y = top + (number + 0.5) * own_step
            text.set(x=MARGIN + x + aside, y=y, ha=ha, va="center_baseline", fontsize=min(10, 62 * step))
            ends[-1].append((MARGIN + x, y))
    return (max(left + wide + right, KEY_WIDTH) + 2 * MARGIN, tall + 2 * MARGIN + KEY_HEIGHT), ends


def _explain_lines(axes: Axes, height: float) -> None:
    """The key below: what a line's width says, and what is not drawn."""
    from matplotlib import colormaps

    x, y = MARGIN, height - MARGIN - 0.08
    for weight in (DRAWN, 0.25, 0.5, 1.0):
        color = colormaps[COLORS](shade(weight))
        axes.plot([x, x + 0.3], [y, y], color=color, linewidth=line_width(weight), solid_capstyle="butt")
        axes.text(x + 0.36, y, f"{weight:g}", fontsize=8, va="center_baseline", color="0.3")
        x += 0.75
    axes.text(x, y, f"less than {DRAWN:g}: no line", fontsize=8, va="center_baseline", color="0.3")
