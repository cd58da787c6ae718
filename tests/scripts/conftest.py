"""Tests of scripts that start `nmt` many times may run it in their own process, which imports once."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import pytest

from nmt.cli.main import main

NMT = [sys.executable, "-m", "nmt.cli.main"]


@pytest.fixture
def nmt_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """`subprocess.run` of an nmt command runs it here."""
    run = subprocess.run

    def here(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
        if list(command[:3]) != NMT or options not in ({}, {"stdout": sys.stderr}):
            return run(command, **options)
        with redirect_stdout(options.get("stdout") or sys.stdout):
            code = main(command[3:])
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", here)
