"""Training speed: real target tokens per second, and their share of the machine's own matrix rate.

    python scripts/bench train --multi30k FOLDER                          (the reference model)
    python scripts/bench train --multi30k FOLDER --attention dot,additive,multi_head --precision bf16,fp32
    python scripts/bench train --multi30k FOLDER decoder.input_feeding=true      (words for nmt train)

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de. Every case is a process of its own and runs the
training loop of `nmt train` as it is: data, logging and gradient clipping included. Several rounds measure the cases
in turn, so that all meet the same machine. The tables have the medians of each, and of the ratios within a round.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from bench import machine
from bench.arguments import add_measuring, add_multi30k, parse_measuring
from bench.operations import counted
from bench.processes import measured_apart
from bench.spread import spread
from bench.training_loop import ready_to_train, trained_for
from command_line import new_parser
from nmt.data.batch import make_batch
from nmt.training.loss import batch_loss
from nmt.training.trainer import Trainer

WARM_UP = 20  # updates before the clock starts
COUNTED = 100  # sentence pairs whose operations are counted, one by one, so that padding does not count


@dataclass(frozen=True)
class Speed:
    """One case. The rate of matrix products is taken in the same process, before and after; the better one counts."""

    attention: str
    precision: str
    tokens_per_s: float
    share: float  # of the machine's matrix rate in that precision
    operations_per_token: float
    matrix_rate: float  # floating-point operations per second, in that precision
    peak_memory_mb: float
    others: float  # share of the machine that other processes used meanwhile
    updates: int


def main(given: Sequence[str]) -> int:
    """Measures every case and prints the table."""
    arguments, words = parse_arguments(given)
    if arguments.case:
        print(json.dumps(asdict(measure(arguments, words))))
        return 0
    print(machine.describe())
    cases = [
        (attention, each) for each in arguments.precision.split(",") for attention in arguments.attention.split(",")
    ]
    print("\n| attention | precision | tokens/s | share of the matrix rate | Mflop/token | peak memory, MB | others |")
    print("|---|---|---:|---:|---:|---:|---:|")
    rounds: list[list[Speed]] = []
    for number in range(arguments.rounds):
        rounds.append([])
        for case in cases:
            rounds[-1].append(run_case(arguments, *case, words))
            if number == arguments.rounds - 1:
                print(line([each[len(rounds[-1]) - 1] for each in rounds]), flush=True)
    print("\n".join(beside_dot(rounds)))
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench train", __doc__)
    add_multi30k(parser)
    parser.add_argument("--attention", default="general", help="one or several, with commas (general)")
    parser.add_argument("--precision", default="auto", help="auto, bf16, fp32, or several with commas (auto)")
    add_measuring(parser, seconds=30.0)
    return parse_measuring(parser, words)


def run_case(arguments: argparse.Namespace, attention: str, precision: str, words: list[str]) -> Speed:
    """The figures of one case, measured in a new process."""
    options = ["--multi30k", str(arguments.multi30k), "--seconds", str(arguments.seconds)]
    chosen = ["--case", "--attention", attention, "--precision", precision]
    return measured_apart(Speed, "train", [*options, *chosen, *words])


def measure(arguments: argparse.Namespace, words: list[str]) -> Speed:
    """Tokens per second of one training loop."""
    fixed = ["experiment=reference", f"data.root={arguments.multi30k.resolve()}"]
    chosen = [f"attention={arguments.attention}", f"train.precision={arguments.precision}"]
    with ready_to_train([*fixed, *chosen, *words]) as trainer:
        before = machine.matrix_rate(trainer.dtype, trainer.device)
        loop = trained_for(arguments.seconds, trainer, WARM_UP)
        peak = machine.peak_memory_mb(trainer.device)
        rate = max(before, machine.matrix_rate(trainer.dtype, trainer.device))
        each = operations_per_token(trainer)
    return Speed(
        attention=arguments.attention,
        precision="bf16" if trainer.dtype == torch.bfloat16 else "fp32",
        tokens_per_s=loop.tokens_per_s,
        share=loop.tokens_per_s * each / rate,
        operations_per_token=each,
        matrix_rate=rate,
        peak_memory_mb=peak,
        others=loop.others,
        updates=loop.updates,
    )


def operations_per_token(trainer: Trainer) -> float:
    """Of forward and backward, mean over some sentence pairs."""
    pairs = trainer.prepared.train[:COUNTED]
    tokens = 0
    with counted() as operations:
        for src, tgt in zip(pairs["src_ids"], pairs["tgt_ids"], strict=True):
            batch = make_batch([src], [tgt]).to(trainer.device)
            loss, _ = batch_loss(trainer.model, batch, trainer.settings.label_smoothing)
            torch.autograd.backward(loss)
            tokens += batch.tgt_out.numel()
    return operations.total / tokens


def line(speeds: Sequence[Speed]) -> str:
    """A case's line of the table: medians of its measurements."""

    def middle(name: str) -> float:
        return float(statistics.median(getattr(speed, name) for speed in speeds))

    case = speeds[0]
    share = f"{middle('share'):.0%} of {middle('matrix_rate') / 1e9:,.0f} Gflop/s"
    figures = f"{case.operations_per_token / 1e6:.1f} | {middle('peak_memory_mb'):,.0f} | {middle('others'):.0%}"
    return f"| {case.attention} | {case.precision} | {middle('tokens_per_s'):,.0f} | {share} | {figures} |"


def beside_dot(rounds: Sequence[Sequence[Speed]]) -> list[str]:
    """Each score's share of the matrix rate ÷ that of `dot` in the same round and precision, if that was measured."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for speeds in rounds:
        dot = {speed.precision: speed.share for speed in speeds if speed.attention == "dot"}
        for speed in speeds:
            if speed.precision in dot and speed.attention != "dot":
                ratio = speed.share / dot[speed.precision]
                ratios.setdefault((speed.precision, speed.attention), []).append(ratio)
    lines: dict[str, list[str]] = {}
    for (precision, attention), each in ratios.items():
        lines.setdefault(precision, []).append(f"{attention} {spread(each)}")
    return [f"\nshare ÷ that of dot, {precision}: {', '.join(shares)}" for precision, shares in lines.items()]
