"""Pictures can be drawn and saved for any tokens; the terminal grid keeps its columns."""

import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import font_manager

from nmt.errors import ConfigError, DataError
from nmt.figures import fonts
from nmt.figures.attention import attention_figure, bipartite_figure
from nmt.figures.curves import bleu_by_length_figure
from nmt.figures.figure import save_figure, svg_text
from nmt.figures.terminal import SHADES, attention_text, display_width
from nmt.scoring.metrics import LengthBucket

TOKENS = ["▁The", "ing", "▁", "", "$x_1$", "\\", "<0xE4>", "</s>", "▁Donaudampfschifffahrt", "\t", "\u200d"]
TOKENS += ["我们", "。", "한국어", "\u1100\u1161", "▁الكلب", "नमस्ते", "ñ", "n\u0303a", "e\u0301", "😀"]
KINDS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def weights(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(max(columns, 1), 0.2), size=rows)[:, :columns]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("columns", [20, 43, 80, 200])
def test_every_line_of_the_terminal_grid_is_equally_wide_and_fits(seed: int, columns: int) -> None:
    rng = random.Random(seed)
    src, tgt = (rng.choices(TOKENS, k=rng.randint(0, 40)) for _ in range(2))
    lines = attention_text(weights(len(tgt), len(src), seed), src, tgt, columns).split("\n")
    assert len({display_width(line) for line in lines}) == 1
    assert display_width(lines[0]) <= columns


def cells(text: str, src: int, tgt: int, columns: int) -> list[list[str]]:
    """The grid read back: a row for each target word, a shade for each source word, all parts joined."""
    rows: list[list[str]] = [[] for _ in range(tgt)]
    for line in text.split("\n"):
        label, _, shades = line.partition("| ")
        if shades and label.startswith("t"):
            rows[int(label[1:])] += [shades[i : i + 2] for i in range(0, len(shades), 2)]
    return [row[:src] for row in rows]


@pytest.mark.parametrize("columns", [30, 80])
def test_the_terminal_grid_shows_every_weight_once_in_its_shade(columns: int) -> None:
    S, T = 12, 9
    alpha = weights(T, S)
    text = attention_text(alpha, ["s"] * S, [f"t{j}|" for j in range(T)], columns)
    found = cells(text, S, T, columns)
    for j in range(T):
        for i in range(S):
            best = max(least for _, least in SHADES if alpha[j, i] >= least)
            assert found[j][i] == {least: shade for shade, least in SHADES}[best] * 2


def test_source_tokens_are_written_downwards_over_their_column() -> None:
    lines = attention_text(weights(1, 3), ["▁ab", "我们", "c"], ["x"], 80).split("\n")
    assert [line[2:7] for line in lines[:2]] == ["a 我  ", "b 们c "]


