"""Processes that train together give the same bits in any number. One line names a failure. torchrun restarts them."""

import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from helpers.forked import Forked
from helpers.models import random_batch, small_model
from helpers.processes import finished, free_port, started_apart, store_at, torchrun, words_of
from helpers.training_runs import corpus, metrics, resume, run_config, same, start, tensors
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not list it

from nmt.cli.main import main
from nmt.config.plain import leaves
from nmt.errors import ConfigError
from nmt.machine.peers import Peers, _attempt, take_gpu
from nmt.machine.signals import SAVED
from nmt.runs.checkpoints import saved_updates
from nmt.training.run import refuse_other_states, refuse_unshared
from nmt.training.step import BatchPart, Stepper
from nmt.training.tree_sum import nodes_left
from torture.processes import children_of

DRAWING = {"encoder__dropout": 0.3, "decoder__dropout": 0.2, "model__word_dropout": 0.1}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


class Meeting:
    """What threads that stand for processes exchange."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.barrier = threading.Barrier(count, timeout=60)
        self.brought: list[Any] = [None] * count

    def of_all(self, rank: int, value: Any) -> list[Any]:
        """What each has brought."""
        self.barrier.wait()
        self.brought[rank] = value
        self.barrier.wait()
        return list(self.brought)


class Thread(Peers):
    """A process that is a thread of this one."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        super().__init__(rank, meeting.count)
        self.meeting = meeting

    def total(self, *numbers: int) -> list[int]:
        return [sum(each) for each in zip(*self.meeting.of_all(self.rank, numbers), strict=True)]

    def dealt(self, chunks: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[torch.Tensor]:
        received = [chunks[self.rank].clone() for chunks in self.meeting.of_all(self.rank, list(chunks))]
        assert [len(chunk) for chunk in received] == list(sizes)
        return received

    def joined_up(self, chunk: torch.Tensor) -> torch.Tensor:
        return torch.cat(self.meeting.of_all(self.rank, chunk))


def after_steps(count: int, parts: Sequence[BatchPart], frozen: Callable[[torch.nn.Module], None]) -> list[Any]:
    """All that two steps come to in each of `count` processes."""
    meeting = Meeting(count)
    found: list[Any] = [None] * count

    def process(rank: int) -> None:
        model = models[rank]
        settings = replace(run_config(Path(), Path()).train, workers=1)
        optimiser = torch.optim.AdamW(model.parameters())
        peers = Thread(rank, meeting)
        stepper = Stepper(model, optimiser, settings, torch.device("cpu"), torch.float32, peers)
        own = {number: parts[number] for number in peers.block(len(parts))}
        steps = [stepper(own, len(parts), 0.01, lambda part, update=update: 100 * update + part) for update in (1, 2)]
        said = [(step.tokens, step.loss.item(), step.nll.item(), step.norm.item(), step.halved) for step in steps]
        found[rank] = said, [p.grad is None for p in model.parameters()], [p.detach() for p in model.parameters()]

    models = [small_model(dropout=0.3).train() for _ in range(count)]
    for model in models:
        frozen(model)
    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize(
    "parts", [1, 2, 3, 4, 7, *(pytest.param(parts, marks=pytest.mark.slow) for parts in (5, 6, 8))]
)
def test_any_number_of_processes_takes_the_same_step(parts: int) -> None:
    whole = [(np.arange(2 + n % 3), random_batch(n, 2 + n % 3)) for n in range(parts)]

    def frozen(model: torch.nn.Module) -> None:
        model.get_submodule("embedding").get_parameter("table.weight").requires_grad_(parts != 3)

    [alone] = after_steps(1, whole, frozen)
    for count in (2, 3, 4):
        for said, without, weights in after_steps(count, whole, frozen):
            assert said == alone[0]
            assert without == alone[1]
            assert all(map(torch.equal, weights, alone[2]))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("parts", [1, 2, 5, 8, 12])
def test_processes_have_all_parts_and_few_sums_to_exchange(parts: int, count: int) -> None:
    blocks = [Peers(rank, count).block(parts) for rank in range(count)]
    assert [part for block in blocks for part in block] == list(range(parts))
    sizes = [len(block) for block in blocks]
    assert max(sizes) - min(sizes) <= 1
    nodes = [node for block in blocks for node in nodes_left(parts, block)]
    assert len(set(nodes)) == len(nodes)
    if parts % count == 0 and (parts // count) & (parts // count - 1) == 0:
        assert len(nodes) == count or count == 1


def test_each_attempt_has_a_word_of_its_own_whatever_killed_processes_have_left() -> None:
    store, attempts = dist.HashStore(), []
    for _ in range(3):
        found: dict[int, str] = {}

        def join(rank: int, found: dict[int, str] = found) -> None:
            time.sleep(random.Random(rank).uniform(0, 0.1))
            found[rank] = _attempt(store, rank, 4, timedelta(seconds=30))

        threads = [threading.Thread(target=join, args=(rank,)) for rank in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        attempts += set(found.values())
        store.set("process 2", "of a process that was killed")
    assert len(attempts) == len(set(attempts)) == 3


def test_an_attempt_without_a_process_ends() -> None:
    for rank in (0, 1):
        with pytest.raises(RuntimeError):
            _attempt(dist.HashStore(), rank, 2, timedelta(seconds=0.2))


def test_who_is_alone_exchanges_nothing() -> None:
    alone = Peers()
    assert (alone.total(3, True), alone.gathered({"a": 1}), alone.first) == ([3, 1], [{"a": 1}], True)
    with alone.first_of_machine_before_others():
        pass


def typed(data: Path, runs: Path, **changes: Any) -> list[str]:
    """The words of a small run."""
    config = run_config(data, runs, train__parts=4, **changes).plain()
    chosen = {section: config.pop(section) for section in ("encoder", "decoder", "attention", "optimizer", "schedule")}
    rest = {key: value for key, value in leaves(config).items() if key not in ("init_from",)}
    own = {
        f"{name}.{key}": value for name, section in chosen.items() for key, value in section.items() if key != "class"
    }
    return ["data=text", "schedule=constant", *words_of(rest), *words_of(own)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
def test_processes_end_with_the_bits_of_one(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    words = {"train__accumulate": 2, **DRAWING}
    assert start(data, tmp_path / "alone", train__parts=4, **words) == 0
    if count == 1:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")  # torchrun's: its only process is not like one without it
    command = typed(data, tmp_path / "together", train__workers=2, **words)
    if count == 2:
        done = finished(torchrun(count, command))
        codes, said = [done.returncode], done.stderr
    else:
        with started_apart([command] * count, free_port()) as processes:
            said = "".join(process.communicate(timeout=240)[1] for process in processes)
            codes = [process.returncode for process in processes]
    assert not any(codes), said
    alone, together = (tmp_path / name / "run" for name in ("alone", "together"))
    assert saved_updates(alone) == saved_updates(together)
    for update in saved_updates(alone):
        for file in ("weights", "training"):
            path = Path("checkpoints") / f"{update:08d}" / f"{file}.safetensors"
            if (alone / path).exists():
                assert same(tensors(alone / path), tensors(together / path))
    assert same(tensors(alone / "model.safetensors"), tensors(together / "model.safetensors"))
    assert metrics(alone) == metrics(together)
    assert said.count("best on dev") == 1


def of_two_files(data: Path, folder: Path, *words: str) -> list[str]:
    """Words of a user: two files, and what the recipe does not choose."""
    files = ["data.train.src=train.src", "data.train.tgt=train.tgt", "data.dev_size=10"]
    folders = [f"runs_dir={folder}", f"cache_dir={folder / 'cache'}", "name=run"]
    return ["data=text", f"data.root={data}", *files, *folders, "train.bleu_sentences=2", *words]


@pytest.mark.slow
def test_the_recipe_is_the_same_in_all_processes_and_is_said_once(data: Path, tmp_path: Path) -> None:
    with started_apart([of_two_files(data, tmp_path, "train.max_updates=3")] * 2, free_port()) as processes:
        said = "".join(process.communicate(timeout=240)[1] for process in processes)
        assert [process.returncode for process in processes] == [0, 0], said
    assert said.count("recipe for ") == 1
    assert said.count("best on dev") == 1


@pytest.mark.slow
def test_a_budget_is_decided_once_for_all_processes(data: Path, tmp_path: Path) -> None:
    words = of_two_files(data, tmp_path, "budget=5m", "model.d_embed=8", "encoder.d_hidden=8")
    with started_apart([words] * 2, free_port()) as processes:
        wait_for((tmp_path / "run" / "metrics.jsonl").exists, processes)
        processes[0].send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [SAVED, SAVED], said
    assert said[0].count("budget=5m: ") == said[0].count("recipe for ") == 1
    assert said[1] == ""


@pytest.mark.slow
def test_an_error_is_said_once(data: Path, tmp_path: Path) -> None:
    assert start(data, tmp_path, train__max_updates=1) == 0
    done = finished(torchrun(2, typed(data, tmp_path)))
    assert done.returncode != 0
    assert re.findall("^error: .*", done.stderr, re.MULTILINE) == [
        f"error: {tmp_path / 'run'} already holds a run; continue it with resume={tmp_path / 'run'}, or choose another "
        "name="
    ]
    assert done.stderr.count("Traceback") == 1  # torchrun's own


@pytest.mark.slow
def test_processes_with_other_words_are_refused(data: Path, tmp_path: Path) -> None:
    commands = [typed(data, tmp_path, seed=seed, train__workers=workers) for seed, workers in ((1, 1), (2, 2))]
    port = free_port()
    with store_at(port), started_apart(commands, port) as processes:
        said = "".join(process.communicate(timeout=120)[1] for process in processes)
        assert [process.returncode for process in processes] == [2, 2]
    assert said.count("error: seed is 1 in process 0 and 2 in process 1; start all with the same words") == 1
    assert said.count("error: ") == 1


@pytest.mark.slow
def test_another_corpus_on_another_machine_is_refused(data: Path, tmp_path: Path) -> None:
    other = corpus(tmp_path / "other", count=90)
    with started_apart([typed(each, tmp_path / "runs") for each in (data, other)], free_port()) as processes:
        said = "".join(process.communicate(timeout=120)[1] for process in processes)
        assert [process.returncode for process in processes] == [2, 2]
    assert "error: the corpus is not the same on all machines, data.root=" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("number", "what", "value", "remedy"),
    [
        (0, "the run's update", 4, "copy the run"),
        (1, "the checksum of the weights", "x", "copy the run"),
        (2, "the dtype of products", "bfloat16", "set train.precision"),
        (3, "the device", "cuda", "set train.device"),
    ],
)
def test_processes_that_begin_in_different_states_are_refused(number: int, what: str, value: Any, remedy: str) -> None:
    class Two(Peers):
        def gathered(self, state: Any) -> list[Any]:
            other = list(state)
            other[number] = value if differs else state[number]
            return [state, other]

    given = (Two(0, 2), 8, small_model(), torch.float32, torch.device("cpu"))
    differs = False
    refuse_other_states(*given)
    differs = True
    with pytest.raises(ConfigError, match=rf"^{what} is \w+ in process 0 and {value} in process 1; {remedy}"):
        refuse_other_states(*given)


def test_ctrl_c_is_heard_while_another_process_prepares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt), Peers(1, 2, dist.HashStore()).first_of_machine_before_others():
            pytest.fail("the first process has not been there")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("shared", [True, False])
def test_processes_must_see_the_folder_of_the_first(shared: bool, tmp_path: Path) -> None:
    asked: list[Any] = []

    class Two(Peers):
        def gathered(self, value: Any) -> list[Any]:
            asked.append(value)
            return [value, shared if value is True else value]

        def meet(self) -> None:
            pass

    if shared:
        refuse_unshared(Two(0, 2), tmp_path)
    else:
        with pytest.raises(ConfigError, match=rf"^process 1 does not see what process 0 writes to {tmp_path}; give a"):
            refuse_unshared(Two(0, 2), tmp_path)
    assert asked[-1] is True, "the first process does not see its own file"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("device", "there", "given"),
    [("cpu", 1, None), ("auto", 0, None), ("auto", 2, 1), ("cuda", 2, 1), ("auto", 1, "1 GPU"), ("cuda", 1, "1 GPU")],
)
def test_each_process_takes_a_gpu_of_its_own(
    device: str, there: int, given: int | str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    if isinstance(given, str):
        with pytest.raises(ConfigError, match=rf"^LOCAL_RANK=1, but this machine has {given}; start one process for"):
            take_gpu(device)
        given = None
    else:
        take_gpu(device)
    assert taken == ([] if given is None else [given])


@pytest.mark.slow
def test_a_killed_process_is_started_anew_on_several_machines_with_the_same_bits(data: Path, tmp_path: Path) -> None:
    """Each machine has a torchrun of its own, which counts its own restarts: after this kill, 0 and 1."""
    words = {"train__max_updates": 40, "train__metric": "loss", "train__bleu_sentences": 0, **DRAWING}
    assert start(data, tmp_path / "alone", train__parts=4, **words) == 0
    options = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--max-restarts=3"]
    command = torchrun(1, typed(data, tmp_path / "killed", **words), *options)
    machines = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) for _ in range(2)
    ]
    wait_for(lambda: len(saved_updates(tmp_path / "killed" / "run")) > 1, machines)
    environments = [Path(f"/proc/{children_of(machine.pid)[0]}/environ").read_bytes() for machine in machines]
    killed = [b"\0RANK=1\0" in environment for environment in environments].index(True)
    os.kill(children_of(machines[killed].pid)[0], signal.SIGKILL)
    said = [machine.communicate(timeout=240)[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], said
    alone, together = (tensors(tmp_path / name / "run" / "model.safetensors") for name in ("alone", "killed"))
    assert same(alone, together)
    assert metrics(tmp_path / "alone" / "run") == metrics(tmp_path / "killed" / "run")


@pytest.mark.slow
def test_a_process_that_hangs_is_named(data: Path, tmp_path: Path) -> None:
    words = typed(data, tmp_path, train__max_updates=100_000, train__peer_timeout_s=4)
    port = free_port()
    with store_at(port), started_apart([words] * 3, port) as processes:
        wait_for(lambda: saved_updates(tmp_path / "run"), processes)
        processes[1].send_signal(signal.SIGSTOP)
        said = "".join(processes[rank].communicate(timeout=120)[1] for rank in (0, 2))
        assert [processes[rank].returncode for rank in (0, 2)] == [2, 2]
    assert len(re.findall(r"error: process 1 on \S+ of 3 has gone or does not answer; ", said)) == 1
    assert "Traceback" not in said


@pytest.mark.slow
def test_an_end_that_one_process_is_asked_for_ends_all_and_the_run_goes_on_alone(data: Path, tmp_path: Path) -> None:
    words = {"train__max_updates": 60, **DRAWING}
    assert start(data, tmp_path / "whole", train__parts=4, **words) == 0
    with started_apart([typed(data, tmp_path / "halves", **words)] * 2, free_port()) as processes:
        wait_for(lambda: saved_updates(tmp_path / "halves" / "run"), processes)
        processes[1].send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=120)[1] for process in processes]
        assert [process.returncode for process in processes] == [SAVED, SAVED]
    assert "saved; go on with: nmt train resume=" in said[0]
    assert said[1] == ""
    assert resume(tmp_path / "halves" / "run") == 0
    whole, halves = (tensors(tmp_path / name / "run" / "model.safetensors") for name in ("whole", "halves"))
    assert same(whole, halves)


