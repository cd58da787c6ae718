"""`nmt train`: new runs, resumed ones, fine-tuning, and one clear line for every mistake, before any work."""

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.small_corpora import make_pairs
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
)

import nmt
from nmt.cli.main import main
from nmt.config.changes import Changes
from nmt.config.compose import command_of
from nmt.errors import CheckpointError, ConfigError, NmtError
from nmt.machine.safe_files import write_atomically
from nmt.machine.signals import SAVED
from nmt.model.build import build_model
from nmt.runs import folder as checkpoint
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, saved_updates
from nmt.runs.tensors import parameters_of
from nmt.training import first_weights
from nmt.training import run as train
from nmt.training.trainer import Trainer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    runs = tmp_path_factory.mktemp("runs")
    assert start(data, runs, train__max_updates=4) == 0
    return runs / "run"


def refusal(kind: type[NmtError], act: Callable[[], Any]) -> str:
    with pytest.raises(kind) as raised:
        act()
    message = str(raised.value)
    assert "\n" not in message
    assert ";" in message
    return message


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus must not be touched."""

    def prepare(*_: Any) -> None:
        raise AssertionError("the corpus was prepared first")

    monkeypatch.setattr(train, "prepare", prepare)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("batch_tokens", 0, "train.batch_tokens is 0; it must be at least 1"),
        ("accumulate", 0, "train.accumulate is 0; it must be at least 1"),
        ("keep_best", 0, "train.keep_best is 0; it must be at least 1"),
        ("log_every", 0, "train.log_every is 0; it must be at least 1"),
        ("examples", -1, "train.examples is -1; it must be at least 0"),
        ("max_updates", 0, "train.max_updates is 0; it must be at least 1"),
        ("max_epochs", 0, "train.max_epochs is 0; it must be at least 1"),
        ("validate_every", 0, "train.validate_every is 0; it must be at least 1"),
        ("patience", 0, "train.patience is 0; it must be at least 1"),
        ("workers", 0, "train.workers is 0; it must be at least 1"),
        ("bleu_sentences", -1, "train.bleu_sentences is -1; it must be at least 0"),
        ("bleu_sentences", 0, "train.metric is bleu, but train.bleu_sentences is 0; set train.metric=loss"),
        ("clip_norm", 0.0, "train.clip_norm is 0.0; it must be above 0, or null (largest gradient norm: a larger"),
        ("init_range", 0.0, "train.init_range is 0.0; it must be above 0, or null (all matrices, and the biases"),
        ("label_smoothing", 1.0, "train.label_smoothing is 1.0; it must be at least 0 and below 1 (share of the"),
        ("label_smoothing", -0.1, "train.label_smoothing is -0.1; it must be at least 0 and below 1 (share of the"),
        ("consistency", -1.0, "train.consistency is -1.0; it must be at least 0"),
        ("max_updates", 10**20, "train.max_updates is 100000000000000000000; it must be at most 1,000,000,000,000"),
        ("batch_tokens", 10**20, "train.batch_tokens is 100000000000000000000; it must be at most"),
        ("workers", 10**5, "train.workers is 100000; it must be at most 10,000"),
        ("max_updates", None, "train.max_updates, train.max_epochs and train.patience are all null; set one"),
    ],
)
def test_values_that_no_run_can_have_are_refused_before_any_work(
    data: Path, tmp_path: Path, key: str, value: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    assert expected in refusal(ConfigError, lambda: start(data, tmp_path, **{f"train__{key}": value}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [-1, 2**32, 10**20])
def test_seeds_are_of_limited_size(data: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    no_work(monkeypatch)
    message = refusal(ConfigError, lambda: start(data, tmp_path, seed=seed))
    bound = "least 0 and at most 4,294,967,295" if seed < 0 else "most 4,294,967,295"
    assert message == f"seed is {seed}; it must be at {bound} (decides every random choice)"


def test_weights_are_drawn_from_the_range_that_is_asked_for(data: Path, tmp_path: Path) -> None:
    bound = 0.03
    assert start(data, tmp_path, train__init_range=bound, train__max_updates=1, optimizer__lr=1e-12) == 0
    for name, weight in tensors(tmp_path / "run" / "model.safetensors").items():
        assert weight.abs().max() <= bound + 1e-6, name
        assert weight.abs().max() > bound * 0.8, name
        assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.25), name


def test_a_folder_that_cannot_be_written_is_said_before_any_work(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    (tmp_path / "file").write_text("")
    message = refusal(CheckpointError, lambda: start(data, tmp_path / "file"))
    assert message.startswith(f"cannot write {tmp_path / 'file' / 'run'} (Not a directory)")


def test_a_failed_start_leaves_nothing(data: Path, tmp_path: Path) -> None:
    refusal(NmtError, lambda: start(data, tmp_path / "runs", data__train__src="nowhere"))
    refusal(NmtError, lambda: start(data, tmp_path / "runs", optimizer__lr=-1.0))
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_refused_before_the_corpus_is_read(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.training.run.recipe_for", lambda command: pytest.fail("the corpus is read"))
    words = ["data.train.src=my.en", "data.train.tgt=my.de", f"runs_dir={trained.parent}", f"name={trained.name}"]
    assert main(["train", *words]) == 2
    assert f"error: {trained} already holds a run; continue it with resume={trained}" in capsys.readouterr().err


def test_a_folder_with_another_run_is_refused_and_unchanged(
    data: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*")}
    message = refusal(CheckpointError, lambda: start(data, trained.parent))
    assert message == f"{trained} already holds a run; continue it with resume={trained}, or choose another name="
    assert {path: path.stat().st_mtime_ns for path in trained.rglob("*")} == before


def test_resume_and_init_from_exclude_each_other(data: Path, tmp_path: Path) -> None:
    command = replace(command_of("train", []), resume="a", resume_with=[])
    with_weights = replace(command.run, init_from="b")
    assert "resume and init_from are both given" in refusal(ConfigError, lambda: replace(command, run=with_weights))


def test_without_dev_sentences_what_needs_them_is_refused(data: Path, tmp_path: Path) -> None:
    message = refusal(ConfigError, lambda: start(data, tmp_path, data__dev_size=0, train__patience=3))
    assert "train.patience is 3, but there are no dev sentences to decide by; set train.patience=null" in message
    plateau = {"class": "Plateau", "warmup": 0, "factor": 0.5, "patience": 1}
    message = refusal(ConfigError, lambda: start(data, tmp_path, data__dev_size=0, schedule=plateau))
    assert "schedule=plateau waits for dev losses, but there are no dev sentences" in message
    assert list(tmp_path.iterdir()) == []


def test_without_dev_sentences_the_last_weights_are_the_model(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, updates in (("a", 4), ("b", 6)):  # 4: validation would be due; 6: the end
        assert start(data, tmp_path / name, data__dev_size=0, train__max_updates=updates) == 0
        run = tmp_path / name / "run"
        assert capsys.readouterr().err.count("no dev sentences: no validation scores, the last weights become") == 1
        assert saved_updates(run) == [last_resumable(run)] == [updates]
        saved = tensors(checkpoint_folder(run, updates) / "weights.safetensors")
        assert same(tensors(run / "model.safetensors"), saved)
        assert metrics(run, "dev") == []
    nmt.load(run).translate(["ab cd"])


@pytest.mark.slow
def test_every_model_is_built_once_from_its_seed(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[dict[str, torch.Tensor]] = []
    build = build_model

    def watched(*given: Any) -> Any:
        model = build(*given)
        built.append({name: p.detach().clone() for name, p in model.named_parameters()})
        return model

    monkeypatch.setattr(first_weights, "build_model", watched)
    with signals_after({5}):
        assert start(data, tmp_path, seed=5) == SAVED
    run = tmp_path / "run"
    assert len(built) == 1
    shutil.rmtree(run / "checkpoints")  # as if killed before the first checkpoint
    (run / "metrics.jsonl").unlink()
    (run / "model.safetensors").unlink()
    torch.manual_seed(99)
    assert resume(run) == 0
    assert len(built) == 2
    assert same(*built)
    start(data, tmp_path / "whole", seed=5)
    assert_same(tmp_path / "whole" / "run", run)


def test_resuming_with_another_corpus_is_refused(data: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(data, tmp_path / "own"))
    with signals_after({5}):
        assert start(own, tmp_path) == SAVED
    (own / "train.src").write_text((own / "train.src").read_text().replace("a", "b", 1))
    message = refusal(CheckpointError, lambda: resume(tmp_path / "run"))
    assert f"{checkpoint_folder(tmp_path / 'run', 5)} was trained on other data" in message
    assert "filters" not in message
    assert "was trained on other data" in refusal(
        CheckpointError, lambda: resume(tmp_path / "run", data__filters__max_tokens=15)
    )


def test_resuming_changes_what_is_typed_and_keeps_the_change(data: Path, tmp_path: Path) -> None:
    with signals_after({5}):
        assert start(data, tmp_path, train__log_every=1) == SAVED
    run = tmp_path / "run"
    with signals_after({6}):
        assert resume(run, optimizer__lr=0.5, train__max_updates=8, encoder__dropout=0.1, train__workers=1) == SAVED
    assert resume(run) == 0
    rates = [entry["learning_rate"] for entry in metrics(run, "train")]
    assert rates == [0.001] * 5 + [0.5] * 3
    stored, _ = checkpoint.read_run(run)
    assert (stored.encoder.arguments["dropout"], stored.train.workers) == (0.1, None)  # where it ran is not kept
    assert "resume_with" not in stored.plain()


@pytest.mark.parametrize("key", ["name", "runs_dir"])
def test_a_name_for_a_run_that_goes_on_is_refused(trained: Path, key: str) -> None:
    message = typed_on_resume(trained, **{key: "x"})
    assert message == f"{key}=x is for a new run, and resume={trained} continues in its folder; leave {key} out"


def typed_on_resume(run: Path, **typed: Any) -> str:
    """The refusal of `nmt train resume=RUN` with these words."""
    allowed = typed.pop("resume_with", [])
    words = Changes({key.replace("__", "."): value for key, value in typed.items()})
    return refusal(
        ConfigError, lambda: train.resume(run, words, allowed=[allowed] if isinstance(allowed, str) else allowed)
    )


def test_another_configuration_on_resuming_is_refused(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    message = typed_on_resume(trained, train__max_updates=50, optimizer__lr=0.5)
    assert message == (
        f"{trained} would go on with optimizer.lr=0.5 (was 0.001), train.max_updates=50 (was 4); "
        "if that is meant, add resume_with=[optimizer.lr,train.max_updates]"
    )
    message = typed_on_resume(trained, train__max_updates=50, optimizer__lr=0.5, resume_with="optimizer")
    assert "train.max_updates=50 (was 4); if that is meant, add resume_with=train.max_updates" in message
    plateau = {"class": "Plateau", "warmup": 0, "factor": 0.5, "patience": 3}
    assert "schedule.factor=0.5 (was None)" in typed_on_resume(trained, schedule=plateau)
    message = typed_on_resume(trained, resume_with="train.max_update")
    assert message == f"resume_with=train.max_update is not a key of {trained}; did you mean 'train.max_updates'?"
    command = command_of("train", [])
    message = refusal(ConfigError, lambda: replace(command, resume_with=["seed"]))
    assert message == "resume_with=['seed'] is for a run that goes on; name it: resume=runs/NAME"
    assert before == {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}


def test_a_change_that_is_cut_short_leaves_a_run(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = write_atomically
    stored, _ = checkpoint.read_run(trained)
    changed = replace(stored, seed=7)
    for survived in range(3):
        run = Path(shutil.copytree(trained, tmp_path / str(survived)))
        written: list[Path] = []

        def dying(path: Path, content: bytes, written: list[Path] = written, survived: int = survived) -> None:
            if len(written) == survived:
                raise KeyboardInterrupt
            written.append(path)
            write(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_atomically", dying)
            with pytest.raises(KeyboardInterrupt):
                checkpoint.change_config(run, changed)
        assert checkpoint.read_run(run)[0] == (changed if survived == 2 else stored)
        checkpoint.change_config(run, changed)
        assert checkpoint.read_run(run)[0] == changed
        keys = [set(json.loads((each / "manifest.json").read_text())["sha256"]) for each in (run, trained)]
        assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"decoder__d_hidden": 14}, "weights of other names or sizes than a model with decoder.d_hidden=14;"),
        ({"encoder__layers": 2, "model__d_embed": 9}, "with model.d_embed=9, encoder.layers=2;"),
        (
            {"attention": {"class": "Additive", "d_attention": 3, "normaliser": "softmax"}},
            "attention.class=Additive",
        ),
        ({"tokenizer__vocab_size": 70}, "tokenizer.vocab_size is 70, "),
        ({"tokenizer__joint": False}, "tokenizer.joint is False, "),
    ],
)
def test_another_model_or_tokenizer_is_refused_when_weights_are_given(
    data: Path, tmp_path: Path, trained: Path, changes: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    assert expected in refusal(ConfigError, lambda: start(data, tmp_path, init_from=str(trained), **changes))
    assert expected in refusal(ConfigError, lambda: resume(trained, **changes))
    assert list(tmp_path.iterdir()) == []


def other_corpus(folder: Path) -> Path:
    """New data in the same letters."""
    from helpers.training_runs import write_corpus

    write_corpus(folder, make_pairs(60, seed=7))
    return folder


def test_fine_tuning_starts_from_the_best_weights_with_the_old_tokenizers(
    data: Path, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[dict[str, torch.Tensor]] = []
    update = Trainer.update

    def watched(self: Trainer) -> None:
        if not first:
            first.append({name: p.detach().clone() for name, p in self.model.named_parameters()})
        update(self)

    monkeypatch.setattr(Trainer, "update", watched)
    new = other_corpus(tmp_path / "new")
    # the sizes of the configuration at hand do not matter: those of the model do, unless typed
    settings = {"init_from": str(trained), "decoder__d_hidden": 40, "tokenizer__vocab_size": 45}
    config = run_config(new, tmp_path, **settings)
    assert train.start(config, Changes({"init_from": str(trained)})) == 0
    assert same(first[0], tensors(trained / "model.safetensors"))
    for name in ("src.spm", "tgt.spm"):
        assert (tmp_path / "run" / name).read_bytes() == (trained / name).read_bytes()
    tuned = checkpoint.load_model(tmp_path / "run")
    assert tuned.config.decoder.arguments["d_hidden"] == 12
    assert not same(parameters_of(tuned.model), first[0])


@pytest.mark.parametrize("killed_at", [None, -1, 0, 5])
def test_a_model_that_further_training_only_makes_worse_stays_the_model(
    data: Path, tmp_path: Path, trained: Path, capsys: pytest.CaptureFixture[str], killed_at: int | None
) -> None:
    words = {"init_from": str(trained), "optimizer__lr": 5.0, "train__average_best": False}
    run = tmp_path / "run"
    if killed_at is None:
        assert start(data, tmp_path, **words) == 0
    else:
        validate = Trainer.validate

        def validated_and_stopped(trainer: Trainer) -> None:
            if killed_at == 0:  # -1: before the first validation
                validate(trainer)
            signal.raise_signal(signal.SIGINT)

        with signals_after([killed_at]), pytest.MonkeyPatch.context() as patch:
            if killed_at <= 0:
                patch.setattr(Trainer, "validate", validated_and_stopped)
            assert start(data, tmp_path, **words) == SAVED
        assert resume(run) == 0
    assert same(tensors(run / "model.safetensors"), tensors(trained / "model.safetensors"))
    first, *later = metrics(run, "dev")
    assert (first["update"], first["best"]) == (0, True)
    assert [each["update"] for each in later] == [4, 8, 11]
    assert all(each["loss"] > first["loss"] for each in later)
    said = capsys.readouterr().err
    assert f"caution: no update made the model better on dev than that of {trained}, so its weights stay" in said
    assert "at update 0\n" in said  # the best on dev


def test_a_model_that_further_training_makes_better_gives_no_caution(
    data: Path, tmp_path: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(data, tmp_path, init_from=str(trained), train__keep_best=1) == 0
    first, *later = metrics(tmp_path / "run", "dev")
    assert first["update"] == 0
    assert min(each["loss"] for each in later) < first["loss"]
    assert not same(tensors(tmp_path / "run" / "model.safetensors"), tensors(trained / "model.safetensors"))
    assert "stay the model" not in capsys.readouterr().err


def test_fine_tuning_without_dev_sentences_validates_nothing(data: Path, tmp_path: Path, trained: Path) -> None:
    assert start(data, tmp_path, init_from=str(trained), data__dev_size=0) == 0
    assert metrics(tmp_path / "run", "dev") == []


@pytest.mark.slow
def test_fine_tuning_killed_at_once_goes_on_from_the_weights_given(
    data: Path, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = other_corpus(tmp_path / "new")
    given = Path(shutil.copytree(trained, tmp_path / "given"))
    assert train.start(run_config(new, tmp_path / "whole", init_from=str(given))) == 0

    class Killed(BaseException):
        pass

    def killed(self: Trainer) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "loop", killed)
        with pytest.raises(Killed):
            train.start(run_config(new, tmp_path / "parts", init_from=str(given)))
    shutil.rmtree(given)  # the run needs it no longer
    run = tmp_path / "parts" / "run"
    unborn = Path(shutil.copytree(run, tmp_path / "unborn"))
    assert resume(run) == 0
    assert_same(tmp_path / "whole" / "run", run)
    shutil.rmtree(unborn / "checkpoints")
    assert "lacks the weights that it started from; delete it" in refusal(CheckpointError, lambda: resume(unborn))


@pytest.mark.parametrize(
    ("words", "said"), [([], True), (["seed=2"], True), (["data=demo_en_de"], False), (["experiment=reference"], False)]
)
def test_who_names_no_corpus_is_told_which_one_is_used(
    words: list[str], said: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "recipe_for", lambda command: None)
    monkeypatch.setattr(train, "start", lambda *arguments: 0)
    assert train.train_or_resume(command_of("train", ["name=no-such-run", *words])) == 0
    expected = "no corpus is named, so this trains on the demo corpus of nmt; for your own files, type data.train.src="
    assert (expected in capsys.readouterr().err) == said


@pytest.mark.parametrize(
    ("words", "updates", "said"),
    [
        ("train.batch_tokens=20000", 288, "with train.batch_tokens=20000, 12 epochs have 288 updates only"),
        ("train.accumulate=8", 1, "with train.accumulate=8, 12 epochs have 1 update only"),
        (
            "train.batch_tokens=9 train.accumulate=8",
            499,
            "with train.batch_tokens=9 train.accumulate=8, 12 epochs have",
        ),
        ("train.accumulate=8", 500, None),
        ("", 288, None),
        ("train.accumulate=8 train.max_epochs=12", 288, None),
        ("train.accumulate=8 train.max_updates=288", 288, None),
        ("train.accumulate=8", None, None),
    ],
)
def test_batches_that_leave_few_updates_get_a_caution(words: str, updates: int | None, said: str | None) -> None:
    given = command_of("train", [*words.split(), "recipe=null"])
    config = replace(given.run, train=replace(given.run.train, max_epochs=12))
    few = train.few_updates(config, updates, given.changes.values)
    assert (few is None) == (said is None)
    if few is not None and said is not None and updates is not None:
        assert few.startswith(said)
        assert few.endswith(f", and a model needs about 500; type less, or train.max_epochs={-(-12 * 500 // updates)}")


def test_the_caution_counts_the_updates_of_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    totals = []
    monkeypatch.setattr(train, "train", lambda trainer, run: totals.append(trainer.total) or 0)
    words = [f"data.root={data}", "data.train.src=train.src", "data.train.tgt=train.tgt", "train.accumulate=4"]
    assert main(["train", "data=text", *words, f"cache_dir={tmp_path / 'cache'}", f"runs_dir={tmp_path}"]) == 0
    epochs = int(capsys.readouterr().err.split("caution: with train.accumulate=4, ")[1].split(" epochs have ")[0])
    assert totals[0] > 0
    assert totals[0] % epochs == 0


@pytest.mark.parametrize(("test_size", "files"), [(5, ""), (0, " src=FILE ref=FILE")])
def test_the_end_says_what_to_type_next(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], test_size: int, files: str
) -> None:
    """Without a test split, `nmt evaluate` needs files."""
    assert start(data, tmp_path, train__max_updates=2, data__test_size=test_size) == 0
    last = capsys.readouterr().err.splitlines()[-3:]
    assert last[0].startswith("best on dev: BLEU ")
    assert last[1].startswith("caution: the model has learned next to nothing: ")
    assert last[2] == f"next: nmt evaluate model={tmp_path / 'run'}{files}    nmt interactive model={tmp_path / 'run'}"


def test_another_version_on_resuming_is_noted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with signals_after({2}):
        assert start(data, tmp_path, train__max_updates=3) == SAVED
    now = torch.__version__
    monkeypatch.setattr(torch, "__version__", "99.0.0")
    assert resume(tmp_path / "run", train__max_updates=4) == 0
    said = capsys.readouterr().err
    assert f"note: resumed with torch 99.0.0, was {now}: results may differ in rounding" in said
    assert said.count("note: resumed with") == 1
