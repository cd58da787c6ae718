"""`nmt status`: reports a run's progress, speed, quality, checkpoints and faults, and what to type next."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from nmt.config.sections import TrainConfig
from nmt.config.verbs import StatusCommand
from nmt.data.letter_case import LETTER_CASE_FILE
from nmt.data.train_hashes import HASHES_FILE
from nmt.errors import NmtError, counted, printable
from nmt.machine.home import expanded
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, read_record, saved_updates
from nmt.runs.folder import (
    SENTENCES_FILE,
    files_written_once,
    read_letter_case,
    read_run,
    read_usual_sentences,
    seen_file,
)
from nmt.runs.learned import LEARNED_FILE, caution_of, read_learned
from nmt.runs.lock import is_held
from nmt.runs.parts_of_mean import PARTS_FILE, described, read_parts
from nmt.runs.tensors import check_tensors
from nmt.training.history import LoggedPoint, damaged_lines, read_points
from nmt.training.progress import Progress, Validation
from nmt.training.report import METRICS_FILE

TRIES = 3  # attempts to read a checkpoint, which a running training may replace
FOREVER_S = 10**10
UPDATES_SHOWN = 5  # the latest updates, which a list of faults names


def main(command: StatusCommand) -> int:
    """Prints the report; returns exit code 2 if a file of the run is damaged."""
    run = expanded(command.model)
    stored, _ = read_run(run)
    settings = stored.train
    recorded = read_points(run / METRICS_FILE)
    damaged = damage(run)
    last, progress = latest(run)
    of_training = (
        {"state": f"a model without checkpoints; to train it further: nmt train init_from={run}", **what_is_known(run)}
        if not saved_updates(run) and (run / "model.safetensors").exists() and not is_held(run)
        else {
            "state": state_text(run, progress),
            "saved": saved(run, last),
            **how_far([point for _, point in recorded if point and point["kind"] == "train"], progress, settings),
            **how_good(progress, settings, int(stored.schedule.arguments.get("warmup", 0))),
        }
    )
    rows = {
        "run": f"{run}: {printable(stored.name)}, seed {stored.seed}",
        **of_training,
        **({"caution": caution} if (caution := caution_of(run)) is not None else {}),
        "disk": f"{size(run) / 1e6:,.0f} MB, {shutil.disk_usage(run).free / 1e6:,.0f} MB free",
        "faults": "; ".join(faults(progress, recorded)) or "none",
    }
    for label, text in rows.items():
        print(f"{label:<10}{text}")
    for message in damaged:
        print(f"error: {message}", file=sys.stderr)
    return 2 if damaged else 0


def latest(run: Path) -> tuple[int | None, Progress]:
    """The update of the last checkpoint and its progress; a running training may replace the checkpoint meanwhile."""
    for _ in range(TRIES):
        last = last_resumable(run)
        if last is None:
            break
        with suppress(NmtError):
            folder = checkpoint_folder(run, last)
            return last, Progress.from_json(read_record(folder), folder)
    return last, Progress()


def what_is_known(run: Path) -> dict[str, str]:
    """How far and how good a model is whose checkpoints are gone."""
    if parts := read_parts(run):
        return {"mean of": described(parts)}
    if (learned := read_learned(run)) is None:
        return {}
    bleu = "" if learned.bleu is None else f"BLEU {learned.bleu:.2f}, "
    pairs = f"update {learned.updates:,}, {counted(learned.pairs, 'different training pair')}"
    return {"progress": pairs} | ({} if learned.nll is None else {"best": f"{bleu}nll {learned.nll:.4f} on dev"})


def state_text(run: Path, progress: Progress) -> str:
    """Is a process training the run, is it finished, or how can it be resumed?"""
    if is_held(run):
        return "a process is training it"
    if progress.finished:
        return f"finished; next: nmt evaluate model={run}"
    return f"stopped; go on with: nmt train resume={run}"


def saved(run: Path, last: int | None) -> str:
    """The checkpoint that resuming would start from, its age, and how many checkpoints are kept."""
    if last is None:
        return "no checkpoint yet"
    kept = f"checkpoints of {counted(len(saved_updates(run)), 'update')}"
    try:
        written = (checkpoint_folder(run, last) / "training.json").stat().st_mtime
    except FileNotFoundError:  # a later checkpoint has replaced it
        return f"update {last:,} or later; {kept}"
    return f"update {last:,}, {timedelta(seconds=max(0, int(time.time() - written)))} ago; {kept}"


def how_far(recorded: list[dict[str, Any]], progress: Progress, settings: TrainConfig) -> dict[str, str]:
    """Updates, epochs and tokens; speed and the time left at that speed."""
    update = max([progress.update, *(int(point["update"]) for point in recorded[-1:])])
    totals = [settings.max_updates] if settings.max_updates is not None else []
    per_epoch = (progress.update - progress.batch / settings.accumulate) / progress.epoch if progress.epoch else None
    if settings.max_epochs is not None and per_epoch is not None:
        totals.append(round(per_epoch * settings.max_epochs))
    total = min(totals, default=None)
    shown = f"update {update:,}" + (f" of {total:,} ({update / total:.0%})" if total else "")
    most = settings.max_epochs
    epochs = f"epoch {progress.epoch + 1}" if most is None else f"epoch {min(progress.epoch + 1, most)} of {most}"
    rows = {"progress": f"{shown}, {epochs}, {progress.tokens:,} target tokens"}
    timed = [point for point in recorded if point.get("tokens_per_s")]
    if timed:
        speed, before = timed[-1]["tokens_per_s"], [p["update"] for p in recorded if p["update"] < timed[-1]["update"]]
        rows["speed"] = f"{speed:,.0f} tokens/s"
        per_update = timed[-1]["tokens"] / speed / (timed[-1]["update"] - max(before, default=0))
        if total and update < total and (left_s := (total - update) * per_update) < FOREVER_S:
            rows["speed"] += f", {timedelta(seconds=round(left_s))} left at that"
    return rows


def how_good(progress: Progress, settings: TrainConfig, warmup: int) -> dict[str, str]:
    """The best and the last validation; patience waits for the end of the `warmup`, in updates."""
    if not progress.validations:
        return {"dev": "none: the run has no dev split" if progress.finished else "not validated yet"}
    rows = {"best": scores_text(progress.ranked(settings.metric)[0])}
    waited = progress.since_gain(settings.metric, warmup)
    patience = f"; {waited} since the last gain, stops at {settings.patience}" if settings.patience and waited else ""
    return rows | {"last": scores_text(progress.validations[-1]) + patience}


def scores_text(validation: Validation) -> str:
    """The scores of a validation on the dev split, as text."""
    bleu = f"BLEU {validation.bleu:.2f}, " if validation.bleu is not None else ""
    return f"{bleu}loss {validation.loss:.4f} on dev at update {validation.update:,}"


def faults(progress: Progress, recorded: list[LoggedPoint]) -> Iterator[str]:
    """The faults that training survived, and the damage to its record."""
    for updates, what in (
        (progress.skipped, "skipped: loss or gradient was not finite"),
        (progress.halved, "with a halved batch: memory was too small, no longer the same bit for bit"),
    ):
        if updates:
            shown = ", ".join(map(str, updates[-UPDATES_SHOWN:]))
            before = f"{len(updates)} updates, the latest " if len(updates) > UPDATES_SHOWN else "update "
            yield f"{before}{shown} {what}"
    yield from (printable(str(point.get("text"))) for _, point in recorded if point and point.get("event") == "damaged")
    if damaged := damaged_lines(recorded):
        yield f"{METRICS_FILE}: {damaged}"


def damage(run: Path) -> list[str]:
    """An error for each damaged or missing file that translating, resuming or averaging would read.

    A file that a running training deletes meanwhile does not count as damaged.
    """
    found = [f"{run / name} is missing; restore it from a copy" for name in missing(run)]
    for path in files(run):
        try:
            if path.suffix == ".safetensors":
                check_tensors(path)
            elif path.name == "training.json":
                Progress.from_json(read_record(path.parent), path.parent)
            elif path.name == HASHES_FILE:
                seen_file(run)
            elif path.name == LETTER_CASE_FILE:
                read_letter_case(run)
            elif path.name == SENTENCES_FILE:
                read_usual_sentences(run)
        except NmtError as error:
            if path.exists():
                found.append(str(error))
    return found


def missing(run: Path) -> list[str]:
    """Files of a finished run that are not there, apart from checkpoints."""
    has_model = (run / LEARNED_FILE).exists() or (run / PARTS_FILE).exists()
    names = [*files_written_once(run), *(["model.safetensors"] if has_model else [])]
    return [name for name in names if not (run / name).exists()]


def files(run: Path) -> list[Path]:
    """All files of the run, except files that are being written."""
    found = []
    for folder, folders, names in os.walk(run):  # os.walk skips folders that vanish
        folders[:] = sorted(name for name in folders if not name.endswith(".writing"))
        found += [Path(folder) / name for name in sorted(names) if not name.endswith(".writing")]
    return found


def size(run: Path) -> int:
    """Bytes of all files of the run."""
    total = 0
    for path in files(run):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total
