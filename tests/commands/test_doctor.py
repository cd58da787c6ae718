"""`nmt doctor`: what it says, and that it notices what is wrong."""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from nmt.cli.main import main
from nmt.commands import doctor


class Disk(NamedTuple):
    free: int


@pytest.mark.slow
def test_a_sound_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["doctor", f"runs_dir={tmp_path / 'runs'}", "workers=1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    shown = {line.split()[0]: line for line in out.splitlines()}
    assert list(shown) == [
        "nmt", "packages", "processor", "workers", "GPU", "precision", "runs_dir", "cache_dir", "self-test"
    ]  # fmt: skip
    assert "torch 2." in shown["packages"]
    assert "trained, saved, loaded; " in shown["self-test"]
    assert " of 20 new sentences translated right, " in shown["self-test"]
    assert list(tmp_path.iterdir()) == []


def test_little_room_and_a_forbidden_folder_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(123_000_000))
    words = ["doctor", "self_test=false", f"runs_dir={tmp_path}", f"cache_dir={tmp_path}"]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert f"{tmp_path}, 123 MB free" in out
    lines = err.splitlines()
    assert lines[0] == f"error: runs_dir={tmp_path} has 123 MB left; make room, or choose another"
    assert lines[1].startswith("error: cache_dir=")
    (tmp_path / "file").write_text("")
    assert main([*words[:2], f"runs_dir={tmp_path}/file/runs", words[3]]) == 2
    expected = (
        f"error: cannot write {tmp_path}/file/runs (Not a directory); check that place, or choose another runs_dir"
    )
    assert expected in capsys.readouterr().err.splitlines()


@pytest.mark.slow
def test_the_self_test_runs_in_a_folder_of_any_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    odd = tmp_path / "a,b"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    problems: list[str] = []
    assert "trained, saved, loaded; " in doctor.self_test("cpu", 1, problems)
    assert problems == []
    assert list(odd.iterdir()) == []


@pytest.mark.slow
def test_a_self_test_that_fails_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TRAINING", (*doctor.TRAINING, "train.batch_tokens=0"))
    assert main(["doctor"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split(maxsplit=1)[1] == "FAILED in training"
    assert "ended with code 2: error: train.batch_tokens is 0" in err


@pytest.mark.slow
def test_wrong_translations_are_noticed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TRAINING", (*doctor.TRAINING, "train.max_updates=1"))  # too few to learn anything
    assert main(["doctor"]) == 2
    out, err = capsys.readouterr()
    assert "FAILED: " in out
    assert "this installation computes wrongly: install torch again" in err
