"""One optimiser step: faults of numbers change nothing, lack of memory changes nothing but rounding."""

import copy
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.models import NEEDS_BF16, random_batch, small_model
from helpers.training_runs import assert_same, corpus, metrics, resume, run_config, same, signals_after, start, tensors

from nmt.data.batch import Batch
from nmt.errors import NmtError
from nmt.machine.signals import SAVED
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, read_record
from nmt.training import step
from nmt.training.failures import HOPELESS_UPDATES, diverged
from nmt.training.loss import batch_loss
from nmt.training.trainer import Trainer

Loss = Callable[..., tuple[torch.Tensor, torch.Tensor]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


def spoil(patch: pytest.MonkeyPatch, updates: set[int], value: float, part: str) -> None:
    """At these updates the loss, or the gradient alone, is multiplied by a value."""
    update = Trainer.update

    def spoiled(model: Seq2Seq, batch: Batch, *given: Any) -> tuple[torch.Tensor, ...]:
        loss, plain = batch_loss(model, batch, *given)
        if part == "loss":
            return loss * value, plain * value
        loss.register_hook(lambda gradient: gradient * value)
        return loss, plain

    def watched(trainer: Trainer) -> None:
        bad = trainer.progress.update + 1 in updates
        with pytest.MonkeyPatch.context() as inner:
            if bad:
                inner.setattr(step, "batch_loss", spoiled)
            update(trainer)

    patch.setattr(Trainer, "update", watched)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("part", ["loss", "gradient"])
@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=NEEDS_BF16)])
def test_a_skipped_update_changes_nothing_but_its_number(
    data: Path, tmp_path: Path, part: str, value: float, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    update = Trainer.update

    def noted(trainer: Trainer) -> None:
        update(trainer)
        state = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
        for name, weight in trainer.model.named_parameters():
            state |= {f"{key}/{name}": copy.deepcopy(v) for key, v in trainer.optimiser.state[weight].items()}
        seen.append(state)

    monkeypatch.setattr(Trainer, "update", noted)
    spoil(monkeypatch, {3}, value, part)
    words = {"train__max_updates": 5, "train__log_every": 2, "train__validate_every": 5, "train__precision": precision}
    assert start(data, tmp_path, train__on_nonfinite="skip", encoder__dropout=0.3, **words) == 0
    assert same(seen[1], seen[2])
    assert not same(seen[2], seen[3])
    assert seen[4]["step/output.bias"] == 4
    run = tmp_path / "run"
    [event] = metrics(run, "event")
    assert (event["update"], event["event"]) == (3, "skipped")
    assert "at update 3: skipped, 1 so far" in event["text"]
    points = metrics(run, "train")
    assert [point.get("skipped") for point in points] == [None, 1, None]
    assert all(isinstance(value, float | int) for point in points for key, value in point.items() if key != "kind")
    assert read_record(checkpoint_folder(run, 5))["skipped"] == [3]


@pytest.mark.slow
def test_runs_that_skip_are_resumed_bit_for_bit(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, {2, 5, 6, 9}, float("nan"), "loss")
    words = {"train__on_nonfinite": "skip", "train__log_every": 4, "encoder__dropout": 0.3}
    assert start(data, tmp_path / "whole", **words) == 0
    with signals_after({2, 6}):
        assert start(data, tmp_path / "parts", **words) == SAVED
        assert resume(tmp_path / "parts" / "run") == SAVED
    assert resume(tmp_path / "parts" / "run") == 0
    assert_same(tmp_path / "whole" / "run", tmp_path / "parts" / "run")
    assert [event["update"] for event in metrics(tmp_path / "parts" / "run", "event")] == [2, 5, 6, 9]


def test_a_run_that_stopped_goes_on_as_its_message_says(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, {6}, float("nan"), "loss")
    with pytest.raises(NmtError) as raised:
        start(data, tmp_path)
    run = tmp_path / "run"
    words = f"nmt train resume={run} train.on_nonfinite=skip resume_with=train.on_nonfinite"
    assert str(raised.value).endswith(f"or go on without such updates: {words}")
    assert resume(run, train__on_nonfinite="skip") == 0
    assert [event["update"] for event in metrics(run, "event")] == [6]


@pytest.mark.slow
def test_skipping_without_end_ends(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = set(range(3, 60)) - {10}
    spoil(monkeypatch, bad, float("nan"), "loss")
    with pytest.raises(NmtError) as raised:
        start(data, tmp_path, train__on_nonfinite="skip", train__max_updates=60, train__log_every=1)
    last = 10 + HOPELESS_UPDATES
    message = f"{HOPELESS_UPDATES} updates in a row skipped; loss is nan and gradient norm nan at update {last};"
    assert str(raised.value).startswith(message)
    run = tmp_path / "run"
    found = last_resumable(run)
    assert found is not None
    assert read_record(checkpoint_folder(run, found))["skipped"] == [u for u in sorted(bad) if u <= found]


def test_a_rate_that_spoils_the_weights_is_not_skipped_over(data: Path, tmp_path: Path) -> None:
    assert start(data, tmp_path, train__max_updates=4) == 0
    with pytest.raises(NmtError, match=r"state are not finite at update|updates in a row skipped|dev loss is"):
        resume(tmp_path / "run", train__on_nonfinite="skip", optimizer__lr=1e38, train__max_updates=40)
    files = list((tmp_path / "run").rglob("*.safetensors"))
    assert len(files) >= 3
    for path in files:
        assert all(tensor.isfinite().all() for tensor in tensors(path).values())


def small_memory(patch: pytest.MonkeyPatch, pairs: int, error: Exception, backward: bool = False) -> None:
    """Memory holds batches of so many pairs at most; it lacks before the loss is there, or while going backward."""

    def limited(model: Seq2Seq, batch: Batch, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        small = len(batch.src) <= pairs
        if not small and not backward:
            raise error
        loss, plain = batch_loss(model, batch, *given)

        def lack(_: torch.Tensor) -> None:
            raise error

        if not small:
            loss.register_hook(lack)
        return loss, plain

    patch.setattr(step, "batch_loss", limited)


def real_error() -> Exception:
    """What torch raises where a processor's memory does not suffice."""
    try:
        torch.empty(2**61, dtype=torch.uint8)
    except (RuntimeError, MemoryError) as error:
        return error
    raise AssertionError("this machine has 2 EiB of memory")


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        MemoryError(),
        real_error(),
    ],
)
@pytest.mark.parametrize("accumulate", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_batch_that_memory_does_not_hold_is_halved(
    data: Path, tmp_path: Path, error: Exception, accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"train__accumulate": accumulate, "train__max_updates": 4, "train__log_every": 1}
    assert start(data, tmp_path / "roomy", **words) == 0
    small_memory(monkeypatch, 7, error)
    assert start(data, tmp_path / "tight", **words) == 0
    roomy, tight = tmp_path / "roomy" / "run", tmp_path / "tight" / "run"
    for name, weight in tensors(roomy / "model.safetensors").items():
        torch.testing.assert_close(tensors(tight / "model.safetensors")[name], weight, rtol=1e-3, atol=1e-5)
    for one, other in zip(metrics(roomy, "train"), metrics(tight, "train"), strict=True):
        assert {**one, "kind": 0} == pytest.approx({**other, "kind": 0}, rel=1e-3)
    events = metrics(tight, "event")
    assert [event["event"] for event in events] == ["halved"] * len(events)
    assert "memory did not hold a batch, halved" in events[0]["text"]
    assert "is not the same, bit for bit" in events[0]["text"]
    assert read_record(checkpoint_folder(tight, 4))["halved"] == [event["update"] for event in events] != []
    assert read_record(checkpoint_folder(roomy, 4))["halved"] == []


def test_a_step_begins_anew_where_memory_fails_going_backward(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a gradient is in the weights' then; nothing of it may stay."""
    words = {"train__accumulate": 3, "train__max_updates": 1}
    assert start(data, tmp_path / "roomy", **words) == 0
    small_memory(monkeypatch, 7, torch.OutOfMemoryError("CUDA out of memory"), backward=True)
    assert start(data, tmp_path / "tight", **words) == 0
    roomy, tight = tmp_path / "roomy" / "run", tmp_path / "tight" / "run"
    assert read_record(checkpoint_folder(tight, 1))["halved"] == [1]
    for name, weight in tensors(roomy / "model.safetensors").items():
        torch.testing.assert_close(tensors(tight / "model.safetensors")[name], weight, rtol=1e-4, atol=1e-6)


def test_a_pair_that_memory_does_not_hold_is_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_memory(monkeypatch, 0, MemoryError())
    with pytest.raises(NmtError) as raised:
        start(data, tmp_path)
    message = str(raised.value)
    assert message.startswith("there is not enough memory for training sentence ")
    assert "(counted from 0; " in message
    assert "drop such sentences with data.filters.max_tokens" in message


def test_other_errors_of_a_step_are_not_taken_for_lack_of_memory(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_memory(monkeypatch, 0, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        start(data, tmp_path)


def test_events_stand_in_metrics_as_plain_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, {2}, float("nan"), "loss")
    assert start(data, tmp_path, train__on_nonfinite="skip", train__max_updates=4) == 0
    for line in (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines():
        assert "NaN" not in line
        json.loads(line)


class Halving(torch.optim.SGD):
    """An optimiser with something of its own."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=1.0, momentum=0.9)
        self.share = 0.5

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["lr"] *= self.share
        super().step(closure)


def test_an_optimiser_with_something_of_its_own_is_divided_among_threads() -> None:
    weights = []
    for threads in (1, 2):
        model = small_model().train()
        settings = replace(run_config(Path(), Path()).train, parts=2, workers=threads)
        stepper = step.Stepper(model, Halving(model.parameters()), settings, torch.device("cpu"), torch.float32)
        assert len(stepper.shards) == threads
        for number in range(3):
            parts = {0: (np.arange(3), random_batch(number, 3)), 1: (np.arange(4), random_batch(number + 9, 4))}
            stepper(parts, 2, 0.1, lambda part: part)
        weights.append(list(model.parameters()))
    assert all(map(torch.equal, *weights))


@pytest.mark.parametrize("frozen", [False, True])
def test_there_may_be_more_workers_than_parameters(frozen: bool) -> None:
    weights = []
    for workers in (1, 64):
        model = small_model().train()
        model.output.requires_grad_(not frozen)
        settings = replace(run_config(Path(), Path()).train, parts=2, workers=workers)
        optimiser = torch.optim.AdamW(model.parameters())
        stepper = step.Stepper(model, optimiser, settings, torch.device("cpu"), torch.float32)
        assert len(stepper.shards) <= len(stepper.parameters)
        stepper({0: (np.arange(3), random_batch(1, 3)), 1: (np.arange(4), random_batch(2, 4))}, 2, 0.1, int)
        weights.append(list(model.parameters()))
    assert all(map(torch.equal, *weights))


@pytest.mark.slow
def test_gradients_of_casts_do_not_depend_on_what_other_threads_do() -> None:
    """Torch's casts of weights belong to all threads; a recurrent weight is used at every position."""
    weights = []
    for workers in (1, 2, 2, 2):
        model = small_model(cell="gru", d_hidden=32).train()
        settings = replace(run_config(Path(), Path()).train, parts=4, workers=workers)
        optimiser = torch.optim.AdamW(model.parameters())
        stepper = step.Stepper(model, optimiser, settings, torch.device("cpu"), torch.bfloat16)
        for number in range(2):
            parts = {part: (np.arange(8), random_batch(10 * number + part, 8, longest=20)) for part in range(4)}
            stepper(parts, 4, 0.01, int)
        weights.append(torch.cat([each.detach().reshape(-1) for each in model.parameters()]))
    assert all(torch.equal(weights[0], other) for other in weights[1:])


def taken(parts: list[step.BatchPart], seed: int) -> tuple[step.Step, list[torch.Tensor]]:
    """A step of a new model with dropout, and all that it came to."""
    model = small_model(dropout=0.3).train()
    optimiser = torch.optim.AdamW(model.parameters())
    stepper = step.Stepper(model, optimiser, run_config(Path(), Path()).train, torch.device("cpu"), torch.float32)
    found = stepper(dict(enumerate(parts)), len(parts), 0.01, lambda part: 10 * seed + part)
    return found, [found.loss, found.nll, found.norm, *model.parameters()]


def test_parameters_that_take_no_gradient_stay_as_they_are() -> None:
    model = small_model().train()
    frozen = model.embedding.table.weight.requires_grad_(False)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimiser = torch.optim.AdamW(model.parameters())
    stepper = step.Stepper(model, optimiser, run_config(Path(), Path()).train, torch.device("cpu"), torch.float32)
    stepper({0: (np.arange(3), random_batch(1, 3))}, 1, 0.01, lambda part: part)
    changed = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
    assert changed == {name for name, weight in model.named_parameters() if weight is not frozen}


def test_a_part_that_failed_is_bit_for_bit_that_of_the_same_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory lacks in the middle: dropout has been drawn and half of a gradient is there, and neither may matter."""
    few, many = (np.arange(3), random_batch(1, 3)), (np.arange(3, 11), random_batch(2, 8))
    halves = [(many[0][i : i + 4], many[1].select(torch.arange(i, i + 4))) for i in (0, 4)]
    monkeypatch.setattr(step, "_halves", lambda part: halves if len(part[0]) == 8 else pytest.fail("halved again"))
    small_memory(monkeypatch, 4, MemoryError())
    plain, whole = taken([few, many], 5)  # before anything was drawn for the pairs that memory does not hold
    _, other = taken([few, many], 6)
    small_memory(monkeypatch, 4, MemoryError(), backward=True)
    retried, again = taken([few, many], 5)
    assert (plain.halved, retried.halved) == (1, 1)
    assert all(map(torch.equal, whole, again))
    assert not torch.equal(whole[0], other[0])  # dropout does draw


def test_a_part_that_is_halved_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients: list[list[torch.Tensor]] = []
    put = step.TreeSum.put

    def noted(tree: Any, value: Any, part: int) -> None:
        gradients.append([gradient.clone() for gradient in value.gradients if gradient is not None])
        put(tree, value, part)

    monkeypatch.setattr(step.TreeSum, "put", noted)
    parts = [
        (np.arange(3), random_batch(1, 3)),
        (np.arange(3, 11), random_batch(2, 8)),
        (np.arange(2), random_batch(3, 2)),
    ]
    assert taken(parts, 5)[0].halved == 0
    small_memory(monkeypatch, 4, MemoryError(), backward=True)
    assert taken(parts, 5)[0].halved == 1
    assert len(gradients) == 6
    for part in range(3):
        assert all(map(torch.equal, gradients[part], gradients[3 + part])) == (part != 1)


def test_writers_that_fail_are_quiet_while_a_run_trains_and_other_threads_are_not(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[type[BaseException]] = []

    def hook(failure: threading.ExceptHookArgs) -> None:
        shown.append(failure.exc_type)

    def fail_in_a_thread(error: Exception) -> None:
        def fail() -> None:
            raise error

        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()

    update = Trainer.update

    def failing(trainer: Trainer) -> None:
        update(trainer)
        fail_in_a_thread(OSError("disk full"))
        fail_in_a_thread(ValueError("ours"))

    monkeypatch.setattr(threading, "excepthook", hook)
    monkeypatch.setattr(Trainer, "update", failing)
    assert start(data, tmp_path, train__max_updates=2) == 0
    assert shown == [ValueError, ValueError]
    assert threading.excepthook is hook


def test_a_run_that_fails_before_its_first_checkpoint_says_so(tmp_path: Path) -> None:
    message = str(diverged("loss is nan at update 1", tmp_path, [3, 5], skipping_helps=True))
    expected = "loss is nan at update 1; none is saved; its batch holds training sentences 3, 5 (counted from 0); "
    assert message.startswith(expected)
    assert message.endswith("or set train.on_nonfinite=skip")
