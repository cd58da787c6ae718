"""Does bfloat16 train as well as float32? Loss, gradient norm and dev BLEU of the same runs in both, over seeds.

    python scripts/bench precision --multi30k FOLDER --runs RUNS                  (an hour on one core)
    python scripts/bench precision --multi30k FOLDER --runs RUNS --seeds 1,2 train.parts=1 (words for nmt compare)

FOLDER holds Multi30k. The model is the reference model with every size a quarter of its own, trained until the learning
rate has come to nothing. `nmt compare` trains the runs into the folder RUNS: finished ones are not trained again,
interrupted ones go on. Loss and gradient norm are the means of the last epoch's updates, the dev scores those of the
last validation.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import add_multi30k, check_multi30k, whole_numbers
from bench.processes import run_nmt
from command_line import new_parser, own_and_words

PRECISIONS = ("fp32", "bf16")
QUARTER = ["model.d_embed=64", "encoder.d_hidden=64", "decoder.d_hidden=128", "tokenizer.vocab_size=2000"]
RECIPE = [
    "schedule=linear",
    "train.max_epochs=10",
    "train.batch_tokens=1024",
    "optimizer.lr=0.002",
    "train.patience=null",
    "train.examples=0",
]
FIGURES = {  # name in the table: kind of line in metrics.jsonl, name there
    "training loss": ("train", "loss"),
    "gradient norm": ("train", "grad_norm"),
    "dev loss": ("dev", "loss"),
    "dev BLEU": ("dev", "bleu"),
}


@dataclass(frozen=True)
class Run:
    """What one run came to, by the names of FIGURES."""

    seed: int
    precision: str
    figures: dict[str, float]


def main(given: Sequence[str]) -> int:
    """Trains what is missing and prints the tables."""
    arguments, words = parse_arguments(given)
    print("\n".join(table(trained(arguments, words))))
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt compare`."""
    parser = new_parser("bench precision", __doc__)
    add_multi30k(parser)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--seeds", type=whole_numbers, default=[1, 2, 3], help="(1,2,3)")
    arguments, rest = own_and_words(parser, words)
    if len(arguments.seeds) < 2:
        parser.error("--seeds: one seed has no noise to compare with; give two or more, with commas")
    check_multi30k(parser, arguments.multi30k)
    return arguments, rest


def trained(arguments: argparse.Namespace, words: list[str]) -> list[Run]:
    """The runs of this comparison, by seed and precision; `nmt compare` trains what is not finished yet."""
    runs = arguments.runs.resolve()
    output = runs / "comparison"
    seeds = ",".join(map(str, arguments.seeds))
    what = ["experiment=reference", *QUARTER, *RECIPE, f"data.root={arguments.multi30k.resolve()}"]
    what += [f"seed={seeds}", f"train.precision={','.join(PRECISIONS)}"]
    run_nmt(["compare", *what, f"runs_dir={runs}", f"output={output}", *words])
    listed = json.loads((output / "results.json").read_text("utf-8"))["runs"]
    found = [Run(run["seed"], run["variant"].partition("=")[2], figures_of(runs / run["run"])) for run in listed]
    return sorted(found, key=lambda run: (run.seed, PRECISIONS.index(run.precision)))


def figures_of(run: Path) -> dict[str, float]:
    """The figures of a run, from its metrics."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    ends = [line["update"] for line in lines if line["kind"] == "dev"]
    begin = ends[-2] if len(ends) > 1 else 0
    last = [line for line in lines if begin < line["update"] <= ends[-1]]
    return {
        name: statistics.mean(line[key] for line in last if line["kind"] == kind)
        for name, (kind, key) in FIGURES.items()
    }


def table(runs: Sequence[Run]) -> list[str]:
    """Every run, and the difference of the precisions beside what seeds alone change."""
    lines = [f"| seed | precision | {' | '.join(FIGURES)} |", "|---|---|" + "---:|" * len(FIGURES)]
    for run in runs:
        lines.append(f"| {run.seed} | {run.precision} | {' | '.join(f'{run.figures[name]:.3f}' for name in FIGURES)} |")
    lines += [
        "",
        "| | bf16 − fp32, mean | each seed | deviation over seeds, fp32 | within it |",
        "|---|---:|---:|---:|---|",
    ]
    for name in FIGURES:
        fp32, bf16 = ([run.figures[name] for run in runs if run.precision == which] for which in PRECISIONS)
        differences = [b - f for f, b in zip(fp32, bf16, strict=True)]
        mean, noise = statistics.mean(differences), statistics.stdev(fp32)
        each = ", ".join(f"{difference:+.3f}" for difference in differences)
        lines.append(f"| {name} | {mean:+.3f} | {each} | {noise:.3f} | {'yes' if abs(mean) <= noise else 'no'} |")
    return lines
