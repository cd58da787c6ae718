"""Mutants of a small file are the changes that they should be; each takes its function's place and leaves no trace."""

import importlib
import sys
from pathlib import Path

import pytest

from mutation import run
from mutation.mutants import Mutant, mutants

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
