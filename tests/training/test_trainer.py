"""Laws of training: a resumed run is the uninterrupted one; what is configured reaches the optimiser; best is best."""

import copy
import random
import re
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.models import NEEDS_BF16
from helpers.training_runs import (
    assert_same,
    corpus,
    metrics,
    resume,
    run_config,
    same,
    signals_after,
    start,
    tensors,
    write_corpus,
)

import nmt
from nmt.data.batch import make_batch
from nmt.errors import CheckpointError, NmtError
from nmt.machine.signals import SAVED
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, saved_updates
from nmt.training import step
from nmt.training.loss import batch_loss, output_loss
from nmt.training.optim import Schedule
from nmt.training.progress import Progress
from nmt.training.run import new_model, read_data
from nmt.training.trainer import Trainer
from nmt.training.untrainable import refuse_untrainable
from nmt.training.validation import DevScores, Validator


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


def trainer_of(data: Path, runs: Path, **changes: Any) -> Trainer:
    """A trainer at its start."""
    config = run_config(data, runs, **changes)
    refuse_untrainable(config)
    prepared = read_data(config, None)
    model = new_model(config, prepared.tokenizers)
    return Trainer(runs / "run", config, prepared, model, Progress())


DROPOUT = {"encoder__dropout": 0.3, "decoder__dropout": 0.3, "model__embed_dropout": 0.2, "model__word_dropout": 0.1}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "by epochs": {"train__max_updates": None, "train__max_epochs": 3, "train__validate_every": None},
    "accumulate": {"train__accumulate": 3, "train__validate_every": 2},
    "subword sampling": {"tokenizer__sampling_alpha": 0.3},
    "dropout": DROPOUT,
    "consistency": {"train__consistency": 2.0, "train__accumulate": 2, **DROPOUT},
    "bf16": {"train__precision": "bf16", **DROPOUT},
    "plateau": {"schedule": {"class": "Plateau", "warmup": 3, "factor": 0.5, "patience": 1}},
    "warm-up, examples": {"schedule": {"class": "InverseSqrt", "warmup": 4}, "train__examples": 1},
    "no dev": {"data__dev_size": 0},
    "a mix": {
        "data__train": {"src": ["train.src"] * 2, "tgt": ["train.tgt"] * 2, "files": None, "weights": [3, 1]},
        "train__max_updates": 11,
    },
    "no average": {"train__average_best": False, "train__metric": "loss", "train__bleu_sentences": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NEEDS_BF16) if name == "bf16" else name for name in VARIANTS]
)
def test_a_run_stopped_and_resumed_is_the_uninterrupted_run(data: Path, tmp_path: Path, name: str) -> None:
    changes = VARIANTS[name]
    assert start(data, tmp_path / "whole", **changes) == 0
    stops = {1, 2, 4, 7, 11}  # 4: where validation is due; 11: the end
    with signals_after(stops):
        code = start(data, tmp_path / "parts", **changes)
        stopped = 0
        while code == SAVED:
            stopped += 1
            code = resume(tmp_path / "parts" / "run")
    assert code == 0
    assert stopped >= 4
    assert_same(tmp_path / "whole" / "run", tmp_path / "parts" / "run")


def test_the_same_seed_gives_the_same_bits_and_another_gives_others(data: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        start(data, tmp_path / name, seed=seed, train__max_updates=3, **DROPOUT)
    assert_same(tmp_path / "a" / "run", tmp_path / "b" / "run")
    weights = [tensors(tmp_path / name / "run" / "model.safetensors") for name in "ac"]
    assert all(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0] if "bias" not in name)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_validation_saves_and_the_validation_is_redone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    start(data, tmp_path / "whole")
    scores, before = Validator.scores, signal.getsignal(number)

    def signalled(validator: Validator, *given: Any) -> Any:
        signal.raise_signal(number)
        return scores(validator, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "scores", signalled)
        assert start(data, tmp_path / "parts") == SAVED
    run = tmp_path / "parts" / "run"
    assert f"stopped at update 4, saved; go on with: nmt train resume={run}" in capsys.readouterr().err
    assert not metrics(run, "dev")
    assert signal.getsignal(number) is before
    with monkeypatch.context() as patch:  # the average at the end is a validation too
        finish = Trainer.finish

        def signalled_finish(self: Trainer) -> None:
            signal.raise_signal(number)
            finish(self)

        patch.setattr(Trainer, "finish", signalled_finish)
        assert resume(run) == SAVED
    assert resume(run) == 0
    assert_same(tmp_path / "whole" / "run", run)


