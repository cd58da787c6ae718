"""The measuring rods of workers, processes and machines: tables from given figures, and the model on paper by hand."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench import busy_translation, machine, network, on_paper, scale, workers
from bench.on_paper import Network, Training
from bench.processes import train_command
from nmt.errors import ConfigError, NmtError
from nmt.machine.peers import Peers

FAST, SLOW = Network(None, 0.0), Network(1e9, 0.001)
TRAINING = Training(parameters=10e6, alone_s=1.0, fixed_s=0.05)


def test_an_update_on_paper_is_what_a_hand_computes() -> None:
    assert on_paper.update_s(TRAINING, FAST, 1) == 1.0
    assert on_paper.update_s(TRAINING, FAST, 2) == pytest.approx(0.5 + 0.05)
    # two machines: each sends half of 40 MB twice, 40 MB or 0.32 s at 1 Gbit/s; 4 round trips of 2 ms
    assert on_paper.sent_bytes(10e6, 2) == 40e6
    assert on_paper.update_s(TRAINING, SLOW, 2) == pytest.approx(0.5 + 0.05 + 0.32 + 4 * 0.002)
    # four: three quarters twice, 60 MB; 3 round trips each of two rings, and two
    assert on_paper.sent_bytes(10e6, 4) == 60e6
    assert on_paper.update_s(TRAINING, SLOW, 4) == pytest.approx(0.25 + 0.05 + 0.48 + 8 * 0.002)


def test_one_machine_exchanges_nothing() -> None:
    assert on_paper.sent_bytes(10e6, 1) == 0
    assert on_paper.round_trips(1) == 0
    assert on_paper.update_s(TRAINING, Network(1.0, 60.0), 1) == TRAINING.alone_s


def test_it_pays_from_the_bandwidth_at_which_both_are_as_fast() -> None:
    without = Training(10e6, 1.0, 0.0)
    # 8 P bytes, 80 MB, in the time of an update on one machine, whatever the number of machines
    for machines in (2, 4, 8):
        assert on_paper.least_bits_per_s(without, machines, 0.0) == pytest.approx(640e6)
    least = on_paper.least_bits_per_s(TRAINING, 2, 0.001)
    assert on_paper.update_s(TRAINING, Network(least, 0.001), 2) == pytest.approx(TRAINING.alone_s)
    assert on_paper.least_bits_per_s(TRAINING, 2, 0.1) == math.inf


def test_the_fastest_number_of_machines() -> None:
    assert on_paper.fastest(TRAINING, Network(100e6, 0.0)) == 1
    # by delay alone, 1 / W + 2 W · 2 ms: 0.125 + 0.032 at 8, 0.0625 + 0.064 at 16, 0.03125 + 0.128 at 32
    assert on_paper.fastest(Training(10e6, 1.0, 0.0), Network(None, 0.001)) == 16


def test_the_table_on_paper(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--parameters", "10", "--alone", "1", "--gbit", "1", "--delay", "1", "--machines", "2,4"]
    assert on_paper.main(words) == 0
    assert capsys.readouterr().out.splitlines() == [
        "| P, millions | t(1), s | Gbit/s | W = 2 | W = 4 | pays from, Gbit/s | fastest W |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        "| 10 | 1 | 1 | 0.828 (1.21) | 0.746 (1.34) | 0.65 | 8 |",  # at 8: 0.125 + 0.56 + 0.032 = 0.717
    ]


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """A folder that looks like Multi30k."""
    for file in ("train.en", "test_2016_flickr.en"):
        (tmp_path / file).write_text("a b\n")
    (tmp_path / "manifest.json").touch()
    return ["--multi30k", str(tmp_path)]


@pytest.mark.parametrize(
    ("parse", "words", "message"),
    [
        (
            on_paper.parse_arguments,
            ["--alone", "1,2"],
            "--parameters has 3 numbers and --alone 2; give one t(1) for each",
        ),
        (on_paper.parse_arguments, ["--gbit", "1,0"], "--gbit: 0 is not a number above 0"),
        (on_paper.parse_arguments, ["--gbit", "fast"], "--gbit: fast is not a number above 0"),
        (workers.parse_arguments, ["--precision", "fp16"], "--precision fp16: fp16 is none of fp32, bf16"),
        (workers.parse_arguments, ["--updates", "9"], "--updates 9 are too few to be timed; give 10 or more"),
        (network.parse_arguments, ["--networks", "1g,2g"], "--networks 1g,2g: 2g is none of unlimited, 10g"),
        (network.parse_arguments, ["--updates", "0"], "--updates: 0 is not a whole number from 1 on"),
        (busy_translation.parse_arguments, ["--neighbours", "1"], "--neighbours begins with 1; begin with 0"),
        (busy_translation.parse_arguments, ["--singles", "0"], "--singles: 0 is not a whole number from 1 on"),
        (busy_translation.parse_arguments, ["--sentences", "-1"], "--sentences: -1 is not a whole number from 1 on"),
        (busy_translation.parse_arguments, ["--rounds", "0"], "--rounds: 0 is not a whole number from 1 on"),
        (busy_translation.parse_arguments, ["--neighbours", "0,-2"], "0,-2 is not whole numbers from 0 on with commas"),
        (on_paper.parse_arguments, ["--machines", "2,0"], "--machines 0 compute nothing; give 1 or more"),
        (on_paper.parse_arguments, ["--delay", "nan"], "--delay: nan is not a number above 0"),
        (scale.parse_arguments, ["--most-pairs", "100"], "--most-pairs 100 leaves nothing; give 10,000 or more"),
        (busy_translation.parse_arguments, ["--model", "/"], "--model / is not a run"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    parse: Callable[..., Any], words: list[str], message: str, corpus: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [] if parse in (on_paper.parse_arguments, scale.parse_arguments) else corpus
    model = ["--model", corpus[1]] if parse is busy_translation.parse_arguments else []
    with pytest.raises(SystemExit) as stop:
        parse([*folders, *model, *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_latency_and_rate_are_set_beside_the_idle_machine_of_the_same_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)
    times = busy_translation.Times
    rounds = [
        {0: times(6.0, 8.0, 300.0), 1: times(7.5, 16.0, 200.0)},
        {0: times(5.0, 10.0, 600.0), 1: times(10.0, 15.0, 300.0)},
    ]
    assert busy_translation.line(1, 2, rounds[:1]) == "| 1 | 7.5 | 1.25 | 16.0 | 2.00 | 200.0 | 0.67 | 1.00 |"
    one, share, slowest, _, rate, *shares = busy_translation.line(1, 2, rounds).split(" | ")[1:]
    assert (one, share) == ("8.8 (7.5 to 10.0)", "1.62 (1.25 to 2.00)")
    assert (slowest, rate) == ("15.5 (15.0 to 16.0)", "250.0 (200.0 to 300.0)")
    assert shares == ["0.58 (0.50 to 0.67)", "0.88 (0.75 to 1.00) |"]


def outcomes(**other: str) -> dict[workers.Case, workers.Outcome]:
    """Of all cases, the last with something else."""
    found = {case: workers.Outcome(1000.0 * case.workers, 500.0, "0123456789abcdef") for case in workers.CASES}
    found[workers.CASES[-1]] = workers.Outcome(500.0, 900.0, other.get("sha256", "0123456789abcdef"))
    return found


def test_workers_and_processes_are_compared_with_two_workers() -> None:
    shown = [workers.line("bf16", case, outcomes()) for case in workers.CASES]
    assert shown[0] == "| bf16 | 1 worker | 1,000 | 0.50 | 500 | 0123456789ab |"
    assert shown[4] == "| bf16 | torchrun, 2 × 1 worker | 1,000 | 0.50 | 500 | 0123456789ab |"
    assert shown[6] == "| bf16 | torchrun, 2 × 2 workers | 500 | 0.25 | 900 | 0123456789ab |"
    assert [(case.processes or 1) * case.workers for case in workers.CASES] == [1, 2, 4, 1, 2, 4, 4]


@pytest.mark.parametrize(("sha256", "code"), [("0123456789abcdef", 0), ("0123456789abcdee", 1)])
def test_weights_that_differ_are_a_failure(
    sha256: str, code: int, corpus: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def outcome(case: workers.Case, words: list[str]) -> workers.Outcome:
        asked.append(words)
        return outcomes(sha256=sha256 if "train.precision=bf16" in words else "0123456789abcdef")[case]

    monkeypatch.setattr(workers, "computes_bf16", lambda device: True)
    monkeypatch.setattr(workers, "outcome", outcome)
    assert workers.main([*corpus, "--updates", "50", "train.accumulate=2"]) == code
    assert ("the weights differ in bf16" in capsys.readouterr().out) == bool(code)
    assert len(asked) == 2 * len(workers.CASES)
    for words in asked:
        assert {"train.parts=4", "train.max_updates=50", "train.validate_every=50", "train.accumulate=2"} < set(words)


@pytest.mark.parametrize(("has_bf16", "wanted"), [(True, ["fp32", "bf16"]), (False, ["fp32"])])
def test_precisions_are_those_that_the_processor_computes(
    has_bf16: bool, wanted: list[str], corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "computes_bf16", lambda device: has_bf16)
    assert workers.parse_arguments(corpus)[0].precision == wanted
    assert workers.parse_arguments([*corpus, "--precision", "bf16"])[0].precision == ["bf16"]


def test_the_speed_is_that_of_the_tokens_after_the_first_stretch(tmp_path: Path) -> None:
    lines = [
        {"kind": "train", "tokens": 900, "tokens_per_s": 1.0},
        {"kind": "train", "tokens": 100, "tokens_per_s": 10.0},
        {"kind": "event"},
        {"kind": "train", "tokens": 300, "tokens_per_s": 60.0},
        {"kind": "dev", "loss": 1.0},
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert workers.speed(path) == pytest.approx(400 / 15)


@pytest.mark.slow
def test_a_training_that_fails_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        workers.outcome(workers.Case(None, 1), ["data=demo_en_de", "train.part=4"])
    assert re.search(r"error: .*train\.part", capsys.readouterr().err)


def test_a_training_is_started_as_users_start_it() -> None:
    start = [sys.executable, "-m"]
    assert train_command(None, ["name=a"]) == [*start, "nmt.cli.main", "train", "name=a"]
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    assert train_command(2, ["name=a"]) == [*start, *launcher, "-m", "nmt.cli.main", "train", "name=a"]


def test_the_fixed_costs_are_those_of_the_unlimited_network() -> None:
    one, two = network.Times(1.0, 0.0, 0.0, 10_000_000), network.Times(0.6, 0.1, 39.0, 10_000_000)
    training = network.fitted(one, two, network.NETWORKS["unlimited"])
    assert training == Training(10_000_000, 1.0, pytest.approx(0.1))
    # 40 MB at 1 Gbit/s are 0.32 s; it pays while they take less than 0.4 s: from 0.8 Gbit/s
    assert network.line("1g", network.Times(0.8, 0.4, 39.0, 10_000_000), training) == (
        "| 1g | 0.800 | 0.920 | 50% | 39.0 | 40.0 | 1.25 | 0.80 |"
    )
    again = network.fitted(one, two, network.NETWORKS["1g+1ms"])
    assert again.fixed_s == pytest.approx(0.1 - 0.32 - 0.008)


class Slow(Peers):
    """Processes that need some time for everything, and say what they were asked."""

    def __init__(self) -> None:
        super().__init__(1, 2)
        self.asked: list[str] = []

    def total(self, *numbers: int) -> list[int]:
        self.asked.append("total")
        return [2 * number for number in numbers]

    def dealt(self, chunks: Any, sizes: Any) -> list[torch.Tensor]:
        self.asked.append("dealt")
        return list(chunks)

    def joined_up(self, chunk: torch.Tensor) -> torch.Tensor:
        self.asked.append("joined_up")
        return chunk

    @contextmanager
    def first_of_machine_before_others(self) -> Iterator[None]:
        self.asked.append("before")
        yield


def test_exchanges_are_timed_and_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(network.time, "perf_counter", lambda: float(next(now)))
    inner, chunk = Slow(), torch.ones(2)
    peers = network.Timed(inner)
    assert (peers.rank, peers.count, peers.first) == (1, 2, False)
    assert peers.total(1, 2) == [2, 4]
    assert peers.dealt([chunk], [2])[0] is chunk
    assert peers.joined_up(chunk) is chunk
    with peers.first_of_machine_before_others():
        pass
    assert inner.asked == ["total", "dealt", "joined_up", "before"]
    assert peers.seconds == 3.0, "one second each, of a clock that counts its readings"


def test_sentences_of_no_fitting_length_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_translation, "parse_arguments", lambda words: (SimpleNamespace(singles=3), []))
    monkeypatch.setattr(busy_translation, "read", lambda arguments, side: ["Two words", "Two words"])
    with pytest.raises(ConfigError, match=r"^none of the first 2 sentences has 13 words; give --sentences 1000$"):
        busy_translation.main([])


@pytest.mark.parametrize(
    ("platform", "user", "programs", "message"),
    [
        ("darwin", 0, ["ip", "tc"], "this is darwin"),
        ("linux", 1000, ["ip", "tc"], "this is not root"),
        ("linux", 0, ["ip"], "tc is not there"),
    ],
)
def test_without_namespaces_one_line_says_so(
    platform: str, user: int, programs: list[str], message: str, corpus: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(network.sys, "platform", platform)
    monkeypatch.setattr(network.os, "geteuid", lambda: user)
    monkeypatch.setattr(network.shutil, "which", lambda program: program if program in programs else None)
    expected = f"^{message}; bench network needs root on Linux, with ip and tc \\(package iproute2\\)$"
    with pytest.raises(NmtError, match=expected):
        network.main(corpus)


def test_namespaces_go_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    there, commands = set(), []

    def said(*command: str) -> str:
        commands.append(" ".join(command))
        if command[:3] == ("ip", "netns", "add"):
            there.add(command[3])
        if command[:3] == ("ip", "netns", "del"):
            there.remove(command[3])
        if "tbf" in command and fails:
            sys.exit("error")
        return ""

    monkeypatch.setattr(network, "said", said)
    fails = False

    def interrupted() -> None:
        with network.namespaces(Network(1e9, 0.0)) as names:
            assert there == set(names)
            assert len(there) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert there == set()
    assert sum("rate 1000000000bit" in command for command in commands) == 2
    fails = True
    with pytest.raises(SystemExit), network.namespaces(Network(1e9, 0.0)):
        raise AssertionError("without a limit")
    assert there == set()


@pytest.mark.skipif(network.what_is_lacking() is not None, reason="needs root on Linux, with ip and tc")
@pytest.mark.parametrize("network_name", ["100m", "1g+10ms"])
def test_namespaces_reach_each_other_by_the_wire_alone(network_name: str) -> None:
    probe = (
        "import socket, sys; s = socket.create_server(('', 5005)); print('ready', flush=True); print(s.accept()[1][0])"
    )
    call = f"import socket; socket.create_connection(('{network.address(0)}', 5005), timeout=20)"
    try:
        with network.namespaces(network.NETWORKS[network_name]) as (one, other):
            inside = ["ip", "netns", "exec"]
            with subprocess.Popen(
                [*inside, one, sys.executable, "-c", probe], stdout=subprocess.PIPE, text=True
            ) as server:
                assert server.stdout is not None
                try:
                    server.stdout.readline()
                    subprocess.run([*inside, other, sys.executable, "-c", call], check=True)
                    assert server.stdout.readline().strip() == network.address(1)
                finally:
                    server.kill()
    except SystemExit as lacking:  # a container whose root may not do this
        pytest.skip(str(lacking))
    assert not set(subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout.split()) & {one, other}
