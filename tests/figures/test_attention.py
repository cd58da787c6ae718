"""Heat maps, panels and bipartite drawings: every label and every weight is there, once, and inside the picture."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from nmt.figures.attention import (
    COLOR_MAP,
    DRAWN,
    LARGEST_GRID,
    PAGE,
    Panel,
    attention_figure,
    bipartite_figure,
    label_of,
    line_width,
    panels_figure,
)
from nmt.figures.figure import pixels, svg_text

WORDS = [
    "▁The",
    "ing",
    "Donaudampfschifffahrtsgesellschaft",
    "$x$",
    "ñ",
    "->",
    "&",
    "<b>",
    ".",
    "Wort",
    "--",
    "e\u0301",
]
PICTURES = {
    "heat map": attention_figure,
    "bipartite": bipartite_figure,
    "panel": lambda weights, src, tgt: panels_figure([("one", weights, src, tgt)]),
}
SIZES = [(1, 1), (5, 5), (1, 40), (40, 3), (37, 40)]


def weights(T: int, S: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(S, 0.2), size=T)


def words(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def panel(T: int, S: int, seed: int, title: str = "title") -> Panel:
    return title, weights(T, S, seed), words(S, seed), words(T, seed + 1)


def inside(figure: Figure) -> None:
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1e-6


def lines(figure: Figure) -> LineCollection:
    [found] = [child for child in figure.axes[0].collections if isinstance(child, LineCollection)]
    return found


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize(("T", "S"), SIZES)
def test_every_label_is_drawn_once_for_each_word_and_inside(kind: str, T: int, S: int) -> None:
    src, tgt = words(S, 1), words(T, 2)
    figure = PICTURES[kind](weights(T, S), src, tgt)
    inside(figure)
    written = Counter(text.get_text() for axes in figure.axes for text in [*axes.texts, *axes.get_xticklabels()])
    written += Counter(text.get_text() for text in figure.axes[0].get_yticklabels())
    wanted = Counter(label_of(word) for word in [*src, *tgt])
    assert all(written[label] == count for label, count in wanted.items())
    drawn = Counter(re.findall(r"<!-- (.*?) -->", svg_text(figure)))
    plain = {label: count for label, count in wanted.items() if label.isalnum()}
    assert all(drawn[label] == count for label, count in plain.items())


@pytest.mark.parametrize("most", [10_000, 0])  # cells that are drawn as vectors
@pytest.mark.parametrize(("T", "S"), SIZES)
def test_every_weight_has_its_colour_where_its_words_meet(
    T: int, S: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.figures.attention.VECTORS", most)
    alpha = weights(T, S)
    alpha[alpha < 0.01] = 0
    figure = attention_figure(alpha, words(S, 1), words(T, 2))
    picture = pixels(figure)
    grid = figure.axes[0].get_window_extent()
    down = picture.shape[0] - grid.y1 + (np.arange(T) + 0.5) * grid.height / T
    across = grid.x0 + (np.arange(S) + 0.5) * grid.width / S
    drawn = picture[down.astype(int)[:, None], across.astype(int)]
    wanted = colormaps[COLOR_MAP](alpha)[..., :3] * 255
    assert np.abs(drawn - wanted).max() <= 2
    assert np.allclose(figure.axes[0].get_xticks(), np.arange(S) + 0.5)
    assert np.allclose(figure.axes[0].get_yticks(), np.arange(T) + 0.5)


@pytest.mark.slow
def test_squares_are_vectors_up_to_a_number_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def images(count: int) -> int:
        return svg_text(panels_figure([panel(4, 5, n) for n in range(count)])).count("<image")

    monkeypatch.setattr("nmt.figures.attention.VECTORS", 40)
    scale = images(1)  # the colour scale is an image in any case
    assert images(2) == scale
    assert images(3) > scale


@pytest.mark.slow
def test_darker_is_more_in_grey_too() -> None:
    def grey(weight: float) -> float:
        picture = pixels(attention_figure(np.full((4, 4), weight), [" "] * 4, [" "] * 4)).astype(float)
        height, width, _ = picture.shape
        cell = picture[int(height * 0.4) : int(height * 0.6), int(width * 0.2) : int(width * 0.5)]
        return float(np.median(cell @ [0.299, 0.587, 0.114]))

    levels = [grey(weight) for weight in np.linspace(0, 1, 9)]
    assert np.all(np.diff(levels) < 0)


@pytest.mark.parametrize(("T", "S"), SIZES)
def test_every_weight_from_the_smallest_drawn_has_one_line_between_its_words(T: int, S: int) -> None:
    alpha = weights(T, S)
    figure = bipartite_figure(alpha, [f"s{i}" for i in range(S)], [f"t{j}" for j in range(T)])
    drawn = lines(figure)
    places = {text.get_text(): np.array(text.get_position()) for text in figure.axes[0].texts}
    src, tgt = ([places[f"{side}{n}"] for n in range(count)] for side, count in (("s", S), ("t", T)))
    found = {}
    for (start, end), width in zip(drawn.get_segments(), drawn.get_linewidths(), strict=True):
        i, j = (int(np.argmin([np.abs(place - at).sum() for place in side])) for side, at in ((src, start), (tgt, end)))
        found[j, i] = width
    assert len(found) == len(drawn.get_segments())
    assert found == {(j, i): line_width(alpha[j, i]) for j in range(T) for i in range(S) if alpha[j, i] >= DRAWN}


def test_lines_grow_wider_and_darker_with_the_weight_and_the_heaviest_lies_on_top() -> None:
    alpha = np.linspace(0, 1, 25).reshape(5, 5)
    np.random.default_rng(0).shuffle(alpha)
    drawn = lines(bipartite_figure(alpha, list("abcde"), list("fghij")))
    widths = np.array(drawn.get_linewidths())
    grey = drawn.get_colors()[:, :3] @ [0.299, 0.587, 0.114]
    assert len(widths) == (alpha >= DRAWN).sum()
    assert np.all(np.diff(widths) > 0)
    assert np.all(np.diff(grey) < 0)


def test_weights_of_0_draw_no_line() -> None:
    assert not lines(bipartite_figure(np.zeros((3, 2)), list("ab"), list("cde"))).get_segments()


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize(("T", "S"), [(0, 0), (0, 3), (2, 0)])
def test_empty_sentences_can_be_drawn(kind: str, T: int, S: int) -> None:
    inside(PICTURES[kind](np.zeros((T, S)), ["a"] * S, ["b"] * T))


def test_short_sentences_stand_in_rows_and_long_ones_in_columns() -> None:
    for count, axis in ((3, 1), (14, 1), (30, 0)):
        figure = bipartite_figure(np.eye(count), ["word"] * count, ["Wort"] * count)
        assert figure.get_size_inches()[0] <= PAGE
        assert len({text.get_position()[axis] for text in figure.axes[0].texts if text.get_text() == "word"}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("T", [1, 250])
def test_pictures_of_long_sentences_stay_bounded(T: int) -> None:
    S = 250
    for kind in PICTURES:
        figure = PICTURES[kind](np.eye(T, S), ["word"] * S, ["Wort"] * T)
        assert max(figure.get_size_inches()) <= LARGEST_GRID + 5


@pytest.mark.slow
def test_panels_together_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.figures.attention.LARGEST_TOGETHER", 10.0)
    assert panels_figure([panel(30, 30, seed) for seed in range(4)]).get_size_inches()[1] <= 10 + 4 * 2


@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("longest", [3, 20])
def test_panels_keep_apart_in_their_order_on_a_page(count: int, longest: int) -> None:
    rng = random.Random(count)
    titles = [f"variant {n}" for n in range(count)]
    figure = panels_figure([panel(rng.randint(1, longest), longest, n, title) for n, title in enumerate(titles)])
    inside(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes[:count]] == titles
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for a, first in enumerate(boxes):
        assert not any(first.overlaps(second) for second in boxes[a + 1 :])
    tops = [-round(axes.get_position().y1, 6) for axes in figure.axes[:count]]
    lefts = [axes.get_position().x0 for axes in figure.axes[:count]]
    assert list(zip(tops, lefts, strict=True)) == sorted(zip(tops, lefts, strict=True))
    rows = len(set(tops))
    assert rows == 1 or figure.get_size_inches()[0] <= PAGE + 2
    assert max(Counter(tops).values()) == -(-count // rows)


def test_a_picture_without_panels_is_empty() -> None:
    assert panels_figure([]).axes == []


@pytest.mark.parametrize("kind", PICTURES)
def test_the_same_weights_give_the_same_svg(kind: str) -> None:
    first, second = (svg_text(PICTURES[kind](weights(5, 6), words(6, 1), words(5, 2))) for _ in range(2))
    assert first == second
    assert first != svg_text(PICTURES[kind](weights(5, 6, seed=1), words(6, 1), words(5, 2)))