@pytest.mark.slow
def test_a_run_that_is_resumed_and_stopped_at_once_stays_as_it_was(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(data, tmp_path / "whole")
    with signals_after({5}):  # in the middle of an interval of metrics
        assert start(data, tmp_path / "parts") == SAVED
    run = tmp_path / "parts" / "run"
    recorded = (run / "metrics.jsonl").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "tell", lambda trainer: signal.raise_signal(signal.SIGTERM))
        assert resume(run) == SAVED
    assert (run / "metrics.jsonl").read_bytes() == recorded
    assert resume(run) == 0
    assert_same(tmp_path / "whole" / "run", run)


def test_the_second_signal_ends_at_once(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(validator: Validator, *given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(Validator, "scores", impatient)
    with pytest.raises(KeyboardInterrupt):
        start(data, tmp_path)
    assert saved_updates(tmp_path / "run") == []
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("alpha", [None, 0.2])
def test_accumulated_batches_are_one_large_batch(data: Path, tmp_path: Path, alpha: float | None) -> None:
    given = {"train__accumulate": 4, "train__clip_norm": None, "tokenizer__sampling_alpha": alpha}
    small = trainer_of(data, tmp_path, **given)
    model = copy.deepcopy(small.model)
    rows = list(small.data.order.epoch(0))[:4]
    parts = small.data.load(rows, 1)
    small.update()
    small.reporter.close()
    assert small.progress.batch == 4
    src = [ids[mask].tolist()[:-1] for b in parts for ids, mask in zip(b.src, b.src_mask, strict=True)]
    tgt = [ids[mask].tolist()[:-1] for b in parts for ids, mask in zip(b.tgt_out, b.tgt_mask, strict=True)]
    large = make_batch(src, tgt)
    targets = large.tgt_out[large.tgt_mask]
    loss, nll = output_loss(model(large)[None], model.output.weight, model.output.bias, targets, 0.1)
    (loss / len(targets)).backward()  # type: ignore[no-untyped-call]
    gradients = dict(model.named_parameters())
    for name, parameter in small.model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name].grad, rtol=1e-4, atol=1e-6)
    (entry,) = metrics(tmp_path / "run")
    assert entry["tokens"] == len(targets) == small.progress.tokens
    assert entry["loss"] == pytest.approx(loss.item() / len(targets), rel=1e-5)
    assert entry["perplexity"] == pytest.approx((nll / len(targets)).exp().item(), rel=1e-5)


SCHEDULES: list[dict[str, Any]] = [
    {"class": "Constant", "warmup": 3},
    {"class": "InverseSqrt", "warmup": 3},
    {"class": "Linear", "warmup": 2, "hold": 0.5, "end": 0.1},
    {"class": "Cosine", "warmup": 2, "end": 0.1},
    {"class": "Plateau", "warmup": 2, "factor": 0.5, "patience": 1},
]


def script(monkeypatch: pytest.MonkeyPatch, bleus: Sequence[float], seen: list[dict[str, torch.Tensor]]) -> None:
    """Validation number i finds BLEU bleus[i] and loss 100 - it; `seen` gets the weights at each."""

    def scripted(self: Validator, model: torch.nn.Module, *_: Any) -> tuple[DevScores, list[str]]:
        bleu = bleus[len(seen)]
        seen.append({name: p.detach().clone() for name, p in model.named_parameters()})
        return DevScores(100.0 - bleu, 100.0 - bleu, bleu, None), []

    monkeypatch.setattr(Validator, "scores", scripted)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s["class"])