def test_display_width_of_wide_and_combining_characters() -> None:
    widths = {"": 0, "abc": 3, "我们": 4, "e\u0301": 1, "n\u0303o": 2, "ｗ": 2, "\u200b": 0}
    assert {text: display_width(text) for text in widths} == widths


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 1), (3, 25), (21, 4)])
def test_attention_is_drawn_for_any_tokens(tmp_path: Path, suffix: str, rows: int, columns: int) -> None:
    src, tgt = (TOKENS * 2)[:columns], TOKENS[:rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = attention_figure(weights(rows, columns), src, tgt)
        save_figure(figure, tmp_path / f"picture{suffix}")
    assert (tmp_path / f"picture{suffix}").read_bytes().startswith(KINDS[suffix])


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    for suffix in (".png", ".svg", ".pdf"):
        for name in "ab":
            save_figure(attention_figure(weights(3, 4), list("abcd"), list("xyz")), tmp_path / (name + suffix))
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_all_labels_lie_inside_the_picture() -> None:
    figure = attention_figure(weights(4, 30), ["▁Donaudampfschifffahrt"] * 30, ["a", "▁Gesellschaften", "c", "d"])
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def test_svgs_for_one_page_share_no_ids() -> None:
    drawings = [svg_text(attention_figure(weights(3, 4, seed), list("abcd"), list("xyz"))) for seed in range(3)]
    found = []
    for drawing in drawings:
        element = ElementTree.fromstring(drawing)
        assert element.tag == "{http://www.w3.org/2000/svg}svg"
        ids = [node.attrib["id"] for node in element.iter() if "id" in node.attrib]
        used = re.findall(r'(?:href="|url\()#([^")]+)', drawing)
        assert used
        assert set(used) <= set(ids)
        assert not re.search(r"\d{4}-\d\d-\d\dT", drawing), "a date"
        found += ids
    assert len(found) == len(set(found))


def test_many_lines_of_any_name_are_drawn(tmp_path: Path) -> None:
    buckets = [LengthBucket(1, 5, 10, 90.0), LengthBucket(6, 20, 10, 60.0)]
    figure = bleu_by_length_figure({f"system $n$ {n}": buckets for n in range(8)} | {"empty": []})
    save_figure(figure, tmp_path / "lines.svg")
    assert "<!-- system $n$ 7 -->" in (tmp_path / "lines.svg").read_text("utf-8")
    save_figure(bleu_by_length_figure({}), tmp_path / "nothing.png")


def test_unknown_kinds_of_picture_and_bad_folders_are_refused(tmp_path: Path) -> None:
    figure = attention_figure(weights(2, 2), list("ab"), list("cd"))
    for name in ("picture.jpg", "picture"):
        with pytest.raises(ConfigError, match=r"\.png, \.svg or \.pdf"):
            save_figure(figure, tmp_path / name)
    with pytest.raises(DataError, match=r"cannot write the picture .*missing/x\.png; choose another folder"):
        save_figure(figure, tmp_path / "missing" / "x.png")
    assert list(tmp_path.iterdir()) == []


def test_characters_without_a_font_become_code_points_with_one_line_that_names_a_package(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fonts, "_other_fonts", lambda: [])
    monkeypatch.setattr(fonts, "_named", set())
    fonts._family.cache_clear()
    try:
        assert fonts.drawable("a我b") == "a[6211]b"
        assert fonts.drawable("们") == "[4EEC]"
        assert fonts.drawable("b\nb") == "b\nb"
        assert fonts.families("b\nb") == [fonts.USUAL_FONT]
        [message] = caplog.messages
        assert "such as [6211] for 我, instead; " in message
        assert "apt install fonts-noto-cjk" in message
        assert "\n" not in message
        assert fonts.families("a") == [fonts.USUAL_FONT]
        for draw in (attention_figure, bipartite_figure):
            drawn = svg_text(draw(np.eye(2), ["我", "a"], ["们", "b"]))
            assert all(f"<!-- {label} -->" in drawn for label in ("[6211]", "[4EEC]", "a", "b"))
        assert len(caplog.messages) == 1
        fonts.drawable("\U0001fae0กก")
        assert "such as [1FAE0] for \U0001fae0, instead; install one, such as Symbola" in caplog.messages[1]
        assert "such as [0E01] for ก, instead; install one, such as Noto Sans (" in caplog.messages[2]
    finally:
        fonts._family.cache_clear()


RARE = "\U000302a6"  # an ideograph that hardly any font has


@pytest.mark.slow
def test_a_new_font_is_drawn_with_and_what_is_missing_is_one_line(tmp_path: Path) -> None:
    """As a user meets it: another process, with and without a font for the character."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    code = (
        "import numpy as np; from nmt.figures.attention import attention_figure as draw;"
        "from nmt.figures.figure import svg_text;"
        f"print(svg_text(draw(np.eye(2), ['a', {RARE!r}], ['c', 'd'])))"
    )
    pen = TTGlyphPen(None)
    for point in ((0, 0), (0, 700), (700, 700), (700, 0)):
        (pen.lineTo if point != (0, 0) else pen.moveTo)(point)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "rare"])
    builder.setupCharacterMap({ord(RARE): "rare"})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "rare": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "rare": (1000, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Own Font", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    (tmp_path / "fonts").mkdir()
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path / "cache")}
    for installed in (False, True):
        if installed:
            builder.save(tmp_path / "fonts" / "own.ttf")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        assert ("<!-- [302A6] -->" in done.stdout) != installed
        assert (f"<!-- {RARE} -->" in done.stdout) == installed
        lines = [line for line in done.stderr.splitlines() if "font" in line]
        assert len(lines) == (not installed)
        assert installed or "apt install fonts-noto-cjk" in lines[0]


def test_a_font_is_found_by_the_characters_it_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = {"first": "我", "second": "我们"}
    monkeypatch.setattr(fonts, "_other_fonts", lambda: [("First", "first"), ("Second", "second")])
    monkeypatch.setattr(fonts, "_coverage", lambda path: {ord(c) for c in coverage.get(path, "ab")})
    fonts._family.cache_clear()
    try:
        assert fonts.families("a我们") == [fonts.USUAL_FONT, "First", "Second"]
        assert fonts.drawable("a我们") == "a我们"
    finally:
        fonts._family.cache_clear()


def test_fonts_without_serifs_come_first_each_by_its_upright_file_nearest_to_normal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = [
        ("Alpha Serif", "normal", 400),
        ("Zeta Sans", "normal", 700),
        ("Zeta Sans", "italic", 400),
        ("Zeta Sans", "normal", 500),
        ("Zeta Sans", "normal", 200),
        ("Beta Gothic", "normal", 900),
        ("Last Resort High-Efficiency", "normal", 400),
        ("Alpha Serif", "normal", 400),  # which of two alike never depends on their order
    ]
    entries = [
        font_manager.FontEntry(fname=f"{n}.ttf", name=name, style=style, weight=weight)
        for n, (name, style, weight) in enumerate(files)
    ]
    for order in (entries, entries[::-1]):
        monkeypatch.setattr(font_manager.fontManager, "ttflist", order)
        monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])
        found = fonts._other_fonts.__wrapped__()
        assert found == [("Beta Gothic", "5.ttf"), ("Zeta Sans", "3.ttf"), ("Alpha Serif", "0.ttf")]


def test_importing_the_module_does_not_import_matplotlib() -> None:
    code = "import sys, nmt.figures.figure; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
