"""`bench sentences`: what it counts, and what it refuses."""

import re
from pathlib import Path

import pytest

from bench.sentences import main, together


def test_cut_lines_and_joined_pairs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("Tom runs.\nMary sleeps!\nTom runs. Mary sleeps.\nno mark\n")
    (tmp_path / "b").write_text("我们。\n他走！\n")
    (tmp_path / "c").write_text("\n")
    assert main([str(tmp_path / name) for name in "abc"] + ["--show", "3"]) == 0
    first, shown, second, third = capsys.readouterr().out.splitlines()
    assert re.search(r"a: 4 lines, 1 cut, 100.00% of joined pairs cut right, [0-9.]+ MB/s$", first)
    assert shown == "  Tom runs. | Mary sleeps."
    assert re.search(r"b: 2 lines, 0 cut, 100.00% of joined pairs cut right, ", second)
    assert "c: 1 lines, 0 cut, no pair to join, " in third


def test_chinese_is_joined_without_a_space() -> None:
    assert together("Tom runs.", "Mary sleeps!") == "Tom runs. Mary sleeps!"
    assert together("我们。", "他走！") == "我们。他走！"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "none")])
    assert "none; check the path" in capsys.readouterr().err
