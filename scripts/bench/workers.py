"""Who computes a part changes no bit: a training by threads and processes, their speed, memory and weights.

    python scripts/bench workers --multi30k FOLDER
    python scripts/bench workers --multi30k FOLDER --recipe reference --precision bf16 --updates 50

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de. Each case is `nmt train` as a user starts it (more
words are given to it), train.parts=4, with so many workers in each of so many processes, which torchrun starts. The
speed is that of metrics.jsonl without the first tenth; the memory is the most that all processes of the command have
together, torchrun's own included, files not; the last column is the beginning of the SHA-256 of the last checkpoint's
weights.safetensors. Exit code 1 if the weights are not all equal.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from bench import machine
from bench.arguments import RECIPES, add_multi30k, check_multi30k, chosen, words_of
from bench.memory import ANONYMOUS, together
from bench.processes import train_command
from command_line import new_parser, one_or_more, own_and_words
from nmt.cli.exit_codes import BAD_INPUT
from nmt.machine.device import computes_bf16

DIFFERENT = 1  # exit code
LOOKS_S = 0.1  # between two looks at the memory
DIGITS = 12


@dataclass(frozen=True)
class Case:
    """So many processes with so many workers each; None: without torchrun."""

    processes: int | None
    workers: int

    def __str__(self) -> str:
        workers = f"{self.workers} worker{'s' if self.workers > 1 else ''}"
        return workers if self.processes is None else f"torchrun, {self.processes} × {workers}"


CASES = [Case(None, 1), Case(None, 2), Case(None, 4), Case(1, 1), Case(2, 1), Case(4, 1), Case(2, 2)]
BASE = Case(None, 2)  # that the others are compared to


@dataclass(frozen=True)
class Outcome:
    """Of a training."""

    tokens_per_s: float
    memory_mb: float  # the most of all processes together
    sha256: str  # of the weights


def main(given: Sequence[str]) -> int:
    """Trains in turn and prints the table."""
    arguments, words = parse_arguments(given)
    print(machine.describe())
    print(f"\n| precision | case | tokens/s | ÷ {BASE} | MB | weights |\n|---|---|---:|---:|---:|---|")
    code = 0
    for precision in arguments.precision:
        fixed = [*words_for(arguments), f"train.precision={precision}", *words]
        found = {case: outcome(case, fixed) for case in [BASE, *(case for case in CASES if case != BASE)]}
        for case in CASES:
            print(line(precision, case, found), flush=True)
        if len({each.sha256 for each in found.values()}) > 1:
            print(f"the weights differ in {precision}", flush=True)
            code = DIFFERENT
    return code


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench workers", __doc__)
    add_multi30k(parser)
    parser.add_argument("--recipe", choices=list(RECIPES), default="narrow", help="that is trained (%(default)s)")
    parser.add_argument("--updates", type=one_or_more, default=200, help="of each training (200)")
    there = ",".join(precisions())
    parser.add_argument(
        "--precision", default=there, help="with commas (%(default)s: all that this processor computes)"
    )
    arguments, rest = own_and_words(parser, given)
    check_multi30k(parser, arguments.multi30k)
    arguments.precision = chosen(parser, "--precision", arguments.precision, ["fp32", "bf16"])
    if arguments.updates < 10:
        parser.error(f"--updates {arguments.updates} are too few to be timed; give 10 or more")
    return arguments, rest


def precisions() -> list[str]:
    """The precisions that this processor computes, the lowest last."""
    return ["fp32", "bf16"] if computes_bf16(torch.device("cpu")) else ["fp32"]


def words_for(arguments: argparse.Namespace) -> list[str]:
    """For `nmt train`: no translations, one validation at the end."""
    updates = arguments.updates
    rest = ["train.metric=loss", "train.bleu_sentences=0", "train.examples=0"]
    rest += [f"train.max_updates={updates}", f"train.validate_every={updates}", f"train.log_every={updates // 10}"]
    return [*words_of(arguments.recipe, arguments.multi30k), "train.parts=4", *rest]


def outcome(case: Case, words: Sequence[str]) -> Outcome:
    """Of one training in a folder of its own; its failure ends everything, with what it said."""
    with tempfile.TemporaryDirectory() as folder:
        place = ["name=run", f"runs_dir={folder}", f"train.workers={case.workers}"]
        with (Path(folder) / "said").open("w+") as said:
            process = subprocess.Popen(train_command(case.processes, [*words, *place]), stdout=said, stderr=said)
            memory = 0.0
            try:
                while process.poll() is None:
                    with suppress(OSError, RuntimeError):  # it has ended meanwhile
                        memory = max(memory, together(process.pid, ANONYMOUS))
                    time.sleep(LOOKS_S)
            finally:
                process.terminate()
                process.wait()
            if process.returncode:
                said.seek(0)
                print(said.read(), end="", file=sys.stderr)
                sys.exit(BAD_INPUT if process.returncode == DIFFERENT else process.returncode)
        run = Path(folder) / "run"
        [weights] = run.glob("checkpoints/*/weights.safetensors")
        return Outcome(speed(run / "metrics.jsonl"), memory, hashlib.sha256(weights.read_bytes()).hexdigest())


def speed(metrics: Path) -> float:
    """Tokens per second, without the first stretch of the run."""
    lines = [json.loads(line) for line in metrics.read_text("utf-8").splitlines()]
    timed = [line for line in lines if line["kind"] == "train"][1:]
    seconds = sum(line["tokens"] / line["tokens_per_s"] for line in timed)
    return float(sum(line["tokens"] for line in timed) / seconds)


def line(precision: str, case: Case, found: dict[Case, Outcome]) -> str:
    """One line of the table."""
    here = found[case]
    figures = f"{here.tokens_per_s:,.0f} | {here.tokens_per_s / found[BASE].tokens_per_s:.2f} | {here.memory_mb:,.0f}"
    return f"| {precision} | {case} | {figures} | {here.sha256[:DIGITS]} |"
