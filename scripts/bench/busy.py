"""Training on a machine that does something else as well: tokens per second beside busy neighbours.

    python scripts/bench busy --multi30k FOLDER
    python scripts/bench busy --multi30k FOLDER --recipes reference --parts 1,2,auto --neighbours 0,1,2,4 --rounds 3
    python scripts/bench busy --multi30k FOLDER --trainings 1,2       (beside so many others of the same training)

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de. A neighbour is a process that counts without end,
or another training with the same words, which has begun before the clock starts.
Every recipe with every number of parts is a process of its own, which trains beside each number of neighbours in turn.
The table has medians over the rounds: of the rate, and of its share of the idle rate and of the fair share within a
round. With w workers on c cores, the fair share is c / (w + n) of the idle rate beside n neighbours that count. Beside
n trainings it is c / (w + n w), which is 1 / (n + 1) where one training uses all cores. It is at most the idle rate.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench import machine
from bench.arguments import (
    RECIPES,
    add_measuring,
    add_multi30k,
    add_neighbours,
    check_neighbours,
    chosen,
    parse_measuring,
    whole_numbers,
    words_of,
)
from bench.neighbours import busy_neighbours, fair_share, is_to_end, working_neighbours
from bench.processes import command_of, measured_apart
from bench.spread import spread
from bench.training_loop import ready_to_train, trained_for
from bench.usage import peak_memory_mb
from command_line import new_parser

WARM_UP = 15  # updates before the clock starts
AUTO = "auto"  # parts that `nmt train` chooses
TRAININGS = "trainings"


@dataclass(frozen=True)
class Rates:
    """Tokens per second of one process, by what runs beside it."""

    tokens_per_s: dict[str, float]
    peak_memory_mb: float
    parts: int
    workers: int  # that have something to do


def main(given: Sequence[str]) -> int:
    """Measures every case in turn and prints the table."""
    arguments, words = parse_arguments(given)
    if arguments.case:
        recipe, parts = arguments.recipes[0], arguments.parts[0]
        chosen_words = [*words_of(recipe, arguments.multi30k), *words_for(parts), *words]
        measure(arguments, chosen_words, command_of("busy", [*given, "--beside"]))
        return 0
    print(machine.describe())
    print("\n| recipe | parts | neighbours | tokens/s | ÷ idle, first | ÷ idle | ÷ fair share | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for recipe in arguments.recipes:
        rounds = [
            {parts: run_case(arguments, recipe, parts, words) for parts in arguments.parts}
            for _ in range(arguments.rounds)
        ]
        for parts in arguments.parts:
            for beside in cases(arguments):
                print(line(recipe, parts, beside, rounds), flush=True)
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench busy", __doc__)
    add_multi30k(parser)
    parser.add_argument("--recipes", default="demo,narrow,reference", help="with commas (demo,narrow,reference)")
    parser.add_argument("--parts", default="1,auto", help="with commas; auto: as nmt train chooses (1,auto)")
    add_neighbours(parser)
    parser.add_argument("--trainings", type=whole_numbers, default=[2], help="more neighbours, that train (2); 0: none")
    add_measuring(parser, seconds=15.0)
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)
    arguments, rest = parse_measuring(parser, words)
    arguments.recipes = chosen(parser, "--recipes", arguments.recipes, list(RECIPES))
    arguments.parts = arguments.parts.split(",")
    for parts in arguments.parts:
        if parts != AUTO and not (parts.isdecimal() and int(parts)):
            parser.error(f"--parts {parts} is not a number of parts; give 1 or more, or {AUTO}")
    check_neighbours(parser, arguments.neighbours)
    arguments.trainings = [count for count in arguments.trainings if count]
    return arguments, rest


def words_for(parts: str) -> list[str]:
    """For `nmt train`."""
    return [] if parts == AUTO else [f"train.parts={parts}"]


def cases(arguments: argparse.Namespace) -> list[str]:
    """What runs beside the training: how many that count, how many trainings."""
    return [*map(str, arguments.neighbours), *(f"{count} {TRAININGS}" for count in arguments.trainings)]


def run_case(arguments: argparse.Namespace, recipe: str, parts: str, words: list[str]) -> Rates:
    """The figures of one recipe with so many parts, measured in a new process."""
    return measured_apart(Rates, "busy", case_words(arguments, recipe, parts, words))


def case_words(arguments: argparse.Namespace, recipe: str, parts: str, words: Sequence[str]) -> list[str]:
    """Of the process that measures a case."""
    options = ["--multi30k", str(arguments.multi30k), "--seconds", str(arguments.seconds)]
    options += ["--neighbours", ",".join(map(str, arguments.neighbours))]
    options += ["--trainings", ",".join(map(str, arguments.trainings)) or "0"]
    return ["--case", *options, "--recipes", recipe, "--parts", parts, *words]


def measure(arguments: argparse.Namespace, words: list[str], neighbour: Sequence[str]) -> None:
    """Prints tokens per second of one training, beside each number of neighbours; or trains until standard input ends.

    `neighbour`: the command that does the latter.
    """
    found = {}
    with ready_to_train(words) as trainer:
        if arguments.beside:
            trained_for(0.0, trainer, WARM_UP)
            print("trains", flush=True)
            while not is_to_end():
                trainer.update()
            return
        for count in arguments.neighbours:
            with busy_neighbours(count):
                found[str(count)] = trained_for(arguments.seconds, trainer, WARM_UP).tokens_per_s
        for count in arguments.trainings:
            with working_neighbours(count, neighbour):
                found[f"{count} {TRAININGS}"] = trained_for(arguments.seconds, trainer, WARM_UP).tokens_per_s
        parts = trainer.settings.parts
        rates = Rates(found, peak_memory_mb(), parts, min(parts, trainer.step.workers.count))
    print(json.dumps(asdict(rates)))


def line(recipe: str, parts: str, beside: str, rounds: Sequence[dict[str, Rates]]) -> str:
    """One line of the table."""
    first = next(iter(rounds[0]))
    here = [each[parts] for each in rounds]
    rates = [each.tokens_per_s[beside] for each in here]
    idle = [each.tokens_per_s["0"] for each in here]
    beside_first = [rate / each[first].tokens_per_s["0"] for rate, each in zip(rates, rounds, strict=True)]
    shares = [rate / alone for rate, alone in zip(rates, idle, strict=True)]
    workers = here[0].workers
    others = int(beside.split()[0]) * (workers if TRAININGS in beside else 1)
    fair = fair_share(workers, others)
    figures = f"{spread(beside_first)} | {spread(shares)} | {spread([share / fair for share in shares])}"
    shown = f"{parts}: {here[0].parts}" if parts == AUTO else parts
    memory = statistics.median(each.peak_memory_mb for each in here)
    return f"| {recipe} | {shown} | {beside} | {statistics.median(rates):,.0f} | {figures} | {memory:,.0f} |"
