"""Training on a machine that does something else as well: tokens per second beside busy neighbours.

    python scripts/bench busy --multi30k FOLDER
    python scripts/bench busy --multi30k FOLDER --recipes reference --parts 1,2,4 --neighbours 0,1,3 --rounds 3

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de. A neighbour is a process that counts without end.
Every recipe with every number of parts is a process of its own, which trains beside each number of neighbours in turn.
Printed are the medians over the rounds, and within a round the share of the idle rate, and of the fair share: with w
threads on c cores beside n neighbours, c / (w + n) of it, at most all of it.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch

from bench import machine
from bench.arguments import add_multi30k, check_multi30k, check_rounds, chosen, whole_numbers
from bench.processes import measured_apart
from bench.training_loop import ready_to_train, trained_for
from bench.usage import peak_memory_mb
from command_line import new_parser

RECIPES = {
    "demo": ["experiment=demo_en_de"],
    "narrow": ["experiment=multi30k_en_de"],
    "reference": ["experiment=reference"],
}
WARM_UP = 15  # updates before the clock starts


@dataclass(frozen=True)
class Rates:
    """Tokens per second of one process, by the number of its neighbours."""

    tokens_per_s: dict[str, float]
    peak_memory_mb: float
    threads: int


def main(given: Sequence[str]) -> int:
    """Measures every case in turn and prints the table."""
    arguments, words = parse_arguments(given)
    if arguments.case:
        recipe, parts = arguments.recipes[0], arguments.parts[0]
        print(json.dumps(asdict(measure(arguments, [*RECIPES[recipe], f"train.parts={parts}", *words]))))
        return 0
    print(machine.describe())
    print("\n| recipe | parts | neighbours | tokens/s | ÷ idle, 1 part | ÷ idle | ÷ fair share | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for recipe in arguments.recipes:
        rounds = [
            {parts: run_case(arguments, recipe, parts, words) for parts in arguments.parts}
            for _ in range(arguments.rounds)
        ]
        for parts in arguments.parts:
            for neighbours in arguments.neighbours:
                print(line(recipe, parts, neighbours, rounds), flush=True)
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench busy", __doc__)
    add_multi30k(parser)
    parser.add_argument("--recipes", default="demo,narrow,reference", help="with commas (demo,narrow,reference)")
    parser.add_argument("--parts", type=whole_numbers, default=[1, 2], help="train.parts, with commas (1,2)")
    parser.add_argument("--neighbours", type=whole_numbers, default=[0, 1, 3], help="with commas, 0 first (0,1,3)")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement (15)")
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each case (1)")
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    arguments, rest = parser.parse_known_args(words)
    check_rounds(parser, arguments.rounds)
    check_multi30k(parser, arguments.multi30k)
    arguments.recipes = chosen(parser, "--recipes", arguments.recipes, list(RECIPES))
    if min(arguments.parts) < 1:
        parser.error(f"--parts {min(arguments.parts)} is no number of parts; give 1 or more")
    if arguments.neighbours[0] != 0:
        parser.error(
            f"--neighbours begins with {arguments.neighbours[0]}; begin with 0, which the others are compared to"
        )
    return arguments, rest


def run_case(arguments: argparse.Namespace, recipe: str, parts: int, words: list[str]) -> Rates:
    """The figures of one recipe with so many parts, measured in a new process."""
    neighbours = ",".join(map(str, arguments.neighbours))
    options = ["--multi30k", str(arguments.multi30k), "--seconds", str(arguments.seconds), "--neighbours", neighbours]
    return measured_apart(Rates, "busy", ["--case", *options, "--recipes", recipe, "--parts", str(parts), *words])


def measure(arguments: argparse.Namespace, words: list[str]) -> Rates:
    """Tokens per second of one training, beside each number of neighbours."""
    if not any("demo" in word for word in words):
        words = [*words, f"data.root={arguments.multi30k.resolve()}"]
    found = {}
    with ready_to_train(words) as trainer:
        for count in arguments.neighbours:
            with busy_neighbours(count):
                found[str(count)] = trained_for(arguments.seconds, trainer, WARM_UP).tokens_per_s
    return Rates(found, peak_memory_mb(), torch.get_num_threads())


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """So many processes that count without end, while the block runs."""
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


def line(recipe: str, parts: int, neighbours: int, rounds: Sequence[dict[int, Rates]]) -> str:
    """One line of the table."""
    first = next(iter(rounds[0]))
    here = [each[parts] for each in rounds]
    rates = [each.tokens_per_s[str(neighbours)] for each in here]
    idle = [each.tokens_per_s["0"] for each in here]
    beside_first = [rate / each[first].tokens_per_s["0"] for rate, each in zip(rates, rounds, strict=True)]
    shares = [rate / alone for rate, alone in zip(rates, idle, strict=True)]
    cores, threads = machine.cores(), here[0].threads
    fair = min(1.0, cores / (threads + neighbours))
    figures = f"{spread(beside_first)} | {spread(shares)} | {spread([share / fair for share in shares])}"
    memory = statistics.median(each.peak_memory_mb for each in here)
    return f"| {recipe} | {parts} | {neighbours} | {statistics.median(rates):,.0f} | {figures} | {memory:,.0f} |"


def spread(values: Sequence[float]) -> str:
    """Median, and from least to most where there are several."""
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"
