"""Attention as a grid of shaded characters for the terminal, and tokens as readers see them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt.scoring.alignment import SPACE

# shades of the terminal grid, each with the smallest weight that gets it
SHADES = ((" ", 0.0), ("░", 0.05), ("▒", 0.2), ("▓", 0.4), ("█", 0.7))
LEGEND = "░ ≥ 0.05  ▒ ≥ 0.2  ▓ ≥ 0.4  █ ≥ 0.7"


def attention_text(
    weights: NDArray[np.floating], src_tokens: Sequence[str], tgt_tokens: Sequence[str], columns: int = 80
) -> str:
    """The weights [target, source] as a shaded grid of at most `columns` columns; all lines are equally wide.

    Source tokens are written downwards above the grid; target tokens are at the left. A source that is too long for
    the width is split into grids one below another, each with all target tokens.
    """
    T, S = weights.shape
    assert (len(tgt_tokens), len(src_tokens)) == (T, S)
    columns = max(columns, 20)
    labels = [fit(shown_token(token), min(24, columns // 3)) for token in tgt_tokens]
    margin = max((display_width(label) for label in labels), default=0)
    labels = [pad(label, margin, right=True) for label in labels]
    above = [_clusters(fit(shown_token(token), 16)) for token in src_tokens]
    per_grid = max((columns - margin - 1) // 2, 1)
    lines: list[str] = []
    for start in range(0, max(S, 1), per_grid):
        lines += [""] if lines else []
        part = range(start, min(start + per_grid, S))
        depth = max((len(above[i]) for i in part), default=0)
        for row in range(depth):
            column = [row - depth + len(above[i]) for i in part]
            cells = [above[i][c] if c >= 0 else "" for i, c in zip(part, column, strict=True)]
            lines.append(" " * (margin + 1) + "".join(pad(cell, 2) for cell in cells))
        lines += [
            label + " " + "".join(_shade(float(weights[j, i])) * 2 for i in part) for j, label in enumerate(labels)
        ]
    lines.append(LEGEND if len(LEGEND) <= columns else "")
    width = max(display_width(line) for line in lines)
    return "\n".join(pad(line, width) for line in lines)


def display_width(text: str) -> int:
    """Terminal columns that the text takes: 2 for wide characters (CJK, emoji), 0 for combining ones."""
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf", "Cc") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _clusters(text: str) -> list[str]:
    """The text as a list of characters, each with the combining characters that follow it."""
    cells: list[str] = []
    for char in text:
        if cells and _char_width(char) == 0:
            cells[-1] += char
        else:
            cells.append(char)
    return cells


def fit(text: str, width: int) -> str:
    """The text; if it is wider than `width` columns, it is cut and ends in an ellipsis."""
    if display_width(text) <= width:
        return text
    kept = ""
    for cluster in _clusters(text):
        if display_width(kept + cluster) > width - 1:
            break
        kept += cluster
    return kept + "…"


def pad(text: str, width: int, right: bool = False) -> str:
    """The text, padded with spaces to `width` columns; `right`: aligned at the right."""
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def _shade(weight: float) -> str:
    return [shade for shade, least in SHADES if weight >= least or least == 0][-1]


def shown_token(token: str) -> str:
    """A token as readers see it: with spaces for '▁', none at its ends, and '␣' if nothing visible is left."""
    text = "".join(char if char.isprintable() else " " for char in token.replace(SPACE, " ")).strip()
    return text or "␣"
