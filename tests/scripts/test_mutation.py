"""Mutants of a small file are the changes that they should be; each takes its function's place and leaves no trace."""

import importlib
import sys
from pathlib import Path

import pytest

from command_line import ROOT
from mutation import run
from mutation.mutants import Mutant, mutants
from mutation.targets import TARGETS

SOURCE = '''
"""A file."""

LIMIT = 2


class Box:
    """A box."""

    def __init__(self, size: int = 3) -> None:
        self.size = size

    @property
    def room(self) -> int:
        """What is left."""
        assert self.size >= 0
        if self.size < 1 and not LIMIT:
            raise ValueError(f"size is {self.size - 1}")
        return self.size * 2


def tail(values: list[int], count: int | None, /) -> list[int]:
    kept = sorted(values, reverse=True)[1:count]
    return [] if count is None else kept
'''
EXPECTED = {
    "__init__": {"pass"},
    "room": {
        "if True:", "if False:", "if (self.size <= 1) and not LIMIT:", "if (self.size >= 1) and not LIMIT:",
        "if self.size < 2 and not LIMIT:", "if (self.size < 1 or not LIMIT):", "if self.size < 1 and (LIMIT):", "pass",
        "return -(self.size * 2)", "return (self.size / 2)", "return self.size * 3",
    },
    "tail": {
        "kept = sorted(values)[1:count]", "kept = (values)[1:count]", "kept = sorted(values, reverse=False)[1:count]",
        "kept = sorted(values, reverse=True)[:count]", "kept = sorted(values, reverse=True)[1:]",
        "kept = sorted(values, reverse=True)[2:count]", "return ([])", "return (kept)",
        "return [] if (count is not None) else kept",
    },
}  # fmt: skip


@pytest.fixture
def found(tmp_path: Path) -> list[Mutant]:
    (tmp_path / "boxes.py").write_text(SOURCE)
    return mutants(tmp_path, Path("boxes.py"))


def test_every_change_of_behaviour_is_there_once_and_nothing_else(found: list[Mutant], tmp_path: Path) -> None:
    changed: dict[str, list[str]] = {}
    for mutant in found:
        before, after = SOURCE.splitlines(), mutant.apply(SOURCE.encode()).decode().splitlines()
        differ = [new.strip() for old, new in zip(before, after, strict=True) if old != new]
        changed.setdefault(mutant.function.split(".")[-1], []).extend(differ)
        assert f"+{after[mutant.line - 1]}" in mutant.diff(tmp_path).splitlines()
    assert {name: sorted(lines) for name, lines in changed.items()} == {k: sorted(v) for k, v in EXPECTED.items()}


@pytest.mark.slow
def test_every_mutant_has_a_function_to_replace_and_every_exception_a_mutant() -> None:
    every = [mutant for path in TARGETS for mutant in mutants(ROOT, Path(path))]
    changes = {run.change(mutant) for mutant in every}
    assert run.equivalents() <= changes, run.equivalents() - changes
    for mutant in every:
        run.replacement(mutant)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "nosuchfile"], "--only nosuchfile: no path contains it; choose from: nmt/model/additive.py"),
        (["--mutants", "5", "--numbers", "99"], "--numbers: 99 is not in the sample; it has 0 to 4"),
        (["--survivors", "nowhere/s.diff"], "--survivors nowhere/s.diff cannot be written; name a folder that exists"),
    ],
)
def test_a_sample_of_nothing_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run.main(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_mutant_takes_the_place_of_its_function(
    found: list[Mutant], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(run, "ROOT", tmp_path)
    boxes = importlib.import_module("boxes")
    box = boxes.Box()
    assert box.room == 6
    for mutant in found:
        if "* 3" in mutant.apply(SOURCE.encode()).decode():
            function, code = run.replacement(mutant)
            function.__code__ = code
    monkeypatch.delitem(sys.modules, "boxes")
    assert box.room == boxes.Box().room == 9
    assert (tmp_path / "boxes.py").read_text() == SOURCE
