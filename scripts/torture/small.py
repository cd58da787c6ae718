"""The small runs that are tortured."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from command_line import ROOT
from nmt.machine.device import computes_bf16
from torture.victims import End, Fate, Victims

DEMO = ROOT / "data" / "demo_en_de"
PAIRS = 300  # of the demo corpus
LOW = "bf16" if computes_bf16(torch.device("cpu")) else "fp32"  # what there is to torture of low precision
WORDS = (
    "recipe=null", "data=text", "data.train.src=train.en", "data.train.tgt=train.de", "data.dev_size=20",
    "data.test_size=0",
    "tokenizer.vocab_size=350", "model.d_embed=16", "encoder.d_hidden=16", "decoder.d_hidden=16",
    "train.batch_tokens=500", "train.max_epochs=null", "train.validate_every=7",
    "train.patience=null", "train.log_every=4", "train.keep_best=2", "train.examples=0",
    "train.bleu_sentences=6", "train.device=cpu", "search=greedy", "search.max_length_a=5", "search.max_length_b=1",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What is trained."""

    name: str
    words: tuple[str, ...]
    jumping: bool = False  # the clock: wrong in every process by something else
    workers: int = 1  # of each process
    parts: int = 4  # of each update; typed, since the default follows from the cores, which may change meanwhile


def write_corpus(place: Path) -> None:
    """The first pairs of the demo corpus."""
    for side in ("en", "de"):
        lines = (DEMO / f"train.{side}").read_text("utf-8").splitlines(keepends=True)[:PAIRS]
        (place / f"train.{side}").write_text("".join(lines), "utf-8")


def words_of(place: Path, setting: Setting, name: str) -> list[str]:
    """For `nmt train` of a new run."""
    folders = [f"data.root={place}", f"runs_dir={place / 'runs'}", f"cache_dir={place / 'cache'}", f"name={name}"]
    return [*WORDS, *folders, f"train.workers={setting.workers}", f"train.parts={setting.parts}", *setting.words]


def trained(place: Path, setting: Setting, name: str, fate: Fate) -> tuple[Path, End]:
    """A new run from its beginning to its end; says why, and ends everything, if it fails."""
    run, log = place / "runs" / name, place / f"{name}.log"
    shutil.rmtree(run, ignore_errors=True)
    end = Victims(run, log).train(words_of(place, setting, name), fate)
    if end.code != 0:
        sys.exit(f"{setting.name}: a run that nothing should stop fails:\n{log.read_text()[-2000:]}")
    return run, end


def last_line(log: Path) -> str:
    """What a process said at its end."""
    return (log.read_text(errors="replace").strip().splitlines() or [""])[-1]