def test_every_schedule_reaches_the_optimiser(
    data: Path, tmp_path: Path, schedule: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bleus = [5.0, 4.0, 6.0, 3.0, 2.0, 1.0]
    script(monkeypatch, bleus, [])
    used: list[float] = []
    update = Trainer.update

    def watched(self: Trainer) -> None:
        update(self)
        used.extend(group["lr"] for group in self.optimiser.param_groups)

    monkeypatch.setattr(Trainer, "update", watched)
    settings = {"train__log_every": 1, "train__validate_every": 2, "train__average_best": False}
    start(data, tmp_path, schedule=schedule, optimizer__lr=0.01, train__max_updates=12, **settings)
    assert used == [entry["learning_rate"] for entry in metrics(tmp_path / "run", "train")]
    arguments = {key: value for key, value in schedule.items() if key != "class"}
    law: Schedule = getattr(nmt.training.optim, schedule["class"])(12, **arguments)
    losses = [100.0 - bleu for bleu in bleus]
    assert used == [0.01 * law(n, losses[: (n - 1) // 2]) for n in range(1, 13)]
    assert len(set(used)) > 2


def test_clipping_bounds_the_norm_and_the_log_has_it_before(data: Path, tmp_path: Path) -> None:
    limit = 0.01
    clipped = trainer_of(data, tmp_path, train__clip_norm=limit, train__log_every=1)
    clipped.update()
    clipped.reporter.close()
    gradients = [p.grad for p in clipped.model.parameters() if p.grad is not None]
    norm = torch.stack([g.norm() for g in gradients]).norm().item()
    assert norm == pytest.approx(limit, rel=1e-3)
    assert metrics(tmp_path / "run")[0]["grad_norm"] > limit


@pytest.mark.parametrize("seed", range(4))
def test_early_stopping_best_model_and_kept_checkpoints(
    data: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    bleus = [float(rng.randint(0, 6)) for _ in range(40)]
    patience, keep = rng.randint(1, 4), rng.randint(1, 4)
    best = 0
    stop = next(i for i in range(40) if (best := i if bleus[i] > bleus[best] else best) + patience == i)
    seen: list[dict[str, torch.Tensor]] = []
    script(monkeypatch, bleus, seen)
    settings = {"train__patience": patience, "train__keep_best": keep, "train__average_best": False}
    start(data, tmp_path, train__max_updates=None, train__validate_every=1, **settings)
    run = tmp_path / "run"
    assert len(seen) == stop + 1
    assert same(tensors(run / "model.safetensors"), seen[best])
    ranked = sorted(range(stop + 1), key=lambda i: (-bleus[i], i))[:keep]
    assert saved_updates(run) == sorted({*(i + 1 for i in ranked), stop + 1})
    for update in saved_updates(run):
        assert same(tensors(checkpoint_folder(run, update) / "weights.safetensors"), seen[update - 1])
    assert last_resumable(run) == stop + 1
    dev = metrics(run, "dev")
    assert [entry["best"] for entry in dev] == [bleus[i] > max(bleus[:i], default=-1) for i in range(stop + 1)]


@pytest.mark.parametrize("better", [True, False])
def test_the_average_is_the_mean_and_is_taken_only_if_better(
    data: Path, tmp_path: Path, better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    script(monkeypatch, [1.0, 5.0, 2.0, 4.0, 3.0, 5.5 if better else 5.0], seen)
    start(data, tmp_path, train__max_updates=5, train__validate_every=1, train__keep_best=3, optimizer__lr=0.1)
    mean = {name: torch.stack([seen[i][name] for i in (1, 3, 4)]).mean(0) for name in seen[0]}
    for name in mean:
        torch.testing.assert_close(seen[5][name], mean[name], rtol=1e-5, atol=1e-6)
    model = tensors(tmp_path / "run" / "model.safetensors")
    assert same(model, seen[5] if better else seen[1])
    last = tensors(checkpoint_folder(tmp_path / "run", 5) / "weights.safetensors")
    assert same(last, seen[4])


def test_resuming_a_finished_run_leaves_its_model_at_every_instant(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        script(patch, [1.0, 5.0, 2.0, 4.0, 3.0, 5.5], [])
        start(data, tmp_path, train__max_updates=5, train__validate_every=1, train__keep_best=3, optimizer__lr=0.1)
    model = (tmp_path / "run" / "model.safetensors").read_bytes()  # the average

    def killed(trainer: Trainer) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            resume(tmp_path / "run")
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == model


def test_the_model_of_a_longer_run_is_chosen_anew(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its average was the model at the first end; at the second the best single checkpoint is."""
    settings = {"train__validate_every": 1, "train__keep_best": 3, "optimizer__lr": 0.1}
    with monkeypatch.context() as patch:
        script(patch, [1.0, 5.0, 2.0, 4.0, 3.0, 5.5], [])
        start(data, tmp_path, train__max_updates=5, **settings)
    run = tmp_path / "run"
    (run / "model.safetensors").write_bytes(b"damaged")
    with monkeypatch.context() as patch:
        script(patch, [0.5, 0.5], [])
        assert resume(run, train__max_updates=6) == 0
    best = tensors(checkpoint_folder(run, 2) / "weights.safetensors")
    assert same(tensors(run / "model.safetensors"), best)


@pytest.mark.slow
def test_resuming_a_finished_run_mends_its_model(data: Path, tmp_path: Path) -> None:
    start(data, tmp_path)
    model = tmp_path / "run" / "model.safetensors"
    content = model.read_bytes()
    model.unlink()
    assert resume(tmp_path / "run") == 0
    assert model.read_bytes() == content


@pytest.mark.slow
def test_the_average_misses_a_checkpoint_that_is_gone_aloud(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(data, tmp_path, train__keep_best=3, train__validate_every=3)
    run = tmp_path / "run"
    shutil.rmtree(checkpoint_folder(run, min(saved_updates(run))))
    capsys.readouterr()
    assert resume(run) == 0
    assert "missing: 1 of the 3 best checkpoints" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_learns_to_reverse(tmp_path: Path) -> None:
    """A mis-wired model does not: the sentences are new, and every word must be found and put in its place."""
    rng = random.Random(0)
    words = "ab cd ef gh ij kl mn op".split()
    sentences = sorted({tuple(rng.choices(words, k=rng.randint(2, 5))) for _ in range(1300)})
    rng.shuffle(sentences)
    pairs = [(" ".join(s), " ".join(reversed(s))) for s in sentences]
    write_corpus(tmp_path, pairs[60:])
    write_corpus(tmp_path, pairs[:60], "dev")
    start(
        tmp_path, tmp_path, tokenizer__model="word", tokenizer__vocab_size=12, data__dev__src="dev.src",
        data__dev__tgt="dev.tgt", model__d_embed=16, encoder__d_hidden=24, decoder__d_hidden=48, optimizer__lr=0.01,
        train__max_updates=330, train__validate_every=330, train__log_every=50, train__label_smoothing=0.0,
        train__batch_tokens=500, schedule={"class": "Linear", "warmup": 20, "hold": 0.5, "end": 0.0},
    )  # fmt: skip
    (dev,) = metrics(tmp_path / "run", "dev")
    assert dev["loss"] < 0.03
    found = nmt.load(tmp_path / "run").translate([source for source, _ in pairs[:60]])
    assert sum(t.text == target for t, (_, target) in zip(found, pairs[:60], strict=True)) >= 58


@pytest.mark.parametrize("where", ["weight", "loss", "step", "dev"])
def test_what_is_no_number_stops_the_run_and_spoils_nothing(
    data: Path, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, update, nan = 6, Trainer.update, float("nan")
    rows: list[int] = []

    def poisoned(self: Trainer) -> None:
        now = self.progress.update + 1 == bad
        weight = next(self.model.parameters())
        if now:
            rows.extend(list(self.data.order.epoch(self.progress.epoch))[self.progress.batch])
        with monkeypatch.context() as patch:
            if now and where == "loss":
                patch.setattr(step, "batch_loss", lambda *given: tuple(x * nan for x in batch_loss(*given)))
            if now and where == "weight":
                weight.data[0] = nan
            update(self)
            if now and where == "step":
                weight.data[-1, 0] = torch.inf

    def scores(self: Validator, *given: Any) -> tuple[DevScores, list[str]]:
        return DevScores(nan, nan, None, None), []

    monkeypatch.setattr(Trainer, "update", poisoned)
    settings = {"train__validate_every": 2, "train__log_every": 100}
    if where == "dev":
        with signals_after({5}):
            assert start(data, tmp_path, **settings) == SAVED
        monkeypatch.setattr(Validator, "scores", scores)
        with pytest.raises(NmtError) as raised:
            resume(tmp_path / "run")
        assert "dev loss is nan after update 6" in str(raised.value)
    else:
        with pytest.raises(NmtError) as raised:
            start(data, tmp_path, **settings)
        message = str(raised.value)
        assert f"update {bad};" in message
        index = read_data(run_config(data, tmp_path), None).train[rows]["index"]
        named = re.search(r"training sentences ([\d, ]+)", message)
        assert named
        assert [int(number) for number in named[1].split(",")] == sorted(index)
    run = tmp_path / "run"
    last = last_resumable(run)
    assert last == (5 if where == "dev" else 4)
    assert f"the last good checkpoint is {checkpoint_folder(run, last)}" in str(raised.value)
    for path in run.rglob("*.safetensors"):
        assert all(tensor.isfinite().all() for tensor in tensors(path).values())


def test_a_folder_that_disappears_is_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As text: tensorboard names its files in bytes."""
    update = Trainer.update

    def without_folder(self: Trainer) -> None:
        update(self)
        shutil.rmtree(self.run / "tensorboard", ignore_errors=True)

    monkeypatch.setattr(Trainer, "update", without_folder)
    with pytest.raises(CheckpointError) as raised:
        start(data, tmp_path, train__validate_every=2, train__log_every=1, train__max_updates=4)
    assert str(raised.value).startswith(f"cannot write {tmp_path / 'run' / 'tensorboard'}/events")
    assert "(No such file or directory); " in str(raised.value)


def test_two_passes_matter_only_where_dropout_tells_them_apart(data: Path, tmp_path: Path) -> None:
    def trained(name: str, **changes: Any) -> dict[str, torch.Tensor]:
        start(data, tmp_path / name, train__max_updates=3, train__validate_every=3, **changes)
        return tensors(tmp_path / name / "run" / "model.safetensors")

    once, twice = trained("a"), trained("b", train__consistency=4.0)
    for name, weight in once.items():
        torch.testing.assert_close(twice[name], weight, rtol=1e-4, atol=1e-6)
    losses = [metrics(tmp_path / name / "run", "train")[0]["loss"] for name in "ab"]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    trained("c", train__consistency=1e-9, **DROPOUT)
    trained("d", train__consistency=4.0, **DROPOUT)
    losses = [metrics(tmp_path / name / "run", "train")[0]["loss"] for name in "cd"]
    assert losses[1] > losses[0] * 1.0001


def test_plain_perplexity_is_not_that_of_the_smoothed_loss(data: Path, tmp_path: Path) -> None:
    for name, smoothing in (("a", 0.0), ("b", 0.3)):
        start(data, tmp_path / name, train__label_smoothing=smoothing, train__max_updates=1, train__log_every=1)
    (plain, _), (smoothed, _) = (metrics(tmp_path / name / "run") for name in "ab")
    assert plain["perplexity"] == pytest.approx(smoothed["perplexity"], rel=1e-6)
    assert plain["loss"] != pytest.approx(smoothed["loss"], rel=1e-6)


def test_the_state_of_a_finished_run_resumed_again_stays(data: Path, tmp_path: Path) -> None:
    start(data, tmp_path)
    shutil.copytree(tmp_path / "run", tmp_path / "before")
    assert resume(tmp_path / "run") == 0
    assert_same(tmp_path / "before", tmp_path / "run")


def test_dropout_of_long_runs_is_never_that_of_the_next_seed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Trainer.update
    seeds: dict[tuple[int, int], int] = {}

    def noted(trainer: Trainer) -> None:
        for done in (0, 1_000_003 * (3 - trainer.seed)):  # where sums of run 1, and of run 2, would be those of run 3
            trainer.progress.update = done
            update(trainer)
            seeds[trainer.seed, done] = torch.initial_seed()

    monkeypatch.setattr(Trainer, "update", noted)
    for seed in (1, 2, 3):
        assert start(data, tmp_path / str(seed), seed=seed, train__max_updates=1) == 0
    assert len(seeds) == 5
    assert len({*seeds.values(), 1, 2, 3}) == 8  # the weights are drawn with the run's own seed
