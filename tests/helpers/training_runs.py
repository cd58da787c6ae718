"""Training runs of a few updates, in this process, from the configuration that ships."""

import json
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from helpers.models import defaults, model_config, section
from helpers.small_corpora import make_pairs
from nmt.config.changes import Changes
from nmt.config.plain import overlay
from nmt.config.run import RunConfig, read_run_config
from nmt.training import run
from nmt.training.trainer import Trainer
from torture.same_run import differences


def write_corpus(folder: Path, pairs: list[tuple[str, str]], name: str = "train") -> None:
    """Two text files."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, suffix in enumerate(("src", "tgt")):
        (folder / f"{name}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")


def corpus(folder: Path, count: int = 100) -> Path:
    """A folder with a corpus to train on, and the cache of what is prepared from it."""
    write_corpus(folder, make_pairs(count))
    return folder


def run_config(data: Path, runs: Path, **changes: Any) -> RunConfig:
    """A small run in fp32; `changes` are dotted keys with two underscores for the dot."""
    values = defaults() | model_config(attention="general")
    values["tokenizer"] = section("tokenizer", "unigram", vocab_size=60, byte_fallback=False)
    values["data"] = section("data", "text", root=str(data), tgt_lang="de", dev_size=10, test_size=0)
    values["data"]["train"] = {"src": "train.src", "tgt": "train.tgt", "files": None, "weights": None}
    values["schedule"] = section("schedule", "constant")
    values["search"] = values["search"] | {"beam": 1, "max_length_a": 5, "max_length_b": 1.0}
    values |= {"name": "run", "runs_dir": str(runs), "cache_dir": str(data / "cache")}
    values["train"] = values["train"] | {
        "batch_tokens": 400, "max_epochs": None, "max_updates": 11, "precision": "fp32", "device": "cpu",
        "validate_every": 4, "log_every": 3, "examples": 0, "patience": None, "keep_best": 2,
    }  # fmt: skip
    typed = {key.replace("__", "."): value for key, value in changes.items()}
    return read_run_config(overlay(values, typed, sorted({key.split(".")[0] for key in typed})), [])


def start(data: Path, runs: Path, **changes: Any) -> int:
    """`nmt train` of a new run RUNS/run, its changes typed; the exit code."""
    typed = {key.replace("__", "."): value for key, value in changes.items()}
    return run.start(run_config(data, runs, **changes), Changes(typed))


def resume(folder: Path, **changes: Any) -> int:
    """`nmt train resume=RUN` with dotted keys typed, and allowed to change."""
    typed = {key.replace("__", "."): value for key, value in changes.items()}
    return run.resume(folder, Changes(typed), allowed=list(typed))


@contextmanager
def signals_after(updates: Collection[int], number: int = signal.SIGINT) -> Iterator[None]:
    """The process gets a signal at the end of these updates."""
    update = Trainer.update

    def stopping(trainer: Trainer) -> None:
        update(trainer)
        if trainer.progress.update in updates:
            signal.raise_signal(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "update", stopping)
        yield


def metrics(run: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """metrics.jsonl without what the clock decides."""
    entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    clock = ("tokens_per_s", "data_waiting_share")
    return [{k: v for k, v in e.items() if k not in clock} for e in entries if kind in (None, e["kind"])]


def tensors(path: Path) -> dict[str, torch.Tensor]:
    """Content of a safetensors file, read independently of nmt."""
    return dict(load_file(path))


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """Equal bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def assert_same(a: Path, b: Path) -> None:
    """Two run folders hold the same, bit for bit, names and clock aside."""
    assert list(differences(a, b)) == []
