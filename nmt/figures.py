"""Pictures of attention and of scores, for files, tensorboard and the terminal.

matplotlib is imported when the first picture is drawn; pyplot never, so that nothing depends on a display.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt.alignment import SPACE
from nmt.errors import ConfigError, DataError
from nmt.fonts import drawable, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from nmt.metrics import LengthBucket

DPI = 120
CELL = 0.26  # inches, of a long sentence
LARGEST_CELL = 0.5
LARGEST = 60.0  # inches, of a side of the grid: cells of longer sentences are smaller than CELL
GRID = 3.0  # inches, of the grid that short sentences fill as far as their cells may grow

# colours of Okabe and Ito, told apart by the colour-blind; markers and dashes tell them apart in grey
LINES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"),
    ("#56B4E9", "P", "--"),
)

# shades of the terminal grid and the smallest weight that gets each
SHADES = ((" ", 0.0), ("░", 0.05), ("▒", 0.2), ("▓", 0.4), ("█", 0.7))
LEGEND = "░ ≥ 0.05  ▒ ≥ 0.2  ▓ ≥ 0.4  █ ≥ 0.7"


def attention_figure(weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> Figure:
    """A heat map of the weights [target, source]: source above, target at the left, the darker the more.

    The scale is always 0 to 1, so that pictures can be compared.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    T, S = weights.shape
    assert (len(tgt_tokens), len(src_tokens)) == (T, S)
    cell = min(max(CELL, GRID / max(T, S, 1)), LARGEST_CELL, LARGEST / max(T, S, 1))
    width, height = max(S, 1) * cell, max(T, 1) * cell
    figure = Figure(figsize=(width, height), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    grid = weights if weights.size else np.zeros((max(T, 1), max(S, 1)))
    cells = axes.pcolormesh(grid, cmap="Blues", vmin=0, vmax=1, edgecolors="0.88", linewidth=0.5)
    axes.invert_yaxis()
    _label_tokens(axes, src_tokens, tgt_tokens)
    long = min(height, 2.0) / height
    scale = figure.add_axes((1 + 0.25 / width, 1 - long, 0.12 / width, long))
    figure.colorbar(cells, cax=scale).ax.tick_params(labelsize=8)
    _grow_to_fit(figure, canvas)
    return figure


def bleu_by_length_figure(series: Mapping[str, Sequence[LengthBucket]]) -> Figure:
    """BLEU over the source length, a line for each system; the bars show how far each bucket reaches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, (name, buckets) in enumerate(series.items()):
        color, marker, dashes = LINES[number % len(LINES)]
        middle = [(bucket.low + bucket.high) / 2 for bucket in buckets]
        reach = [(bucket.high - bucket.low) / 2 for bucket in buckets]
        score = [bucket.bleu for bucket in buckets]
        axes.errorbar(middle, score, xerr=reach, fmt="none", ecolor=color, elinewidth=4, alpha=0.25)
        (line,) = axes.plot(middle, score, color=color, marker=marker, linestyle=dashes)
        line.set_label(drawable(name))
    axes.set_xlabel("source length (words)")
    axes.set_ylabel("BLEU")
    axes.set_ylim(0, None)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    if series:
        legend = axes.legend(frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
            text.set_fontfamily(families(text.get_text()))
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write the picture as .png, .svg or .pdf, by the name's ending."""
    kinds = {
        ".png": {},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }  # no dates: same picture, same file
    if path.suffix.lower() not in kinds:
        raise ConfigError(f"unknown kind of picture '{path.suffix}', {path}; end the name in .png, .svg or .pdf")
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.lower()[1:], metadata=kinds[path.suffix.lower()])
    try:
        path.write_bytes(drawn.getvalue())
    except OSError as error:
        raise DataError(f"cannot write the picture ({error.strerror}), {path}; choose another folder") from error


