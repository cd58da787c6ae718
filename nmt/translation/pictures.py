"""Draws where the model looked in each translation, in files or on one page."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.errors import DataError
from nmt.figures.attention import Panel, attention_figure, bipartite_figure, panels_figure
from nmt.figures.figure import save_figure, svg_text
from nmt.figures.page import page
from nmt.machine.safe_files import folder_beside, put_in_place
from nmt.scoring.alignment import word_attention
from nmt.translation.long_lines import LONGEST_PART
from nmt.translation.translations import Translation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EMPTY = "the sentence or its translation is empty"
PAGE_FILE = "index.html"


@dataclass(frozen=True)
class Choice:
    """The layer and the head to draw, from 0; None: all of them."""

    layer: int | None
    head: int | None

    def of(self, attention: NDArray[np.float32]) -> list[tuple[int, int, NDArray[np.float32]]]:
        """Layer, head and weights [T, S] of each chosen head."""
        L, H = attention.shape[:2]
        layers = range(L) if self.layer is None else [self.layer]
        heads = range(H) if self.head is None else [self.head]
        return [(layer, head, attention[layer, head]) for layer in layers for head in heads]


class DrawnLine(NamedTuple):
    """A line of the input and its pictures, each with its kind; `missing`: the reason if there are no pictures."""

    number: int  # from 1
    translation: Translation
    missing: str | None
    pictures: Iterable[tuple[str, "Figure"]]


def write_files(done: Sequence[Translation], choice: Choice, folder: Path, ending: str) -> list[str]:
    """Writes each picture to a file (001.png, 001_bipartite.png, 001_heads.png, …) and returns the names."""
    names = []
    digits = max(3, len(str(len(done))))
    for line in drawn(done, choice):
        for kind, figure in line.pictures:
            name = f"{line.number:0{digits}}{'' if kind == 'attention' else '_' + kind}.{ending}"
            save_figure(figure, folder / name)
            names.append(name)
    return names


def write_page(done: Sequence[Translation], choice: Choice, folder: Path, model: str, given: bool) -> list[str]:
    """Writes one page with every sentence, and returns its name; `given`: the translations are not the model's own."""
    picked = {"layer": choice.layer, "head": choice.head}
    values = {
        "model": model,
        "picked": [f"{key} {number + 1}" for key, number in picked.items() if number is not None],
        "given": given,
        "lines": drawn(done, choice),
        "svg_text": svg_text,
    }
    with open(folder / PAGE_FILE, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(page("attention.html", values))
    return [PAGE_FILE]


def drawn(done: Sequence[Translation], choice: Choice) -> Iterator[DrawnLine]:
    """Every line; stderr names the lines that have nothing to draw."""
    for number, translation in enumerate(done, start=1):
        if translation.attention is not None and translation.attention.size:
            yield DrawnLine(number, translation, None, translation_pictures(translation, choice))
        else:
            pieces = len(translation.src_pieces)
            is_long = translation.attention is None and pieces > LONGEST_PART
            missing = f"it has {pieces:,} pieces, more than {LONGEST_PART:,}" if is_long else EMPTY
            print(f"line {number}: nothing to draw, {missing}", file=sys.stderr)
            yield DrawnLine(number, translation, missing, ())


def translation_pictures(translation: Translation, choice: Choice) -> Iterator[tuple[str, "Figure"]]:
    """Each picture with its kind: heat map, bipartite drawing, and panels if several heads are chosen."""
    assert translation.attention is not None
    pieces = translation.src_pieces, translation.tgt_pieces
    chosen = choice.of(translation.attention)
    mean = word_attention(np.mean([weights for _, _, weights in chosen], axis=0), *pieces)
    yield "attention", attention_figure(*mean)
    yield "bipartite", bipartite_figure(*mean)
    if len(chosen) > 1:
        L, H = translation.attention.shape[:2]
        panels: list[Panel] = []
        for layer, head, weights in chosen:
            title = ", ".join([f"layer {layer + 1}"] * (L > 1) + [f"head {head + 1}"] * (H > 1))
            panels.append((title, *word_attention(weights, *pieces)))
        yield "heads", panels_figure(panels)


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """A folder to write in; when all of its files are written, they move to `output`, one after another."""
    place = f"into {output}"
    try:
        with folder_beside(output) as beside:
            yield beside
            output.mkdir(exist_ok=True)
            for file in sorted(beside.iterdir()):
                place = str(output / file.name)
                put_in_place(file, output / file.name)
    except OSError as error:
        raise DataError(f"cannot write {place} ({error.strerror}); choose another output=") from None
