"""Tests of scripts that start `nmt` many times may run it in their own process, which imports once."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import pytest

import processes
from nmt.cli.main import main

NMT = [sys.executable, "-m", "nmt.cli.main"]


@pytest.fixture
def nmt_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An nmt command that benches start runs here."""
    ended = processes.ended

    def here(command: Sequence[str], **options: Any) -> int:
        if list(command[:3]) != NMT or options not in ({}, {"stdout": sys.stderr}):
            return ended(command, **options)
        with redirect_stdout(options.get("stdout") or sys.stdout):
            return main(command[3:])

    for module in ("bench.processes", "bench.recipes"):
        monkeypatch.setattr(f"{module}.ended", here)
