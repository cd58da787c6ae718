"""Start-up and data: how soon help is there, how long a corpus takes to prepare, how long an update waits for it.

    python scripts/bench data --tatoeba FOLDER                             (medians over five rounds, all in turn)
    python scripts/bench data --tatoeba FOLDER --only waiting tokenizer.sampling_alpha=0.2   (words for nmt train)

FOLDER holds train, dev and test, .en and .de. Every command is a process of its own, timed from its start to its end
after one that is not counted. Preparing is cold where the cache is empty: files read, tokenizer trained, text encoded.
The waiting share is taken in the training loop of `nmt train` as it is: time spent on making batches / time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import machine
from bench.arguments import add_tatoeba, check_corpus, chosen
from bench.processes import measured_apart, nmt_command
from bench.training_loop import ready_to_train, trained_for
from bench.usage import Usage
from command_line import ROOT, above_zero, new_parser, one_or_more, own_and_words
from processes import ended

KINDS = ["start", "prepare", "waiting"]
WARM_UP = 5  # updates before the clock starts


@dataclass(frozen=True)
class Command:
    """What is run over and over; seconds from start to end must not be more than `bar_s`."""

    name: str
    words: list[str]
    bar_s: float | None
    cold: bool  # with an empty cache


@dataclass(frozen=True)
class Run:
    """One process."""

    wall_s: float
    cpu_s: float  # of all its threads
    others: float  # share of the machine that other processes used meanwhile


@dataclass(frozen=True)
class Waiting:
    """Of a training loop's time."""

    updates: int
    tokens_per_s: float
    share: float  # spent on making batches
    ns_per_token: float  # spent on making batches
    others: float


def main(given: Sequence[str]) -> int:
    """Measures and prints the tables."""
    arguments, words = parse_arguments(given)
    corpus = ["experiment=tatoeba_en_de", f"data.root={arguments.tatoeba.resolve()}"]
    if arguments.case:
        print(json.dumps(asdict(waiting(corpus + words, arguments.seconds))))
        return 0
    print(machine.describe())
    with tempfile.TemporaryDirectory() as folder:
        listed = commands(corpus, Path(folder) / "cache", arguments.only)
        runs = in_turn(listed, Path(folder), arguments.rounds) if listed else {}
    if listed:
        print(f"{'command':<26}{'wall s':>8}{'lowest':>8}{'highest':>9}{'CPU s':>8}{'others':>8}   bar")
    for command in listed:
        show(command, runs[command.name])
    if "waiting" in arguments.only:
        fixed = ["--tatoeba", str(arguments.tatoeba), "--seconds", str(arguments.seconds), "--case"]
        show_waiting(measured_apart(Waiting, "data", [*fixed, *words]))
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench data", __doc__)
    add_tatoeba(parser)
    parser.add_argument("--only", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}, with commas (all)")
    parser.add_argument("--rounds", type=one_or_more, default=5, help="runs of each command (5)")
    parser.add_argument("--seconds", type=above_zero, default=30.0, help="of the training loop (30)")
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    arguments, rest = own_and_words(parser, words)
    arguments.only = chosen(parser, "--only", arguments.only, KINDS)
    check_corpus(parser, "--tatoeba", arguments.tatoeba, "train.en", "train, dev and test")
    return arguments, rest


def commands(corpus: list[str], cache: Path, only: Sequence[str]) -> list[Command]:
    """The commands of these kinds."""
    prepare = ["prepare", *corpus, f"cache_dir={cache}"]
    every = {
        "start": [
            Command("nmt --help", ["--help"], 0.5, False),
            Command("nmt train --help", ["train", "--help"], None, False),
            Command("nmt train --cfg job", ["train", "--cfg", "job"], None, False),
        ],
        "prepare": [
            Command("nmt prepare, cold", prepare, 20.0, True),
            Command("nmt prepare, cached", prepare, 1.0, False),
        ],
    }
    return [command for kind, own in every.items() if kind in only for command in own]


def in_turn(listed: list[Command], folder: Path, rounds: int) -> dict[str, list[Run]]:
    """The runs of each command: all once, not counted, then all again in every round."""
    runs: dict[str, list[Run]] = {command.name: [] for command in listed}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),  # compiled once, as in an installed package
        "PYTHONPATH": str(ROOT),
    }
    for number in range(rounds + 1):
        for command in listed:
            if command.cold and number:
                (folder / "cache").rename(folder / f"cache{number}")
            done = timed(nmt_command(*command.words), environment)
            runs[command.name] += [done] if number else []
    return runs


def timed(words: list[str], environment: dict[str, str]) -> Run:
    """One process, from start to end."""
    before = os.times()
    with Usage() as usage:
        code = ended(words, env=environment, stdout=subprocess.DEVNULL)
    after = os.times()
    if code:
        sys.exit(code)
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(usage.wall_s, cpu_s, usage.others)


def show(command: Command, runs: list[Run]) -> None:
    """One line of the table."""
    walls = [run.wall_s for run in runs]
    cpu_s, others = (statistics.median(values) for values in zip(*((r.cpu_s, r.others) for r in runs), strict=True))
    middle = statistics.median(walls)
    times = f"{middle:>8.2f}{min(walls):>8.2f}{max(walls):>9.2f}{cpu_s:>8.2f}{others:>8.0%}"
    bar = "" if command.bar_s is None else f"   {command.bar_s:g}: {'holds' if middle <= command.bar_s else 'MISSED'}"
    print(f"{command.name:<26}{times}{bar}")


def waiting(words: list[str], seconds: float) -> Waiting:
    """Trains for so long and sums up what the updates waited for their batches."""
    with ready_to_train(words) as trainer:
        loop = trained_for(seconds, trainer, WARM_UP)
    share, ns_per_token = loop.waited_s / loop.seconds, loop.waited_s / loop.tokens * 1e9
    return Waiting(loop.updates, loop.tokens_per_s, share, ns_per_token, loop.others)


def show_waiting(found: Waiting) -> None:
    """One line."""
    speed = f"{found.tokens_per_s:,.0f} tokens/s over {found.updates:,} updates (others {found.others:.0%})"
    verdict = "holds" if found.share <= 0.02 else "MISSED"
    print(f"waiting for data: {found.share:.2%} (2 %: {verdict}), {found.ns_per_token:.0f} ns a token, at {speed}")
