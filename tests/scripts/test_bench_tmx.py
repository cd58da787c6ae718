"""`bench tmx`: the memory that it writes is read whole, and the table says how fast and in how much memory."""

import re
from pathlib import Path

import pytest

from bench.tmx import main, reading, units


def test_every_unit_is_a_pair_of_its_own(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text("".join(units(300)), "utf-8")
    assert memory.read_text("utf-8").count("<tu ") == 300
    found = reading(memory, alone=False)
    assert found.wall_s > 0
    assert found.peak_mb > 1
    assert [path.name for path in tmp_path.iterdir()] == ["memory.tmx"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--alone"]])
def test_each_round_has_a_row_and_the_bars_are_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--units", "200", "--rounds", "1", *words]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^\| 200 \| [\d,]+ \| [\d,]+ \| \d+% \|$", out, re.MULTILINE)) == 1
    assert "units/s (bar 50,000), most" in out.splitlines()[-1]


@pytest.mark.parametrize("words", [["--units", "0"], ["--rounds", "0"]])
def test_mistakes_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(words)
    assert error.value.code == 2
    assert words[0] in capsys.readouterr().err
