"""The runs of a comparison: checks them before any is trained, and trains each at most once.

A run that was trained to its end has a finished.json beside its model.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nmt.config.identity import ANYWHERE, NO_AXES, data_apart_from, essence
from nmt.config.run import RunConfig
from nmt.config.sections import SplitConfig
from nmt.config.verbs import CompareCommand
from nmt.data.prepare import Prepared, prepare
from nmt.errors import ConfigError, NmtError
from nmt.machine.digests import digest, file_digest
from nmt.machine.home import expanded
from nmt.machine.safe_files import write_atomically
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, read_record
from nmt.runs.folder import read_run
from nmt.training.progress import Progress
from nmt.training.recipe import filled
from nmt.training.run import resume, start
from nmt.training.untrainable import refuse_untrainable

RunState = Literal["new", "begun", "finished"]
SplitName = Literal["test", "dev"]

FINISHED = "finished.json"


@dataclass(frozen=True)
class Job:
    """One run: a variant with one seed."""

    variant: str  # the words that tell it from the others, as typed: attention=dot
    seed: int
    config: RunConfig

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return expanded(self.config.runs_dir) / self.config.name


@dataclass(frozen=True)
class Sweep:
    """A comparison as typed: every combination of the axes' values is a job."""

    command: str
    name: str  # name of the output folder, unless output= gives one
    axes: dict[str, list[str]]  # key -> its values
    jobs: list[Job]
    split: SplitName  # split of the corpus on which the runs are scored
    output: Path  # folder of the page
    trust: list[str]

    @property
    def variants(self) -> dict[str, list[Job]]:
        """The jobs of each variant; variants and jobs are in the order typed."""
        found: dict[str, list[Job]] = {}
        for job in self.jobs:
            found.setdefault(job.variant, []).append(job)
        return found


def check(sweep: Sweep) -> Prepared:
    """Refuses, before any training, runs that cannot be compared, built or read; returns the first run's corpus."""
    check_axes(sweep)
    first = sweep.jobs[0]
    seen: dict[str, Job] = {}
    for job in sweep.jobs:
        with named(job):
            refuse_untrainable(job.config)
            key = digest(essence(job.config))
            if key in seen:
                raise ConfigError(f"its configuration is that of {seen[key].variant}; give each value once")
            seen[key] = job
            if scored_data(job, sweep.split) != scored_data(first, sweep.split):
                raise ConfigError(f"its {sweep.split} data are not those of {first.variant}; compare on one corpus")
            run_state(job.run, job.config)
    corpora: dict[str, Prepared] = {}
    for job in sweep.jobs:
        data, tokenizer = job.config.data, job.config.tokenizer
        key = digest([asdict(data), asdict(tokenizer)])
        if key not in corpora:
            with named(job):
                corpora[key] = prepare(data, tokenizer, expanded(job.config.cache_dir))
    prepared = next(iter(corpora.values()))
    if not len(getattr(prepared, sweep.split)):
        given = f"data.{sweep.split}.src and data.{sweep.split}.tgt"
        raise ConfigError(f"the corpus has no {sweep.split} split to compare on; give {given}")
    return prepared


def check_axes(sweep: Sweep) -> None:
    """Refuses an axis that does not change the model, and a sweep without any axis besides seed."""
    for key, values in sweep.axes.items():
        if key in NO_AXES:
            raise ConfigError(
                f"{key}={','.join(values)} gives the same model several times; give one value, and commas to a key "
                "that changes the model"
            )
    if not set(sweep.axes) - {"seed"}:
        raise ConfigError(
            "there is nothing to compare: no key other than seed has several values; type, for example, "
            "attention=none,general"
        )


@contextmanager
def named(job: Job) -> Iterator[None]:
    """Adds the name of the job to the errors raised inside."""
    try:
        yield
    except NmtError as error:
        raise type(error)(f"{job.variant} seed={job.seed}: {error}") from error


def scored_data(job: Job, split: SplitName) -> dict[str, Any]:
    """The data settings that decide the split and its scores: all, if the split is cut off the training split."""
    own: SplitConfig = getattr(job.config.data, split)
    given = own.src or own.files
    others = {"filters", "train", "dev", "test", "dev_size", "test_size"} - {split} if given else set()
    return data_apart_from(job.config, others)


def run_state(run: Path, config: RunConfig) -> RunState:
    """How far the run is; refuses a run that has another configuration or was trained for longer."""
    if not (run / "manifest.json").exists():
        return "new"
    stored, now = essence(read_run(run)[0]), essence(config)
    for key in [*now, *stored]:
        if key not in stored or key not in now or stored[key] != now[key]:
            then, wanted = (repr(side[key]) if key in side else "none" for side in (stored, now))
            raise ConfigError(
                f"{run} has another configuration: {key} is {then} there and {wanted} here; "
                "move that folder away, or choose another runs_dir"
            )
    last = last_resumable(run)
    if last is None:
        return "begun"
    folder = checkpoint_folder(run, last)
    progress = Progress.from_json(read_record(folder), folder)
    ends = {"updates": config.train.max_updates, "epochs": config.train.max_epochs}
    for (unit, most), done in zip(ends.items(), (progress.update, progress.epoch), strict=True):
        if most is not None and done > most:
            raise ConfigError(
                f"{run} was trained for {done:,} {unit}, more than train.max_{unit}={most}; "
                "move that folder away, or choose another runs_dir"
            )
    return "finished" if read_mark(run) == mark(run) else "begun"


def read_mark(run: Path) -> dict[str, Any] | None:
    """The mark that was written at the end of training; None if it is missing or damaged."""
    try:
        return dict(json.loads((run / FINISHED).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def mark(run: Path) -> dict[str, Any]:
    """The last update and the digest of the model: they change if a finished run is continued."""
    model = run / "model.safetensors"
    return {
        "update": last_resumable(run),
        "model": file_digest(model) if model.exists() else None,
    }


def train_job(command: CompareCommand) -> int:
    """Trains one run, from the start or from where it was interrupted, unless it is finished."""
    config = filled(command, say=False).run
    run = expanded(config.runs_dir) / config.name
    where = run_state(run, config)
    if where == "finished":
        print(f"{run}: finished, not trained again", file=sys.stderr)
        return 0
    print(f"\n{run}: {'goes on' if where == 'begun' else 'starts'}", file=sys.stderr)
    if where == "begun":
        code = resume(run, command.changes.only(ANYWHERE), command.trust)
    else:
        code = start(config, command.changes, command.trust)
    if code == 0:
        write_atomically(run / FINISHED, json.dumps(mark(run)).encode())
    return code
