"""Sweeps in processes of their own, by Hydra's submitit launcher; its other launcher of jobs is that of Slurm."""

import sys
from pathlib import Path

import pytest
from helpers.comparisons import models, words, write_splits
from helpers.processes import finished

LAUNCHER = ("hydra/launcher=submitit_local", "hydra.launcher.cpus_per_task=1", "hydra.launcher.timeout_min=5")


@pytest.mark.slow
@pytest.mark.parametrize("verb", [("train", "-m", "seed=1,2"), ("compare", "attention=none,dot")])
def test_jobs_are_processes(verb: tuple[str, ...], tmp_path: Path) -> None:
    data, runs = write_splits(tmp_path / "data"), tmp_path / "runs"
    own = [*LAUNCHER, f"hydra.sweep.dir={tmp_path / 'jobs'}", *words(data, runs)]
    done = finished([sys.executable, "-m", "nmt.cli.main", *verb, *own])
    assert done.returncode == 0, done.stderr
    assert len({Path(name).parts[0] for name in models(runs)}) == 2
    assert (verb[0] == "compare") == ("none" in done.stdout)
