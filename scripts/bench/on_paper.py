"""How the time of an update grows with workers, parameters and the network: a model on paper.

    python scripts/bench on_paper                                      (the tables of docs/parallel.md)
    python scripts/bench on_paper --parameters 60 --alone 5.9 --gbit 1,10,25 --machines 2,4,8,16 --delay 0.1

W machines, one process each, compute the parts of an update, which takes one of them t(1) seconds. Then each has the
sum of its parts: 4 bytes a parameter. It sends every other one its stretch of the numbers, adds up what it is sent,
and sends the sum to all: (W - 1) / W of all numbers, twice. So

    t(W) = t(1) / W + fixed + 2 (W - 1) / W · 4 P / bandwidth + 2 W · 2 delay

P parameters; bandwidth of one machine's link, each way; delay of a message one way, and 2 W round trips; `fixed`
seconds that do not depend on the network: copies, sums, and waiting for the slowest machine. W is at most the number
of parts.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.arguments import whole_numbers
from command_line import above_zero, new_parser

BYTES = 4  # of a number


@dataclass(frozen=True)
class Network:
    """Between the machines; None: as fast as they compute."""

    bits_per_s: float | None
    delay_s: float  # of a message, one way

    @property
    def seconds_per_byte(self) -> float:
        """At full rate."""
        return 0.0 if self.bits_per_s is None else 8 / self.bits_per_s


@dataclass(frozen=True)
class Training:
    """What is the same wherever it runs."""

    parameters: float
    alone_s: float  # of an update on one machine
    fixed_s: float  # of an exchange, whatever the network


def sent_bytes(parameters: float, machines: int) -> float:
    """By each machine in an update."""
    return 2 * (machines - 1) / machines * BYTES * parameters


def round_trips(machines: int) -> int:
    """Of an update, one after another: two sums of small numbers go around gloo's ring, W - 1 each.

    The dealing of stretches is one, and so is their joining. Measured with 10 ms of delay, for two and four processes.
    """
    return 2 * machines if machines > 1 else 0


def update_s(training: Training, network: Network, machines: int) -> float:
    """Seconds of an update: t(W)."""
    if machines == 1:
        return training.alone_s
    transfer_s = sent_bytes(training.parameters, machines) * network.seconds_per_byte
    waiting_s = round_trips(machines) * 2 * network.delay_s
    return training.alone_s / machines + training.fixed_s + transfer_s + waiting_s


def least_bits_per_s(training: Training, machines: int, delay_s: float) -> float:
    """The bandwidth below which so many machines are slower than one; infinite if no bandwidth helps."""
    saved_s = training.alone_s - update_s(training, Network(None, delay_s), machines)
    return 8 * sent_bytes(training.parameters, machines) / saved_s if saved_s > 0 else math.inf


def fastest(training: Training, network: Network) -> int:
    """The number of machines, of 1, 2, 4 and so on to 256, that need least time for an update."""
    times = {machines: update_s(training, network, machines) for machines in (1, 2, 4, 8, 16, 32, 64, 128, 256)}
    return min(times, key=lambda machines: times[machines])


def main(given: Sequence[str]) -> int:
    """Prints the table."""
    arguments = parse_arguments(given)
    heads = "".join(f" W = {machines} |" for machines in arguments.machines)
    print(f"| P, millions | t(1), s | Gbit/s |{heads} pays from, Gbit/s | fastest W |")
    print(f"|---:|---:|---:|{'---:|' * len(arguments.machines)}---:|---:|")
    for parameters, alone_s in zip(arguments.parameters, arguments.alone, strict=True):
        for gbit in arguments.gbit:
            training = Training(1e6 * parameters, alone_s, 0.0)
            print(line(training, Network(1e9 * gbit, arguments.delay / 1000), arguments.machines))
    return 0


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("bench on_paper", __doc__)
    parser.add_argument("--parameters", type=numbers, default=[2.5, 8, 60], help="millions, with commas (2.5,8,60)")
    parser.add_argument("--alone", type=numbers, default=[0.05, 0.1, 5.5], help="t(1) of each, s (0.05,0.1,5.5)")
    parser.add_argument("--gbit", type=numbers, default=[1, 10], help="bandwidths in Gbit/s, with commas (1,10)")
    parser.add_argument("--delay", type=milliseconds, default=0.1, help="of a message one way, ms (0.1)")
    parser.add_argument("--machines", type=whole_numbers, default=[2, 4, 8], help="with commas (2,4,8)")
    arguments = parser.parse_args(given)
    if 0 in arguments.machines:
        parser.error("--machines 0 compute nothing; give 1 or more")
    if len(arguments.alone) != len(arguments.parameters):
        parser.error(
            f"--parameters has {len(arguments.parameters)} numbers and --alone {len(arguments.alone)}; give one t(1) "
            "for each"
        )
    return arguments


def milliseconds(text: str) -> float:
    """A number from 0 on."""
    return 0.0 if text == "0" else above_zero(text)


def numbers(text: str) -> list[float]:
    """With commas between them, all above 0."""
    return [above_zero(number) for number in text.split(",")]


def line(training: Training, network: Network, machines: Sequence[int]) -> str:
    """One line of the table: seconds of an update, and how many times as fast as one machine."""
    assert network.bits_per_s is not None
    times = [update_s(training, network, each) for each in machines]
    shown = " | ".join(f"{time:.3f} ({training.alone_s / time:.2f})" for time in times)
    least = least_bits_per_s(training, machines[0], network.delay_s) / 1e9
    before = f"| {training.parameters / 1e6:g} | {training.alone_s:g} | {network.bits_per_s / 1e9:g}"
    return f"{before} | {shown} | {least:.2f} | {fastest(training, network)} |"
