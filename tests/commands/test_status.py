"""`nmt status`: what it says of runs that train, stopped, finished or are damaged."""

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from helpers.training_runs import corpus, resume, signals_after, start

from nmt.cli.main import main
from nmt.machine.signals import SAVED
from nmt.runs.checkpoints import checkpoint_folder
from nmt.runs.lock import hold_run
from nmt.training.trainer import Trainer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


def page(run: Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, str]:
    """What is printed, by its labels."""
    capsys.readouterr()
    assert main(["status", f"model={run}"]) == code
    return {line[:10].strip(): line[10:] for line in capsys.readouterr().out.splitlines()}


@pytest.mark.slow
def test_a_stopped_run_and_its_end(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with signals_after({5}):
        assert start(data, tmp_path) == SAVED
    run = tmp_path / "run"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    shown = page(run, capsys)
    assert shown["run"] == f"{run}: run, seed 1"
    assert shown["state"] == f"stopped; go on with: nmt train resume={run}"
    assert shown["progress"].startswith("update 5 of 11 (45%), epoch ")
    assert re.fullmatch(r"update 5, 0:00:\d\d ago; checkpoints of 2 updates", shown["saved"])
    assert re.fullmatch(r"[\d,]+ tokens/s, 0:00:\d\d left at that", shown["speed"])
    assert re.fullmatch(r"BLEU \d+\.\d\d, loss \d\.\d{4} on dev at update 4", shown["best"])
    assert shown["best"] == shown["last"]
    assert re.fullmatch(r"\d+ MB, [\d,]+ MB free", shown["disk"])
    assert shown["faults"] == "none"
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert resume(run) == 0
    shown = page(run, capsys)
    assert shown["state"] == f"finished; next: nmt evaluate model={run}"
    assert shown["progress"].startswith("update 11 of 11 (100%)")
    assert "left" not in shown["speed"]


@pytest.mark.slow
def test_a_run_stopped_before_its_model_was_chosen_is_not_finished(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, finish = tmp_path / "run", Trainer.finish

    def stopped(trainer: Trainer) -> None:
        signal.raise_signal(signal.SIGTERM)
        finish(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "finish", stopped)
        assert start(data, tmp_path) == SAVED
    shown = page(run, capsys)
    assert shown["progress"].startswith("update 11 of 11 (100%)")
    assert shown["state"] == f"stopped; go on with: nmt train resume={run}"
    assert resume(run) == 0
    assert page(run, capsys)["state"] == f"finished; next: nmt evaluate model={run}"


@pytest.mark.slow
def test_epochs_and_patience_are_counted(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: dict[str, Any] = {"train__max_updates": None, "train__max_epochs": 6, "train__validate_every": None}
    with signals_after({13}):
        assert start(data, tmp_path, **words, train__patience=9, optimizer__lr=1e-9) == SAVED
    shown = page(tmp_path / "run", capsys)
    total, epoch = re.findall(r"update 13 of (\d+) .*epoch (\d+) of 6,", shown["progress"])[0]
    assert resume(tmp_path / "run") == 0
    assert page(tmp_path / "run", capsys)["progress"].startswith(f"update {total} of {total} ")
    assert 1 < int(epoch) < 6


@pytest.mark.slow
def test_a_run_is_asked_while_it_trains(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    update, shown = Trainer.update, {}

    def asking(trainer: Trainer) -> None:
        update(trainer)
        if trainer.progress.update in (1, 6):
            shown[trainer.progress.update] = page(tmp_path / "run", capsys)

    monkeypatch.setattr(Trainer, "update", asking)
    assert start(data, tmp_path) == 0
    assert shown[1]["state"] == shown[6]["state"] == "a process is training it"
    assert shown[1]["saved"] == "no checkpoint yet"
    assert shown[1]["dev"] == "not validated yet"
    assert shown[1]["progress"].startswith("update 0 of 11 (0%)")
    assert shown[6]["progress"].startswith("update 6 of 11")
    assert shown[6]["saved"].startswith("update 4, ")


@pytest.mark.slow
def test_faults_are_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start(data, tmp_path)
    run = tmp_path / "run"
    (run / "metrics.jsonl").open("a").write('{"kind": "train", "upd')
    from nmt.runs.checkpoints import read_record, save_checkpoint
    from nmt.runs.tensors import signed

    record = read_record(checkpoint_folder(run, 11)) | {"skipped": [3, *range(5, 11)], "halved": [2]}
    save_checkpoint(run, 11, signed({}), signed({}), record)
    assert page(run, capsys)["faults"] == (
        "7 updates, the latest 6, 7, 8, 9, 10 skipped: loss or gradient was not finite; "
        "update 2 with a halved batch: memory was too small, no longer the same bit for bit"
    )


def test_a_damaged_record_of_points_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with signals_after({6}):
        start(data, tmp_path)
    run = tmp_path / "run"
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join([lines[0], lines[1][1:], *lines[2:], ""]))
    assert page(run, capsys)["faults"] == "metrics.jsonl: line 2 is damaged"
    assert resume(run) == 0
    assert page(run, capsys)["faults"].startswith(f"{run / 'metrics.jsonl'}: line 2 is damaged, and left out;")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["model.safetensors", "checkpoints/00000011/training.json", "checkpoints/00000011/training.safetensors"]
)
def test_damage_is_named(data: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    start(data, tmp_path)
    path = tmp_path / "run" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    capsys.readouterr()
    assert main(["status", f"model={tmp_path / 'run'}"]) == 2
    out, err = capsys.readouterr()
    [line] = err.splitlines()
    assert line.startswith(f"error: {path} is damaged")
    assert out.startswith("run       ")


def test_what_is_no_run_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", f"model={tmp_path}"]) == 2
    assert "holds no run: manifest.json is missing" in capsys.readouterr().err


@pytest.mark.slow
def test_asking_does_not_hold_the_run(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start(data, tmp_path)
    page(tmp_path / "run", capsys)
    with hold_run(tmp_path / "run"):
        assert page(tmp_path / "run", capsys)["state"] == "a process is training it"


@pytest.mark.slow
def test_a_model_whose_checkpoints_are_gone_is_not_said_to_be_stopped(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert start(data, tmp_path) == 0
    shutil.rmtree(run / "checkpoints")
    shown = page(run, capsys)
    assert shown["state"] == f"a model without checkpoints; to train it further: nmt train init_from={run}"
    assert re.fullmatch(r"update 11, \d+ different training pairs", shown["progress"])
    assert re.fullmatch(r"BLEU \d+\.\d\d, nll \d\.\d{4} on dev", shown["best"])
    assert "saved" not in shown
    (run / "learned.json").unlink()
    assert not page(run, capsys).keys() & {"progress", "best", "dev"}


@pytest.mark.slow
def test_a_checkpoint_without_its_record_is_not_called_gone(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert start(data, tmp_path) == 0
    for record in (run / "checkpoints").rglob("training.json"):
        record.unlink()
    assert "without checkpoints" not in page(run, capsys)["state"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seen.bin", "letter_case.json", "sentences.json", "model.safetensors"])
def test_a_missing_file_is_named(data: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert start(data, tmp_path) == 0
    (run / name).unlink()
    assert main(["status", f"model={run}"]) == 2
    assert f"error: {run / name} is missing; restore it from a copy\n" in capsys.readouterr().err
