"""Benchmarks in processes of their own, so that no case meets what another has left behind."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TypeVar

from command_line import SCRIPTS
from processes import ended, printed

Figures = TypeVar("Figures")


def command_of(part: str, words: Sequence[str]) -> list[str]:
    """`python scripts/bench PART WORDS`."""
    return [sys.executable, str(SCRIPTS / "bench"), part, *words]


def nmt_command(*words: str) -> list[str]:
    """`nmt WORDS`."""
    return [sys.executable, "-m", "nmt.cli.main", *words]


def train_command(processes: int | None, words: Sequence[str]) -> list[str]:
    """`nmt train WORDS`, started by torchrun as so many processes; None: as itself."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes else []
    return [sys.executable, *launcher, "-m", "nmt.cli.main", "train", *words]


def measured_apart(
    kind: type[Figures], part: str, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> Figures:
    """The figures that a new process of a benchmark prints as JSON in its last line; its failure ends this one."""
    return kind(**json.loads(printed(command_of(part, words), environment).splitlines()[-1]))


def run_nmt(words: Sequence[str]) -> None:
    """`nmt WORDS`, with its output on stderr; its failure ends this process."""
    if code := ended(nmt_command(*words), stdout=sys.stderr):
        sys.exit(code)
