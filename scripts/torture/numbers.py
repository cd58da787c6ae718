"""Puts infinities and NaN into losses, gradients and weights of training runs, and takes their memory.

    python scripts/torture numbers                      (60 faults)
    python scripts/torture numbers --faults 600 --seed 2

Each run meets faults at random updates. With train.on_nonfinite=skip every faulty update must be skipped and counted,
and the run come to its end; one that stops (train.on_nonfinite=stop) and is resumed with skip must come to the same
bits. Spoiled weights must stop the run, and it must go on from its last checkpoint to the bits of a run that nothing
happened to. A batch that memory does not hold must be halved, with the same weights except for rounding. No file may
ever hold NaN or an infinity. Exit code 1 if anything is lost.
"""

import argparse
import functools
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import torch
from safetensors.torch import load_file

from command_line import new_parser
from nmt.data.batch import Batch
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, read_record
from nmt.training import step
from nmt.training.loss import batch_loss
from nmt.training.trainer import Trainer
from torture.outcomes import add_options, check_work, conclude, lost
from torture.same_run import differences
from torture.small import LOW, Setting, last_line, trained, words_of, write_corpus
from torture.victims import Fate, Victims

UPDATES = 30
# Without dropout, so that a halved batch changes nothing but rounding.
PLAIN = (
    f"train.max_updates={UPDATES}", "schedule=constant", "optimizer.lr=0.005", "model.embed_dropout=0",
    "encoder.dropout=0", "decoder.dropout=0",
)  # fmt: skip
SETTINGS = (
    Setting("float32", (*PLAIN, "train.precision=fp32"), parts=1),  # a part of several may be one pair: it stays whole
    Setting(f"{LOW}, gradient accumulation", (*PLAIN, f"train.precision={LOW}", "train.accumulate=2"), parts=1),
)
APART = {"fp32": 1e-3, "bf16": 0.05}  # weights of 30 updates at this rate, which move them by up to 0.15
VALUES = (float("nan"), float("inf"), -float("inf"))
Where = Literal["loss", "gradient", "weight"]
KINDS: tuple[Where | Literal["memory"], ...] = ("loss", "gradient", "weight", "memory")
PER_RUN = 5  # faults of a run whose updates are skipped


