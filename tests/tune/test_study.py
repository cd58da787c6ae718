"""`nmt tune` from the command line: trials, pruning, going on after an interruption, the picture."""

import errno
import fcntl
import json
import os
import shlex
import shutil
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from helpers.comparisons import words, write_splits
from helpers.forked import forked_nmt
from optuna.trial import TrialState

from nmt.cli.main import main
from nmt.errors import NmtError
from nmt.figures.curves import LINE_COLORS
from nmt.machine.signals import SAVED
from nmt.training.progress import Validation
from nmt.training.trainer import Trainer
from nmt.tune.claims import alone_at, claimed
from nmt.tune.figure import importances, study_figure
from nmt.tune.study import HOPELESS_TRIALS, WARM_UP, opened_study, value_of, value_text

SPACE = """
optimizer:
  lr: {low: 0.0001, high: 0.05, log: true}
decoder:
  dropout: {low: 0.0, high: 0.4, step: 0.1}
attention: {choices: [none, general]}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_splits(tmp_path_factory.mktemp("data"))
    (folder / "configs" / "space").mkdir(parents=True)
    (folder / "configs" / "space" / "own.yaml").write_text(SPACE)
    return folder


def typed(data: Path, runs: Path, *more: str) -> list[str]:
    """A command line."""
    shared = [word for word in words(data, runs) if not word.startswith("optimizer.lr")]
    own = ["space=own", "startup=2", "train.max_updates=8", "train.validate_every=1", "train.metric=loss"]
    return ["tune", "--config-dir", str(data / "configs"), *shared, *own, "train.bleu_sentences=0", *more]


def trials(runs: Path, name: str) -> list[dict[str, Any]]:
    """How the trials of a study went."""
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{runs / 'studies' / name / 'study.db'}")
    return [
        {"params": t.params, "value": t.value, "state": t.state, "steps": t.intermediate_values} for t in study.trials
    ]


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of seven trials, begun with three."""
    folder = tmp_path_factory.mktemp("runs")
    for count in (3, 7):
        assert main(typed(data, folder, "name=whole", f"trials={count}")) == 0
    return folder


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of single tests draw none, which takes much of their time; that of `runs` does."""
    monkeypatch.setattr("nmt.tune.study.study_figure", lambda *_: None)
    monkeypatch.setattr("nmt.tune.study.save_figure", lambda *_: None)


@pytest.mark.slow
def test_trials_are_trained_pruned_and_recorded(runs: Path) -> None:
    found = trials(runs, "whole")
    assert len(found) == 7
    assert {trial["state"] for trial in found} == {TrialState.COMPLETE, TrialState.PRUNED}
    assert len({json.dumps(trial["params"]) for trial in found}) == 7
    best = min(range(7), key=lambda n: found[n]["value"])
    for number, trial in enumerate(found):
        folder = runs / "studies" / "whole" / f"trial-{number:04d}"
        losses = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert list(trial["steps"].values()) == [each["loss"] for each in losses if each["kind"] == "dev"]
        assert (folder / "model.safetensors").exists() == (folder / "checkpoints").exists() == (number == best)
        whole = trial["state"] == TrialState.COMPLETE
        assert len(trial["steps"]) == 8 if whole else WARM_UP < len(trial["steps"]) <= 8
        if whole:
            assert trial["value"] == min(trial["steps"].values())


@pytest.mark.slow
def test_a_study_that_was_stopped_goes_on_as_if_it_had_not(data: Path, runs: Path, tmp_path: Path) -> None:
    update, done = Trainer.update, []

    def stopping(trainer: Trainer) -> None:
        update(trainer)
        done.append(trainer.progress.update)
        if len(done) == 13:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "update", stopping)
        assert main(typed(data, tmp_path, "name=whole", "trials=5")) == SAVED
    assert trials(tmp_path, "whole")[-1]["state"] == TrialState.RUNNING
    assert main(typed(data, tmp_path, "name=whole", "trials=5")) == 0
    assert trials(tmp_path, "whole") == trials(runs, "whole")[:5]


@pytest.mark.slow
def test_more_trials_are_of_the_same_study(data: Path, tmp_path: Path) -> None:
    for count in (1, 2):
        assert main(typed(data, tmp_path, f"trials={count}")) == 0
    (study,) = (tmp_path / "studies").iterdir()
    assert len(trials(tmp_path, study.name)) == 2


@pytest.mark.slow
def test_a_typed_key_does_not_vary(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(data, tmp_path, "name=fixed", "trials=2", "attention=dot")) == 0
    assert [set(trial["params"]) for trial in trials(tmp_path, "fixed")] == [{"decoder.dropout", "optimizer.lr"}] * 2
    for number in range(2):
        config = json.loads((tmp_path / "studies" / "fixed" / f"trial-{number:04d}" / "config.json").read_text())
        assert config["attention"]["class"] == "Dot"
    command = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("nmt train "))
    assert command.split().count("attention=dot") == 1


@pytest.mark.slow
def test_the_first_trial_has_the_settings_of_the_words_alone(data: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(data, tmp_path / "data"))  # a space of its own
    (data / "configs" / "space" / "wide.yaml").write_text(
        "optimizer: {lr: {low: 0.0001, high: 0.05, log: true}}\n"
        "encoder: {dropout: {low: 0.0, high: 0.9, step: 0.03}}\n"
        "train: {label_smoothing: {choices: [0.0, 0.35]}}\n"
    )
    assert main([*typed(data, tmp_path, "name=first", "trials=2", "space=wide"), "recipe=auto"]) == 0
    first, second = (trial["params"] for trial in trials(tmp_path, "first"))
    assert first != second
    assert first == {"encoder.dropout": pytest.approx(0.21), "optimizer.lr": 0.004, "train.label_smoothing": 0.0}
    same = [word for word in words(data, tmp_path) if not word.startswith("optimizer.lr")]
    assert main(["train", *same, "recipe=auto", "name=alone"]) == 0
    alone = json.loads((tmp_path / "alone" / "config.json").read_text())
    assert alone["encoder"]["dropout"] == 0.2
    assert alone["optimizer"]["lr"] == 0.004
    assert alone["train"]["label_smoothing"] == 0.1


@pytest.mark.slow
def test_after_the_time_limit_no_trial_begins_and_the_best_is_named(
    data: Path, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(data, tmp_path, "name=whole", "trials=7", "time_limit=0.01s")) == 0
    out, err = capsys.readouterr()
    assert "time_limit is over after 1 trial of 7\n" in err
    assert out.startswith("trial-0000  dev loss ")
    assert main(typed(data, tmp_path, "name=whole", "trials=2", "time_limit=1h")) == 0
    assert "time_limit is over" not in capsys.readouterr().err
    assert trials(tmp_path, "whole") == trials(runs, "whole")[:2]


@pytest.mark.slow
def test_the_best_settings_are_printed_as_they_are_typed(
    data: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(data, runs, "name=whole", "trials=0")) == 0
    out = capsys.readouterr().out.splitlines()
    best = min(trials(runs, "whole"), key=lambda trial: trial["value"])
    assert f"dev loss {best['value']:.4f}" in out[0]
    command = shlex.split(next(line for line in out if line.startswith("nmt train ")))
    assert command[:3] == ["nmt", "train", "--config-dir"]
    assert f"attention={best['params']['attention']}" in command
    assert main([*command[1:], "train.max_updates=1", "name=again", f"runs_dir={runs}"]) == 0


def test_where_bleu_is_no_signal_the_loss_is_compared_below_any_bleu() -> None:
    scores = [(None, 9.0), (0.5, 8.0), (0.9, 3.0), (1.0, 9.0), (30.0, 2.0)]
    values = [value_of("bleu", Validation(1, 0, loss, loss, bleu)) for bleu, loss in scores]
    assert values == sorted(values)
    assert [value_text("bleu", each) for each in values] == [
        "dev loss 9.0000", "dev loss 8.0000", "dev loss 3.0000", "dev BLEU 1.00", "dev BLEU 30.00",
    ]  # fmt: skip
    assert [value_of("loss", Validation(1, 0, loss, loss, bleu)) for bleu, loss in scores] == [9, 8, 3, 9, 2]
    assert value_text("loss", 2.5) == "dev loss 2.5000"


@pytest.mark.slow
def test_the_picture_shows_every_trial(runs: Path) -> None:
    folder = runs / "studies" / "whole"
    study = optuna.load_study(study_name="whole", storage=f"sqlite:///{folder / 'study.db'}")
    shares = importances(study)
    assert set(shares) == {"attention", "decoder.dropout", "optimizer.lr"}
    figure = study_figure(study, "loss")
    panels = {axes.get_xlabel(): axes for axes in figure.axes if axes.get_xlabel()}
    assert set(panels) == set(shares)
    assert [label.get_text() for label in panels["attention"].get_xticklabels()] == ["general", "none"]
    rates = panels["optimizer.lr"]
    drawn = {round(float(line.get_xdata()[0]), 6) for line in rates.lines}  # type: ignore[index, arg-type]
    assert drawn == {round(trial.params["optimizer.lr"], 6) for trial in study.trials}
    assert rates.get_xscale() == "log"
    assert figure.axes[0].get_title().endswith("\nbelow: star best, hollow stopped early")
    for axes in panels.values():
        heights = [float(line.get_ydata()[0]) for line in axes.lines]  # type: ignore[index, arg-type]
        assert sorted(heights) == sorted(trial.value for trial in study.trials)
        [star] = [line for line in axes.lines if line.get_marker() == "*"]
        assert (star.get_color(), float(star.get_ydata()[0])) == (LINE_COLORS[1], study.best_value)  # type: ignore[index, arg-type]
    assert {"study.png", "study.svg", "study.db"} <= {path.name for path in folder.iterdir()}


def test_importance_finds_what_decides() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(1))
    study.optimize(lambda t: t.suggest_float("much", 0, 1) + 0.01 * t.suggest_float("little", 0, 1), n_trials=60)
    shares = importances(study)
    assert list(shares) == ["much", "little"]
    assert shares["much"] > 0.8
    few = optuna.create_study()
    few.optimize(lambda t: t.suggest_float("a", 0, 1), n_trials=2)
    assert importances(few) == {"a": 0.0}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["trials=-1"], "error: trials is -1; it must be at least 0 (runs in total, "),
        (["startup=0"], "error: startup is 0; it must be at least 1 (first trials"),
        (["budget=5m"], "error: budget is for nmt train; leave it out: all trials are as long; time_limit="),
        (["time_limit=90"], "error: time_limit=90 is not a length of time; give one such as 30m, 2h, 1h30m or 90s\n"),
        (["init_from=x"], "error: init_from is for nmt train; leave it out: every trial is a new run\n"),
        (
            ["attention=dot", "optimizer.lr=0.01", "decoder.dropout=0"],
            "error: every key of the space is typed (attention, decoder.dropout, optimizer.lr), so no trial ",
        ),
        (
            ["data.dev.src=null", "data.dev.tgt=null", "data.dev_size=0"],
            "error: data.dev_size=0 leaves no dev sentences to choose settings by; raise it, or give data.dev.src and ",
        ),
        (["-m"], "error: nmt tune is a sweep itself, and -m starts another one; leave -m out\n"),
        (["+space.encoder.size.choices=[1]"], "error: unknown key 'encoder.size'"),
        (["space.optimizer.lr.low=1"], "error: space.optimizer.lr goes from 1 to 0.05; give numbers, low below high\n"),
        (["space=null"], "error: space=null chooses nothing; leave it out, or choose from: own, rnn_small\n"),
        (["space=nothing"], "error: space=nothing does not exist; "),
    ],
)
def test_refusals(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(typed(data, tmp_path, *more)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(message)
    assert not (tmp_path / "studies").exists()


@pytest.mark.slow
def test_a_study_is_not_mixed_with_another(data: Path, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(data, runs, "name=whole", "trials=9", "train.max_updates=9")) == 2
    assert "whole holds a study that was begun with other words or another space; choose another name=" in (
        capsys.readouterr().err
    )


def test_the_database_is_in_the_folder_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "50%25 of what?" / "a#b"
    folder.mkdir(parents=True)
    plan: Any = SimpleNamespace(folder=folder, metric="bleu", startup=1)
    for _ in range(2):
        assert opened_study(plan, "words").study_name == "a#b"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["study.db"]
    assert (folder / "study.db").is_file()


@pytest.mark.slow
def test_a_damaged_study_is_refused(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "studies" / "bad"
    folder.mkdir(parents=True)
    (folder / "study.db").write_bytes(b"not a database" * 100)
    assert main(typed(data, tmp_path, "name=bad")) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {folder / 'study.db'} is not a study that can be read (")
    assert err.endswith("); restore it, or choose another name=\n")
    assert (folder / "study.db").read_bytes() == b"not a database" * 100


@pytest.mark.slow
def test_a_trial_that_fails_does_not_end_the_study(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    update = Trainer.update

    def diverging(trainer: Trainer) -> None:
        if trainer.run.name == "trial-0000":
            raise NmtError("loss is nan")
        update(trainer)

    monkeypatch.setattr(Trainer, "update", diverging)
    assert main(typed(data, tmp_path, "name=first", "trials=2")) == 0
    assert [trial["state"] for trial in trials(tmp_path, "first")] == [TrialState.FAIL, TrialState.COMPLETE]
    assert "trial-0000: loss is nan\ntrial-0000: failed\n" in capsys.readouterr().err


def test_a_vocabulary_that_no_trial_can_have_is_refused_before_there_is_a_study(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(data, tmp_path, "name=none", "trials=9", "tokenizer.vocab_size=100000")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: tokenizer.vocab_size=100000 is too large for this corpus")
    assert not (tmp_path / "studies" / "none" / "study.db").exists()


@pytest.mark.slow
def test_settings_with_which_nothing_can_be_trained(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverging(trainer: Trainer) -> None:
        raise NmtError("loss is nan")

    monkeypatch.setattr(Trainer, "update", diverging)
    assert main(typed(data, tmp_path, "name=none", "trials=9")) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: loss is nan"
    assert [trial["state"] for trial in trials(tmp_path, "none")] == [TrialState.FAIL] * HOPELESS_TRIALS
    assert main(typed(data, tmp_path, "name=none", "trials=0")) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path / 'studies' / 'none'} has finished (trial-0002: loss is nan" in err
    assert "; change the words or the space, and the name=\n" in err


@pytest.mark.slow
def test_several_processes_train_the_trials_of_one_study(data: Path, tmp_path: Path) -> None:
    workers = [forked_nmt(typed(data, tmp_path, "name=shared", "trials=6")) for _ in range(3)]
    folder = tmp_path / "studies" / "shared"
    while not (folder / "trial-0001" / "metrics.jsonl").exists():
        assert any(worker.poll() is None for worker in workers)
        time.sleep(0.05)
    workers[0].kill()
    said = [worker.communicate(timeout=240)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [-signal.SIGKILL, 0, 0], said
    if {trial["state"] for trial in trials(tmp_path, "shared")} & {TrialState.RUNNING}:  # the killed one's, begun last
        assert main(typed(data, tmp_path, "name=shared", "trials=6")) == 0
    found = trials(tmp_path, "shared")
    assert len(found) == 6
    assert {trial["state"] for trial in found} <= {TrialState.COMPLETE, TrialState.PRUNED}
    for number, trial in enumerate(found):
        lines = (folder / f"trial-{number:04d}" / "metrics.jsonl").read_text().splitlines()
        losses = [each["loss"] for each in map(json.loads, lines) if each["kind"] == "dev"]
        assert list(trial["steps"].values()) == losses


def test_a_trial_is_claimed_once_and_a_study_decided_on_by_one(tmp_path: Path) -> None:
    first = claimed(tmp_path, "trial-0000")
    assert first is not None
    assert claimed(tmp_path, "trial-0000") is None
    os.close(first)
    again = claimed(tmp_path, "trial-0000")
    assert again is not None
    os.close(again)
    entered = threading.Event()

    def waiting() -> None:
        with alone_at(tmp_path):
            entered.set()

    with alone_at(tmp_path):
        thread = threading.Thread(target=waiting)
        thread.start()
        assert not entered.wait(0.2)
    thread.join(timeout=60)
    assert entered.is_set()


@pytest.mark.slow
def test_a_study_where_nothing_can_be_locked_is_noted(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert main(typed(data, tmp_path, "name=alone", "trials=1")) == 0
    folder = tmp_path / "studies" / "alone"
    assert (
        f"note: {folder} is on a file system without locks: do not start a second process for it\n"
        in capsys.readouterr().err
    )
    assert len(trials(tmp_path, "alone")) == 1
