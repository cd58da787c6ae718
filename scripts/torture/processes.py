"""Kills processes that train together, and compares what comes out with a run of one process that was left alone.

    python scripts/torture processes                       (20 kills)
    python scripts/torture processes --kills 100 --seed 2

A small model is trained to its end by one process with one worker. Then torchrun trains it in two processes (with two
workers each), three or four, and starts all anew whenever one of them is killed, by SIGKILL at an instant of the clock.
Weights, optimiser, what is on record, metrics.jsonl and tensorboard must be the same bits in the end, except for times
and speeds. Exit code 1 if anything differs.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from command_line import new_parser, one_or_more
from nmt.errors import counted
from processes import started
from torture.outcomes import add_options, check_work, keep
from torture.same_run import differences
from torture.small import LOW, Setting, trained, words_of, write_corpus
from torture.victims import Fate

SETTINGS = (
    Setting("float32, dropout", ("train.precision=fp32", "train.max_updates=150")),
    Setting(
        f"{LOW}, accumulation, subword sampling",
        (f"train.precision={LOW}", "train.accumulate=2", "tokenizer.sampling_alpha=0.1", "train.max_updates=150"),
    ),
)  # fmt: skip
COUNTS = (2, 3, 4)  # processes
WORKERS = {2: 2, 3: 1, 4: 1}  # of each of so many
MOST_OF_ONE = 4  # kills of one run
LATEST_S = 4.0  # after all were started, or, in most cases, after they have trained further
AT_START = 0.25  # share of the kills that do not wait for that


def main(words: Sequence[str]) -> int:
    """1 if a run differs."""
    parser = new_parser("torture processes", __doc__)
    parser.add_argument("--kills", type=one_or_more, default=20, help="of processes in all (20)")
    add_options(parser)
    arguments = parser.parse_args(words)
    check_work(parser, arguments.work)
    with tempfile.TemporaryDirectory(dir=arguments.work) as temporary:
        return tortured(Path(temporary), arguments)


def tortured(place: Path, arguments: argparse.Namespace) -> int:
    """Runs until so many kills are done."""
    chance, start = random.Random(arguments.seed), perf_counter()
    write_corpus(place)
    alone: dict[Setting, Path] = {}
    kills = in_training = runs = wrong = 0
    while kills < arguments.kills:
        setting, count = SETTINGS[runs % len(SETTINGS)], COUNTS[runs % len(COUNTS)]
        if setting not in alone:
            alone[setting], _ = trained(place, setting, f"alone-{len(alone)}", Fate())
        run = place / "runs" / f"together-{runs}"
        words = words_of(place, replace(setting, workers=WORKERS[count]), run.name)
        most = min(MOST_OF_ONE, arguments.kills - kills)
        killed, trained_on, failed = killed_again_and_again(place, run, words, count, most, chance)
        kills, in_training, runs = kills + killed, in_training + trained_on, runs + 1
        found = [failed] if failed else list(differences(alone[setting], run))
        if found:
            wrong += 1
            keep(place, f"{setting.name}, {count} processes", found)
        shutil.rmtree(run, ignore_errors=True)
        if failed and not killed:
            return 1  # it would fail again
    done = f"{counted(kills, 'kill')} in {counted(runs, 'run')} of {min(COUNTS)} to {max(COUNTS)} processes"
    print(f"{done}, {in_training} of them while it trained;")
    print(f"{counted(wrong, 'run')} unlike that of one process that was left alone; {perf_counter() - start:.0f} s")
    if kills >= MOST_OF_ONE and not in_training:
        print("no kill met a training: take another --seed", file=sys.stderr)
        return 1
    return int(wrong > 0)


def killed_again_and_again(
    place: Path, run: Path, words: Sequence[str], count: int, most: int, chance: random.Random
) -> tuple[int, int, str]:
    """How many of its processes were killed until the run came to its end, how many of them while it trained.

    And why it failed, if it did.
    """
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={count}", "--standalone"]
    command = [*launcher, f"--max-restarts={most}", "-m", "nmt.cli.main", "train", *words]
    log = place / "together.log"
    kills = in_training = 0
    with log.open("wb") as said, started(command, stdout=said, stderr=said) as process:
        while process.poll() is None:
            workers = children_of(process.pid)
            if kills == most or len(workers) < count:
                time.sleep(0.05)
                continue
            before, waits = size_of(run / "metrics.jsonl"), chance.random() > AT_START
            while waits and size_of(run / "metrics.jsonl") == before and process.poll() is None:
                time.sleep(0.02)
            end = time.monotonic() + chance.uniform(0.0, LATEST_S)
            while time.monotonic() < end and process.poll() is None:
                time.sleep(0.02)
            if process.poll() is None:
                try:
                    os.kill(workers[chance.randrange(count)], signal.SIGKILL)
                except ProcessLookupError:
                    continue
                kills += 1
                in_training += size_of(run / "metrics.jsonl") != before
                while process.poll() is None and set(children_of(process.pid)) & set(workers):
                    time.sleep(0.05)  # torchrun ends the others first
    failed = "" if process.returncode == 0 else f"exit code {process.returncode}: {log.read_text()[-1500:]}"
    return kills, in_training, failed


def size_of(file: Path) -> int:
    """In bytes; 0 if it is not there."""
    return file.stat().st_size if file.exists() else 0


def children_of(launcher: int) -> list[int]:
    """Process ids of the processes that a launcher has started and that have a rank."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == launcher and b"\0RANK=" in (status.parent / "environ").read_bytes():
                found.append(int(status.parent.name))
        except OSError:
            continue
    return sorted(found)
