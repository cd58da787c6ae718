"""Tables: columns that are aligned on a terminal, and Markdown."""

from hypothesis import given
from hypothesis import strategies as st

from nmt.figures.table import grid, markdown_table, text_table
from nmt.figures.terminal import display_width

cells = st.text(st.sampled_from("aZ |é一界\u0301\uff21ᵀ√0"), min_size=1).map(lambda text: f"x{text}x")


def test_numbers_are_at_the_right_and_text_at_the_left() -> None:
    rows = [["name", "BLEU", "95 % interval", "n", "signature"]]
    rows += [["a", "9.50", "8.00 to 11.00", "—", "x:1"], ["longer", "-10.25", "9.00 to 12.00", "1,000", "longer:1"]]
    assert text_table(rows).splitlines() == [
        "name      BLEU  95 % interval      n  signature",
        "a         9.50  8.00 to 11.00      —  x:1",
        "longer  -10.25  9.00 to 12.00  1,000  longer:1",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert text_table([["狗", "n"], ["ab", "1"], ["e\u0301", "2"]]).splitlines() == ["狗  n", "ab  1", "e\u0301   2"]


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)))
def test_a_column_begins_at_the_same_place_in_every_line(rows: list[list[str]]) -> None:
    lines = text_table(rows).split("\n")
    assert all(line.endswith(row[-1]) for line, row in zip(lines, rows, strict=True))
    begins = {display_width(line) - display_width(row[-1]) for line, row in zip(lines, rows, strict=True)}
    assert len(begins) == 1


def test_markdown_keeps_bars_and_aligns_numbers_at_the_right() -> None:
    assert markdown_table([["a|b", "c"], ["d", "1"]]) == "| a\\|b | c |\n|---|---:|\n| d | 1 |"


def test_a_grid_has_every_key_once_and_a_dash_where_a_row_has_none() -> None:
    assert grid([{"name": "x"}, {"name": "y", "n": "1"}]) == [["name", "n"], ["x", "—"], ["y", "1"]]
