"""Kills training runs at random instants, resumes them, and compares what comes out with a run that was left alone.

    python scripts/torture resume                       (100 kills)
    python scripts/torture resume --kills 1000 --seed 2

For each of several settings a small model is trained to its end once. Then runs of the same settings die again and
again. SIGKILL ends them at an instant of the clock or at the n-th touch of one of the run's files, or they die in the
middle of a write that makes a file larger than so many bytes. Some are asked to stop, by SIGTERM, which counts as no
kill. Each time `nmt train resume=` goes on. Weights, optimiser, what is on record, the choice of the best checkpoints,
metrics.jsonl and tensorboard must be the same bits in the end, except for times and speeds. Exit code 1 if anything
differs, or if of many kills none met a validation or a checkpoint.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from command_line import new_parser
from nmt.machine.signals import SAVED
from torture.outcomes import add_options, check_work, keep, table
from torture.same_run import differences
from torture.small import LOW, Setting, trained, words_of, write_corpus
from torture.victims import PHASES, WAYS, End, Fate, Victims

MANY = 60  # kills, of which some must meet what is rare
RARE = ("validation", "checkpoint")
FEWEST = 14  # updates: a checkpoint in the first half, where runs die
ATTEMPTS = 200  # of one run; one that needs more does not get on
JUMP_S = 30 * 24 * 3600  # by which a jumping clock is wrong at most
ENDS = {"clock": signal.SIGKILL, "file": signal.SIGKILL, "write": signal.SIGXFSZ, "asked": signal.SIGTERM}
ENDED: dict[str, str] = {
    "clock": "killed at an instant",
    "file": "killed at a touch of a file",
    "write": "killed in a write",
    "asked": "asked to stop",
}
SETTINGS = (
    Setting("float32, validation at the end of epochs", ("train.precision=fp32", "train.validate_every=null")),
    Setting(
        f"{LOW}, gradient accumulation, 2 workers",
        (f"train.precision={LOW}", "train.accumulate=2"), workers=2,
    ),
    Setting("subword sampling, word dropout", ("tokenizer.sampling_alpha=0.1", "model.word_dropout=0.1")),
    Setting(
        "early stopping, plateau schedule, examples",
        ("train.metric=loss", "train.patience=2", "train.examples=1", "schedule=plateau", "optimizer.lr=0.05"),
    ),
    Setting(
        "two passes a batch, input feeding, 3 workers",
        ("train.consistency=1", "decoder.input_feeding=true"), workers=3,
    ),
    Setting("a clock that jumps", ("train.precision=fp32",), jumping=True),
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Time, touches and bytes of a run that was left alone; deaths come within them."""

    seconds: float
    touches: int
    bytes: int  # of its largest file


def main(words: Sequence[str]) -> int:
    """Tortures every setting and prints the counts."""
    arguments = parse_arguments(words)
    chance = random.Random(arguments.seed)
    start, lost = perf_counter(), 0
    deaths: Counter[tuple[str, str]] = Counter()
    runs = 0
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        place = Path(folder)
        write_corpus(place)
        for number, each in enumerate(SETTINGS):
            setting = replace(each, words=(*each.words, f"train.max_updates={arguments.updates}"))
            wanted = arguments.kills * (number + 1) // len(SETTINGS)
            whole, limits = left_alone(place, setting, chance)
            while kills(deaths) < wanted:
                run = killed(place, setting, limits, wanted - kills(deaths), deaths, chance)
                runs += 1
                if found := list(differences(run, whole)):
                    lost += 1
                    keep(place, setting.name, found)
            print(f"{setting.name}: {kills(deaths)} kills so far", file=sys.stderr, flush=True)
    phases = sorted({phase for _, phase in deaths}, key=PHASES.index)
    print(table("ended", ENDED, phases, deaths))
    print(f"\n{runs} runs, {kills(deaths)} kills, {lost} runs that differ; {perf_counter() - start:.0f} s")
    missed = [phase for phase in RARE if kills(deaths, phase) == 0]
    if missed and arguments.kills >= MANY:
        print(f"no kill met a {missed[0]}: take another --seed", file=sys.stderr)
        return 1
    return 1 if lost else 0


def kills(deaths: Counter[tuple[str, str]], phase: str | None = None) -> int:
    """Deaths by SIGKILL, in all or in one phase."""
    return sum(n for (way, met), n in deaths.items() if way != "asked" and phase in (None, met))


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("torture resume", __doc__)
    parser.add_argument("--kills", type=int, default=100, help="in all (100)")
    parser.add_argument("--updates", type=int, default=60, help="of a run that nothing stops (60)")
    add_options(parser)
    arguments = parser.parse_args(words)
    if arguments.kills < len(SETTINGS):
        parser.error(f"--kills {arguments.kills} leaves a setting out; give {len(SETTINGS)} or more")
    if arguments.updates < FEWEST:
        parser.error(f"--updates {arguments.updates} has no checkpoint to go on from; give {FEWEST} or more")
    check_work(parser, arguments.work)
    return arguments


def left_alone(place: Path, setting: Setting, chance: random.Random) -> tuple[Path, Limits]:
    """Trains a run to its end."""
    start = perf_counter()
    run, end = trained(place, setting, "whole", Fate(jump_s=jump(setting, chance)))
    seconds = perf_counter() - start
    return run, Limits(seconds, end.touches, max(path.stat().st_size for path in run.rglob("*") if path.is_file()))


def killed(
    place: Path, setting: Setting, limits: Limits, most: int, deaths: Counter[tuple[str, str]], chance: random.Random
) -> Path:
    """A run that is killed at most so many times and then comes to its end."""
    run, log = place / "runs" / "killed", place / "killed.log"
    shutil.rmtree(run, ignore_errors=True)
    died = 0
    for _ in range(ATTEMPTS):
        words = [f"resume={run}"] if (run / "manifest.json").exists() else words_of(place, setting, "killed")
        fate = draw(setting, limits, chance) if died < most else Fate(jump_s=jump(setting, chance))
        end = Victims(run, log).train(words, fate)
        if fate.way is not None and (end.signal == ENDS[fate.way] or (fate.way == "asked" and end.code == SAVED)):
            died += fate.way != "asked"
            deaths[fate.way, end.phase] += 1
        elif end.code == 0:
            return run
        else:
            raise SystemExit(complaint(setting, words, end, log))
    raise SystemExit(f"{setting.name}: not at its end after {ATTEMPTS} attempts")


def draw(setting: Setting, limits: Limits, chance: random.Random) -> Fate:
    """How the next process dies: somewhere in the first half of what a whole run takes."""
    way = chance.choice(WAYS)
    limit = {
        "clock": chance.uniform(0, limits.seconds / 2),
        "file": chance.randint(1, max(1, limits.touches // 2)),
        "asked": chance.randint(1, max(1, limits.touches // 2)),
        "write": chance.randrange(limits.bytes),
    }[way]
    return Fate(way, limit, jump_s=jump(setting, chance))


def jump(setting: Setting, chance: random.Random) -> float:
    """By how much the next process's clock is wrong."""
    return chance.uniform(-JUMP_S, JUMP_S) if setting.jumping else 0.0


def complaint(setting: Setting, words: list[str], end: End, log: Path) -> str:
    """Of a process that neither died as it should nor came to its end."""
    command = " ".join(words[-3:])
    how = f"with {end.code}" if end.signal is None else f"by {signal.Signals(end.signal).name}"
    return f"{setting.name}: nmt train {command} ended {how} in {end.phase}:\n{log.read_text()[-3000:]}"
