"""The scripts of `make torture`: they see every difference, and find none in runs that were killed."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.utils.tensorboard import SummaryWriter

from nmt.errors import CheckpointError
from torture import processes, resume
from torture.same_run import differences

ROOT = Path(__file__).parents[2]


def torture(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "torture"), *words], capture_output=True, text=True)


def write_run(
    run: Path,
    weight: float = 1.0,
    loss: float = 2.0,
    speed: float = 3.0,
    steps: tuple[int, ...] = (4, 8),
    workers: int = 1,
    parts: int = 4,
) -> Path:
    """A run folder of a few numbers."""
    (run / "checkpoints" / "00000008").mkdir(parents=True)
    save_file({"w": torch.tensor([weight])}, run / "checkpoints" / "00000008" / "weights.safetensors")
    (run / "config.json").write_text(json.dumps({"name": run.name, "train": {"workers": workers, "parts": parts}}))
    (run / "manifest.json").write_text(json.dumps({"format": 9, "sha256": {"config.json": run.name, "src.spm": "a"}}))
    lines = [{"kind": "train", "update": step, "loss": loss, "tokens_per_s": speed} for step in steps]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with SummaryWriter(str(run / "tensorboard")) as writer:
        for step in steps:
            writer.add_scalar("train/loss", loss, step)
            writer.add_scalar("train/tokens_per_s", speed, step)
            writer.add_text("examples", f"translation {step}", step)
    return run


def test_speed_and_name_are_no_difference_and_everything_else_is(tmp_path: Path) -> None:
    whole = write_run(tmp_path / "whole")
    assert list(differences(write_run(tmp_path / "same", speed=4.0, workers=2), whole)) == []
    assert [line[:19] for line in differences(write_run(tmp_path / "p", parts=2), whole)] == ["config.json differs"]
    assert "weights.safetensors: w differs" in "".join(differences(write_run(tmp_path / "w", weight=1.5), whole))
    found = list(differences(write_run(tmp_path / "loss", loss=2.5), whole))
    assert [line.partition(" differs")[0] for line in found] == ["metrics.jsonl: train", "tensorboard: train/loss"]
    [*_, last] = differences(write_run(tmp_path / "gap", steps=(8,)), whole)
    assert last == "tensorboard: train/loss differs: steps [8] and [4, 8]"
    twice = write_run(tmp_path / "twice", steps=(4, 4, 8))
    assert any("has a step twice" in line for line in differences(twice, twice))
    (whole / "checkpoints" / "more").write_text("")
    assert list(differences(tmp_path / "same", whole)) == [f"checkpoints/more is in {whole} alone"]


@pytest.mark.slow
def test_killed_runs_end_like_those_left_alone(tmp_path: Path) -> None:
    done = torture("resume", "--kills", "6", "--updates", "16", "--work", str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "6 kills, 0 runs that differ" in done.stdout


@pytest.mark.slow
def test_killed_processes_are_started_anew_and_end_like_one(tmp_path: Path) -> None:
    done = torture("processes", "--kills", "2", "--work", str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(
        r"2 kills in 1 run of 2 to 4 processes, [012] of them while it trained;\n0 runs unlike", done.stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize(("part", "faults"), [("storage", 8), ("numbers", 14)])
def test_faults_cost_nothing(part: str, faults: int, tmp_path: Path) -> None:
    done = torture(part, "--faults", str(faults), "--work", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    counted = re.search(r"(\d+) faults, 0 lost", done.stdout)
    assert counted
    assert int(counted[1]) >= faults


@pytest.mark.parametrize(
    ("part", "words", "message"),
    [
        (processes.main, ["--kills", "0"], "--kills: 0 is not a whole number from 1 on"),
        (resume.main, ["--kills", "2"], "--kills 2 leaves a setting out"),
        (resume.main, ["--updates", "13"], "--updates 13 has no checkpoint to go on from"),
        (resume.main, ["--work", "nowhere"], "--work nowhere is not a folder"),
    ],
)
def test_what_cannot_be_done_is_refused(
    part: Callable[[Sequence[str]], int], words: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        part(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder that even root cannot write to")
def test_a_folder_that_nothing_can_be_written_to_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"^cannot write /proc \(.+\); .*, or choose another --work$"):
        resume.main(["--work", "/proc"])