def test_what_one_process_does_is_refused_of_several(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for words, message in (
        (["evaluate", "model=a"], "WORLD_SIZE=2, but nmt evaluate is one process; start it without torchrun"),
        (["train", "-m", "seed=1,2"], "WORLD_SIZE=2, but a sweep is one process; start it without torchrun"),
        (["train", "data=demo_en_de"], "WORLD_SIZE=2, but RANK is not set; start processes with torchrun"),
    ):
        assert main(words) == 2
        assert f"error: {message}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "count", "others"), [(1, 2, "the others"), (0, 2, "process 1"), (0, 3, "process 1 and process 2")]
)
def test_processes_that_cannot_be_reached_are_named(
    rank: int, count: int, others: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(free_port())
    place = {"WORLD_SIZE": str(count), "RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    assert main(["train", "data=demo_en_de", "train.peer_timeout_s=1"]) == 2
    said = capsys.readouterr().err
    assert f"error: process {rank} of {count} does not reach {others} at 127.0.0.1:{port}; check that all" in said


@pytest.mark.slow
def test_a_process_that_has_no_answer_of_the_first_one_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # torchrun's; process 0 does not come
    place = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    for name, value in {**place, "TORCHELASTIC_USE_AGENT_STORE": "True"}.items():
        monkeypatch.setenv(name, value)
    assert main(["train", "data=demo_en_de", "train.peer_timeout_s=1"]) == 2
    assert f"error: process 1 of 2 does not reach process 0 at 127.0.0.1:{store.port}; " in capsys.readouterr().err


def wait_for(
    condition: Callable[[], Any], processes: Sequence[Forked | subprocess.Popen[str]], limit_s: float = 300
) -> None:
    """Until it holds; fails with what a process has said that ends before."""
    end = time.monotonic() + limit_s
    while not condition():
        for process in processes:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
