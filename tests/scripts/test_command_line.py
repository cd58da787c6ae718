"""One entry point a folder: every part is found, from anywhere, and a mistake is one line."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_line import SCRIPTS, above_zero, new_parser, one_or_more, own_and_words, run
from nmt.errors import DataError

FOLDERS = sorted(path.name for path in SCRIPTS.iterdir() if path.is_dir() and any(path.glob("*.py")))
PARTS: dict[str, dict[str, str]] = {
    folder: getattr(importlib.import_module(f"{folder}.__main__"), "PARTS", {}) for folder in FOLDERS
}
SEVERAL = [folder for folder in FOLDERS if PARTS[folder]]  # the others do one thing only


@pytest.mark.parametrize(("folder", "part"), [(folder, part) for folder in SEVERAL for part in ("", *PARTS[folder])])
def test_every_part_says_how_it_is_called(folder: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As it can be typed, and the examples in its text too."""
    with pytest.raises(SystemExit) as stop:
        run(folder, PARTS[folder], [*part.split(), "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    called = f"python scripts/{folder} {part}".strip()
    assert shown.startswith(f"usage: {called} [")
    assert f"    {called} " in shown or f"    make {folder} " in shown


@pytest.mark.parametrize("folder", SEVERAL)
def test_an_unknown_part_is_one_line_from_anywhere(folder: str, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / folder), "nonsense", "--seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    known = ", ".join(PARTS[folder])
    assert done.stderr == f"error: no part 'nonsense' in scripts/{folder}; choose from: {known}\n"
    assert (done.returncode, done.stdout) == (2, "")


def test_the_demo_corpus_is_written_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(SCRIPTS / "demo_corpus"), "--more", "-1"], cwd=tmp_path, stderr=-1)
    assert done.returncode == 2
    assert done.stderr.endswith(b"error: --more is -1; give 0 or more pairs\n")


def test_a_mistake_in_a_part_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def main(words: Sequence[str]) -> int:
        raise DataError(f"no {words[0]}")

    monkeypatch.setitem(sys.modules, "small_part", SimpleNamespace(main=main))  # type: ignore[misc]
    assert run("folder", {"part": "small_part"}, ["part", "corpus"]) == 2
    assert capsys.readouterr().err == "error: no corpus\n"


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (one_or_more, "0", "argument --n: 0 is not a whole number from 1 on"),
        (one_or_more, "1.5", "argument --n: 1.5 is not a whole number from 1 on"),
        (above_zero, "nan", "argument --n: nan is not a number above 0"),
        (above_zero, "inf", "argument --n: inf is not a number above 0"),
        (above_zero, "few", "argument --n: few is not a number above 0"),
        (int, "1 --secnds 3 seed=1", "no option --secnds; --help lists them"),
    ],
)
def test_options_that_measure_nothing_or_are_none_are_refused(
    kind: Callable[[str], Any], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = new_parser("x", None)
    parser.add_argument("--n", type=kind)
    with pytest.raises(SystemExit) as stop:
        own_and_words(parser, ["--n", *text.split()])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_numbers_are_read_and_words_are_left() -> None:
    parser = new_parser("x", None)
    parser.add_argument("--n", type=above_zero)
    arguments, words = own_and_words(parser, ["seed=1", "--n", "0.5", "a.b=c"])
    assert (arguments.n, words) == (0.5, ["seed=1", "a.b=c"])


def test_a_part_that_is_interrupted_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(words: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "small_part", SimpleNamespace(main=main))  # type: ignore[misc]
    assert run("folder", {"part": "small_part"}, ["part"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
