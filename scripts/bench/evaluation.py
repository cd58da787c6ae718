"""Scores of a trained run, by `nmt evaluate` as a user starts it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.processes import run_nmt


class Score(NamedTuple):
    """Of one metric."""

    score: float
    signature: str


def evaluated(run: Path, words: Sequence[str], folder: Path) -> dict[str, Score]:
    """By the metrics' names. Where `folder`, into which these words write, has scores, they are read."""
    file = folder / "scores.json"
    if not file.exists():
        run_nmt(["evaluate", f"model={run}", "precision=float", *words])
    scores = json.loads(file.read_text("utf-8"))["scores"]
    return {each["name"]: Score(each["score"], each["signature"]) for each in scores}