def pixels(figure: Figure) -> NDArray[np.uint8]:
    """The picture as red, green and blue [height, width, 3]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba(), dtype=np.uint8)[..., :3].copy()  # type: ignore[no-untyped-call]


def attention_text(
    weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str], columns: int = 80
) -> str:
    """The weights [target, source] as a shaded grid of at most `columns` columns; all lines are equally wide.

    Source tokens stand above, written downwards; target tokens at the left. A source that is too long for the
    width is cut into grids one under another, each with all target tokens.
    """
    T, S = weights.shape
    assert (len(tgt_tokens), len(src_tokens)) == (T, S)
    columns = max(columns, 20)
    labels = [_fit(_shown(token), min(24, columns // 3)) for token in tgt_tokens]
    margin = max((display_width(label) for label in labels), default=0)
    labels = [_pad(label, margin, right=True) for label in labels]
    above = [_clusters(_fit(_shown(token), 16)) for token in src_tokens]
    per_grid = max((columns - margin - 1) // 2, 1)
    lines: list[str] = []
    for start in range(0, max(S, 1), per_grid):
        lines += [""] if lines else []
        part = range(start, min(start + per_grid, S))
        depth = max((len(above[i]) for i in part), default=0)
        for row in range(depth):
            column = [row - depth + len(above[i]) for i in part]
            cells = [above[i][c] if c >= 0 else "" for i, c in zip(part, column, strict=True)]
            lines.append(" " * (margin + 1) + "".join(_pad(cell, 2) for cell in cells))
        lines += [
            label + " " + "".join(_shade(float(weights[j, i])) * 2 for i in part) for j, label in enumerate(labels)
        ]
    lines.append(LEGEND if len(LEGEND) <= columns else "")
    width = max(display_width(line) for line in lines)
    return "\n".join(_pad(line, width) for line in lines)


def display_width(text: str) -> int:
    """Terminal columns that the text takes: 2 for wide characters (CJK, emoji), 0 for combining ones."""
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf", "Cc") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _clusters(text: str) -> list[str]:
    """The text in terminal cells: combining characters stay with the character before them."""
    cells: list[str] = []
    for char in text:
        if cells and _char_width(char) == 0:
            cells[-1] += char
        else:
            cells.append(char)
    return cells


def _fit(text: str, width: int) -> str:
    """The text, cut with an ellipsis where it is wider."""
    if display_width(text) <= width:
        return text
    kept = ""
    for cluster in _clusters(text):
        if display_width(kept + cluster) > width - 1:
            break
        kept += cluster
    return kept + "…"


def _pad(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def _shade(weight: float) -> str:
    return [shade for shade, least in SHADES if weight >= least or least == 0][-1]


def _shown(token: str) -> str:
    """A token as people see it: without '▁', and something visible in any case."""
    text = "".join(char if char.isprintable() else " " for char in token.replace(SPACE, " ")).strip()
    return text or "␣"


def _label_tokens(axes: Axes, src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> None:
    src, tgt = ([drawable(_fit(_shown(token), 30)) for token in tokens] for tokens in (src_tokens, tgt_tokens))
    axes.xaxis.tick_top()
    if all(display_width(label) <= 2 for label in src):
        axes.set_xticks(np.arange(len(src)) + 0.5, src)
    else:
        axes.set_xticks(np.arange(len(src)) + 0.5, src, rotation=55, ha="left", rotation_mode="anchor")
    axes.set_yticks(np.arange(len(tgt)) + 0.5, tgt)
    axes.tick_params(length=0, labelsize=9, pad=3)
    axes.spines[:].set_visible(False)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)
        label.set_fontfamily(families(label.get_text()))


def _grow_to_fit(figure: Figure, canvas: FigureCanvasAgg) -> None:
    """Make room for what stands around the axes, whose size in inches stays."""
    pad = 0.08
    box = figure.get_tightbbox(canvas.get_renderer())  # type: ignore[no-untyped-call]
    old = np.array(figure.get_size_inches())
    new = np.array([box.width, box.height]) + 2 * pad
    for axes in figure.axes:
        place = axes.get_position()
        corner = (np.array([place.x0, place.y0]) * old - np.array([box.x0, box.y0]) + pad) / new
        size = np.array([place.width, place.height]) * old / new
        axes.set_position((float(corner[0]), float(corner[1]), float(size[0]), float(size[1])))
    figure.set_size_inches(float(new[0]), float(new[1]))