def main(words: Sequence[str]) -> int:
    """Injects faults into runs of every kind in turn; prints the counts."""
    arguments = parse_arguments(words)
    chance, start = random.Random(arguments.seed), perf_counter()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        place = Path(folder)
        write_corpus(place)
        whole = {setting: trained(place, setting, setting.name[:4], Fate())[0] for setting in SETTINGS}
        number = 0
        while sum(counts.values()) < arguments.faults:
            setting = SETTINGS[number % len(SETTINGS)]
            kind = KINDS[number // len(SETTINGS) % len(KINDS)]
            number += 1
            if kind == "memory":
                counts["memory of a batch", little_memory(place, setting, whole[setting], chance)] += 1
            elif kind == "weight":
                counts["weight", spoiled_weight(place, setting, whole[setting], chance)] += 1
            else:
                updates = sorted(chance.sample(range(1, UPDATES + 1), PER_RUN))
                counts[kind, skipped(place, setting, kind, updates, chance.choice(VALUES))] += PER_RUN
    return conclude("fault in", counts, start)


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("torture numbers", __doc__)
    parser.add_argument("--faults", type=int, default=60, help="at least, in all (60)")
    add_options(parser)
    arguments = parser.parse_args(words)
    if arguments.faults < 1:
        parser.error(f"--faults {arguments.faults} injects nothing; give 1 or more")
    check_work(parser, arguments.work)
    return arguments


def spoil(where: Where, updates: list[int], value: float) -> None:
    """From now on, in this process, these updates meet the value in their loss, gradient or weights."""
    update = Trainer.update

    def spoiled(model: Seq2Seq, batch: Batch, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        loss, plain = batch_loss(model, batch, *given)
        if where == "loss":
            return loss * value, plain * value
        loss.register_hook(lambda gradient: gradient * value)  # type: ignore[no-untyped-call]
        return loss, plain

    def watched(trainer: Trainer) -> None:
        bad = trainer.progress.update + 1 in updates
        if where == "weight" and bad:
            next(trainer.model.parameters()).data[1] = value
        replace(step, "batch_loss", spoiled if bad and where != "weight" else batch_loss)
        update(trainer)

    replace(Trainer, "update", watched)


def replace(owner: Any, name: str, value: Any) -> None:
    """Puts the value in place of what has this name."""
    setattr(owner, name, value)


def starve(pairs: int, updates: range) -> None:
    """From now on, in this process, memory holds so many pairs of a part of a batch at most in these updates."""
    update, now = Trainer.update, 0

    def limited(model: Seq2Seq, batch: Batch, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if now in updates and len(batch.src) > pairs:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return batch_loss(model, batch, *given)

    def watched(trainer: Trainer) -> None:
        nonlocal now
        now = trainer.progress.update + 1
        update(trainer)

    replace(step, "batch_loss", limited)
    replace(Trainer, "update", watched)


def skipped(place: Path, setting: Setting, where: Where, updates: list[int], value: float) -> str:
    """A run that skips these updates, and one that stops at the first and is resumed to skip them."""
    fate = Fate(spoil=functools.partial(spoil, where, updates, value))
    skips = Setting(setting.name, (*setting.words, "train.on_nonfinite=skip"), parts=setting.parts)
    through, _ = trained(place, skips, "through", fate)
    if counted(through, "skipped") != updates:
        return lost(place, "numbers", f"{setting.name}: skipped {counted(through, 'skipped')}, not {updates}")
    run, log = place / "runs" / "stops", place / "stops.log"
    shutil.rmtree(run, ignore_errors=True)
    end = Victims(run, log).train(words_of(place, setting, "stops"), fate)
    if end.code != 2 or f"at update {updates[0]};" not in last_line(log):
        return lost(place, "numbers", f"{setting.name}: exit code {end.code}: {last_line(log)}")
    if last_resumable(run) is not None:
        words = [f"resume={run}", "train.on_nonfinite=skip", "resume_with=train.on_nonfinite"]
        end = Victims(run, log).train(words, fate)
        found = [f"exit code {end.code}: {last_line(log)}"] if end.code else list(differences(run, through))
        if found:
            return lost(place, "numbers", f"{setting.name}, stopped and resumed: {found[0]}")
    return sound(place, "skipped; stopped, resumed, same bits")


def spoiled_weight(place: Path, setting: Setting, whole: Path, chance: random.Random) -> str:
    """A run whose weights are spoiled stops, and goes on from its last checkpoint as if nothing had happened."""
    run, log = place / "runs" / "weight", place / "weight.log"
    shutil.rmtree(run, ignore_errors=True)
    policy = chance.choice(["skip", "stop"])
    words = [*words_of(place, setting, "weight"), f"train.on_nonfinite={policy}"]
    fate = Fate(spoil=functools.partial(spoil, "weight", [chance.randint(8, UPDATES)], chance.choice(VALUES)))
    end = Victims(run, log).train(words, fate)
    if end.code != 2 or not last_line(log).startswith("error: "):
        return lost(place, "numbers", f"{setting.name}: exit code {end.code}: {last_line(log)}")
    end = Victims(run, log).train([f"resume={run}"], Fate())
    found = [f"exit code {end.code}: {last_line(log)}"] if end.code else list(differences(run, whole))
    return (
        lost(place, "numbers", f"{setting.name}: {found[0]}") if found else sound(place, "stopped, resumed, same bits")
    )


def little_memory(place: Path, setting: Setting, whole: Path, chance: random.Random) -> str:
    """A run whose memory is too small for some updates: the same weights after them, except for rounding."""
    first = chance.randint(1, UPDATES - 2)
    updates = range(first, first + 3)
    run, _ = trained(place, setting, "memory", Fate(spoil=functools.partial(starve, 1, updates)))
    halved = counted(run, "halved")
    if not halved or not set(halved) <= set(updates):
        return lost(place, "numbers", f"{setting.name}: halved {halved}, not {list(updates)}")
    mine, theirs = (load_file(checkpoint_folder(each, UPDATES) / "weights.safetensors") for each in (run, whole))
    apart = max((mine[name] - theirs[name]).abs().max().item() for name in theirs)
    near = apart <= APART["bf16" if "bf16" in setting.name else "fp32"]
    return (
        sound(place, "halved, the same but for rounding")
        if near
        else lost(place, "numbers", f"weights are {apart} apart")
    )


def counted(run: Path, what: str) -> list[int]:
    """Updates that the last checkpoint has on record."""
    last = last_resumable(run)
    assert last is not None
    found: list[int] = read_record(checkpoint_folder(run, last))[what]
    return found


def sound(place: Path, outcome: str) -> str:
    """The outcome, if every number in every file is one."""
    for path in (place / "runs").rglob("*.safetensors"):
        if not all(tensor.isfinite().all() for tensor in load_file(path).values()):
            return lost(place, "numbers", f"{path} holds what is no number")
    return outcome
