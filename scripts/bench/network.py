"""Training on two machines, beside the model on paper: seconds per update by bandwidth and delay of the network.

    python scripts/bench network --multi30k FOLDER            (needs root on Linux, and the programs ip and tc)
    python scripts/bench network --multi30k FOLDER --networks unlimited,1g,1g+10ms --updates 10 train.accumulate=4

FOLDER holds Multi30k. The machines are two network namespaces of this one, joined by two devices, whose rate tc limits
(tbf), and behind which a process delays every packet if the network has a delay; both are deleted afterwards. Each
runs torchrun with one process of one worker, train.parts=4 (more words are for nmt train). `make bench` leaves it out,
for it needs root.

Measured are medians over the updates: seconds per update, and how many of them are spent in exchanges, waiting for the
other one included. Beside them is the model of `bench on_paper`. Its t(1) is measured on one machine; its fixed costs
are those of the first network, which should be unlimited.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from bench import machine
from bench.arguments import RECIPES, add_multi30k, check_multi30k, chosen, words_of
from bench.on_paper import Network, Training, least_bits_per_s, sent_bytes, update_s
from bench.processes import measured_apart
from bench.training_loop import ready_to_train
from command_line import SCRIPTS, new_parser, one_or_more, own_and_words
from nmt.errors import NmtError
from nmt.machine.peers import Peers, joined

NETWORKS = {
    "unlimited": Network(None, 0.0),
    "10g": Network(10e9, 0.0),
    "1g": Network(1e9, 0.0),
    "100m": Network(1e8, 0.0),
    "1g+1ms": Network(1e9, 0.001),
    "1g+10ms": Network(1e9, 0.010),
}
WARM_UP = 5  # updates before the clock starts
WIRE = "wire"  # the device, in each namespace
PORT = 29_400
BURST_BYTES, QUEUE_BYTES = 1 << 18, 1 << 26  # of tbf: sent at once, and kept rather than lost
PACKET_BYTES = 65_000  # of the delayed wire: few packets, for a process carries them
LIMIT_S = 600  # of one case

Result = TypeVar("Result")


@dataclass(frozen=True)
class Times:
    """Of one training: medians over its updates."""

    update_s: float
    exchange_s: float
    sent_mb: float  # by each process, in an update
    parameters: int


class Timed(Peers):
    """The same processes, with a clock."""

    def __init__(self, peers: Peers) -> None:
        super().__init__(peers.rank, peers.count)
        self.peers = peers
        self.seconds = 0.0

    def timed(self, work: Callable[[], Result]) -> Result:
        """Its result; its time is added."""
        start = time.perf_counter()
        found = work()
        self.seconds += time.perf_counter() - start
        return found

    def total(self, *numbers: int) -> list[int]:
        return self.timed(lambda: self.peers.total(*numbers))

    def dealt(self, chunks: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
        return self.timed(lambda: self.peers.dealt(chunks, sizes))

    def joined_up(self, chunk: Tensor) -> Tensor:
        return self.timed(lambda: self.peers.joined_up(chunk))

    @contextmanager
    def first_of_machine_before_others(self) -> Iterator[None]:
        with self.peers.first_of_machine_before_others():
            yield


def main(given: Sequence[str]) -> int:
    """Measures in turn and prints the table."""
    arguments, words = parse_arguments(given)
    all_words = [*words_of(arguments.recipe, arguments.multi30k), "train.parts=4", *words]
    if arguments.case:
        measure(all_words, arguments.updates)
        return 0
    if lacking := what_is_lacking():
        raise NmtError(f"{lacking}; bench network needs root on Linux, with ip and tc (package iproute2)")
    print(machine.describe())
    workers = {count: alone(given, count) for count in (1, 2)}
    print(
        f"\none process, {workers[1].parameters / 1e6:.1f} million parameters: {workers[1].update_s:.3f} s per update "
    )
    print(f"with one worker, {workers[2].update_s:.3f} with two. Two machines of one worker each:\n")
    figures = "s per update | on paper | in exchanges | MB sent | on paper | times one machine | pays from, Gbit/s"
    print(f"| network | {figures} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    training: Training | None = None
    for name in arguments.networks:
        with namespaces(NETWORKS[name]) as names:
            times = together(given, names)
        if training is None:
            training = fitted(workers[1], times, NETWORKS[name])
        print(line(name, times, training), flush=True)
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench network", __doc__)
    add_multi30k(parser)
    parser.add_argument("--recipe", choices=list(RECIPES), default="narrow", help="that is trained (%(default)s)")
    parser.add_argument("--networks", default=",".join(NETWORKS), help=f"some of {', '.join(NETWORKS)}, with commas")
    parser.add_argument("--updates", type=one_or_more, default=40, help="measured of each (40)")
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    arguments, rest = own_and_words(parser, given)
    arguments.networks = chosen(parser, "--networks", arguments.networks, list(NETWORKS))
    check_multi30k(parser, arguments.multi30k)
    return arguments, rest


def what_is_lacking() -> str | None:
    """For namespaces."""
    if sys.platform != "linux":
        return f"this is {sys.platform}"
    if os.geteuid():
        return "this is not root"
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    return f"{missing[0]} is not there" if missing else None


def measure(words: Sequence[str], updates: int) -> None:
    """A process of a training; the first prints its times."""
    with joined(LIMIT_S, device="cpu") as others, ready_to_train(words, peers := Timed(others)) as trainer:
        found = []
        for _ in range(WARM_UP + updates):
            peers.seconds, start, sent = 0.0, time.perf_counter(), sent_so_far()
            trainer.check_stop()
            trainer.update()
            found.append((time.perf_counter() - start, peers.seconds, (sent_so_far() - sent) / 1e6))
        update_s, exchange_s, sent_mb = map(statistics.median, zip(*found[WARM_UP:], strict=True))
        parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        print(json.dumps(asdict(Times(update_s, exchange_s, sent_mb, parameters))))


def sent_so_far() -> int:
    """Bytes that went into the wire, if there is one."""
    path = Path(f"/sys/class/net/{WIRE}/statistics/tx_bytes")
    return int(path.read_text()) if path.exists() else 0


def alone(given: Sequence[str], workers: int) -> Times:
    """On one machine."""
    return measured_apart(Times, "network", ["--case", *given, f"train.workers={workers}"], one_thread())


def together(given: Sequence[str], names: Sequence[str]) -> Times:
    """On two machines, which are these namespaces."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    launcher += [f"--master-addr={address(0)}", f"--master-port={PORT}"]
    script = [str(SCRIPTS / "bench"), "network", "--case", *given, "train.workers=1"]
    with ExitStack() as ends:
        processes = []
        for rank, name in enumerate(names):
            command = ["ip", "netns", "exec", name, *launcher, f"--node-rank={rank}", *script]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=one_thread())
            ends.callback(ended, process)
            processes.append(process)
        printed = [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    if code := max(abs(process.returncode) for process in processes):
        sys.exit(code)
    return last_times(printed[0])


def ended(process: "subprocess.Popen[str]") -> None:
    """It is asked to end, and has."""
    process.terminate()
    process.wait()


def last_times(printed: str) -> Times:
    """That a process has printed last."""
    return Times(**json.loads(printed.splitlines()[-1]))


def one_thread() -> dict[str, str]:
    """Our environment, for a process that uses one core."""
    return os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": WIRE}


def address(rank: int) -> str:
    """Of a machine."""
    return f"10.213.77.{rank + 1}"


@contextmanager
def namespaces(network: Network) -> Iterator[list[str]]:
    """The names of two network namespaces that such a network joins; they go with the block."""
    names, ends = ([f"nmt-{os.getpid()}-{side}" for side in "ab"], [f"w{os.getpid()}{side}" for side in "ab"])
    with ExitStack() as stack:
        for name in names:
            said("ip", "netns", "add", name)
            stack.callback(said, "ip", "netns", "del", name)
        if network.delay_s:
            stack.enter_context(delay_line(ends, network.delay_s))
        else:
            said("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for rank, (name, end) in enumerate(zip(names, ends, strict=True)):
            said("ip", "link", "set", end, "netns", name, "name", WIRE)
            said("ip", "-n", name, "address", "add", f"{address(rank)}/24", "dev", WIRE)
            for device in ("lo", WIRE):
                said("ip", "-n", name, "link", "set", device, "up")
            if network.bits_per_s is not None:
                rate = ["rate", f"{network.bits_per_s:.0f}bit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES)]
                said("tc", "-n", name, "qdisc", "add", "dev", WIRE, "root", "tbf", *rate)
        yield names


@contextmanager
def delay_line(names: Sequence[str], delay_s: float) -> Iterator[None]:
    """Two devices of these names; what one is sent, the other receives so much later."""
    command = [sys.executable, str(SCRIPTS / "bench" / "delay_line.py"), *names, str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            for name in names:
                said("ip", "link", "set", name, "mtu", str(PACKET_BYTES), "txqueuelen", "10000")
            yield
        finally:
            process.kill()


def said(*command: str) -> str:
    """What a command prints; its failure ends everything."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed")
    return done.stdout


def fitted(one: Times, two: Times, network: Network) -> Training:
    """The training on paper, which takes as long as measured on one machine and on two."""
    without = update_s(Training(one.parameters, one.update_s, 0.0), network, 2)
    return Training(one.parameters, one.update_s, two.update_s - without)


def line(name: str, times: Times, training: Training) -> str:
    """One line of the table."""
    network = NETWORKS[name]
    paper_s = update_s(training, network, 2)
    least = least_bits_per_s(training, 2, network.delay_s) / 1e9
    figures = f"{times.update_s:.3f} | {paper_s:.3f} | {times.exchange_s / times.update_s:.0%} | {times.sent_mb:.1f}"
    sent_mb = sent_bytes(training.parameters, 2) / 1e6
    return f"| {name} | {figures} | {sent_mb:.1f} | {training.alone_s / times.update_s:.2f} | {least:.2f} |"
