"""Curves: means and bands of runs, lines that can be told apart, a legend that covers nothing."""

import math

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from nmt.figures.curves import LINES, bleu_by_length_figure, curves_figure, summary
from nmt.figures.figure import pixels, svg_text
from nmt.scoring.metrics import LengthBucket


def run(seed: int, points: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    return [(100.0 * n, float(y)) for n, y in enumerate(rng.normal(size=points), start=1)]


def lines(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    found = figure.axes[0].get_lines()
    return {str(line.get_label()): list(zip(*line.get_data(), strict=True)) for line in found}


def test_one_run_is_its_own_line() -> None:
    points = run(0, 7)
    assert lines(curves_figure({"a": [points]}, "updates", "BLEU"))["a"] == points
    assert not [
        c for c in curves_figure({"a": [points]}, "x", "y").axes[0].collections if isinstance(c, PolyCollection)
    ]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_line_is_the_mean_and_the_band_holds_every_run(count: int) -> None:
    runs = [run(seed, 6) for seed in range(count)]
    x, mean, low, high = summary(runs)
    ys = np.array(runs)[:, :, 1]
    np.testing.assert_allclose(x, np.array(runs)[0, :, 0])
    np.testing.assert_allclose(mean, ys.mean(0))
    np.testing.assert_allclose([low, high], [ys.min(0), ys.max(0)])
    np.testing.assert_array_equal(summary(runs[::-1])[[0, 2, 3]], [x, low, high])
    figure = curves_figure({"a": runs}, "x", "y")
    np.testing.assert_allclose(lines(figure)["a"], np.stack([x, mean], axis=1))
    [band] = [child for child in figure.axes[0].collections if isinstance(child, PolyCollection)]
    assert {(a, b) for a, b in zip(x, low, strict=True)} <= set(map(tuple, band.get_paths()[0].vertices))


def test_runs_of_other_points_are_straight_between_them_and_count_only_while_they_last() -> None:
    x, mean, low, high = summary([[(0.0, 0.0), (4.0, 4.0)], [(1.0, 3.0), (2.0, 2.0)]])
    assert x.tolist() == [0, 1, 2, 4]
    assert mean.tolist() == [0, 2, 2, 4]
    assert low.tolist() == [0, 1, 2, 4]
    assert high.tolist() == [0, 3, 2, 4]


def test_numbers_that_are_none_are_left_out() -> None:
    points = [(1.0, 2.0), (2.0, math.nan), (3.0, math.inf), (4.0, 5.0)]
    assert summary([points, []])[:2].tolist() == [[1, 4], [2, 5]]
    assert summary([[(1.0, math.nan)], []]).shape == (4, 0)
    assert summary([]).shape == (4, 0)


def test_lines_are_told_apart_in_colour_and_in_grey() -> None:
    assert len(LINES) >= 12
    assert len({marker for _, marker, _ in LINES}) == len(LINES)
    assert len({(color, str(dashes)) for color, _, dashes in LINES}) == len(LINES)
    for color, _, _ in LINES:
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        assert 0.299 * red + 0.587 * green + 0.114 * blue < 190, "too light for paper"


@pytest.mark.parametrize("count", [1, 3, 12, 20])
def test_the_legend_names_every_line_beside_the_axes(count: int) -> None:
    names = [f"encoder=rnn, attention=number_{n}" if n else "_all" for n in range(count)]
    figure = curves_figure({name: [run(n, 30)] for n, name in enumerate(names)}, "updates", "BLEU")
    pixels(figure)
    [legend] = figure.legends
    assert [text.get_text().lstrip("\u200b") for text in legend.get_texts()] == names
    box, plot = legend.get_window_extent(), figure.axes[0].get_window_extent()
    assert box.x0 >= plot.x1
    assert plot.width > 300
    width, height = figure.get_size_inches() * figure.dpi
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1


def test_bleu_by_length_has_a_line_for_each_system_and_one_bar_for_each_bucket() -> None:
    buckets = [LengthBucket(1, 5, 10, 90.0), LengthBucket(6, 20, 10, 60.0)]
    figure = bleu_by_length_figure({f"system {n}": buckets for n in range(8)} | {"empty": []})
    drawn = lines(figure)
    assert all(drawn[f"system {n}"] == [(3.0, 90.0), (13.0, 60.0)] for n in range(8))
    bars = [points for points in drawn.values() if all(y == 0 for _, y in points) and points]
    assert [(math.ceil(start), math.floor(end)) for (start, _), (end, _) in bars] == [(1, 5), (6, 20)]
    assert figure.axes[0].get_ylim()[0] == 0


def test_the_same_curves_give_the_same_svg() -> None:
    first, second = (svg_text(curves_figure({"a": [run(0, 9), run(1, 9)]}, "x", "y")) for _ in range(2))
    assert first == second
