"""What a resumed run keeps of the points that it recorded before: those that led to its checkpoint, each once."""

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from nmt.atomic import read_file, replace_file
from nmt.errors import CheckpointError
from nmt.progress import Progress

# Kind ("train", "dev" or "event") and update: does the point belong to what is resumed?
Known = Callable[[str, int], bool]
MERGED = "events.out.tfevents.0000000000.before"  # tensorboard reads files in order of their names: this one first
METRICS_BYTES = 2**30  # of metrics.jsonl, at most
RECORD_BYTES = 2**28  # of a point of tensorboard, at most


def known_points(progress: Progress) -> Known:
    """The points that led to `progress`."""
    logged = progress.update - int(progress.sums["updates"] if progress.sums else 0)  # the interval after it goes on
    validated = {v.update for v in progress.validations}
    last = {"train": logged, "event": progress.update}
    return lambda kind, update: update in validated if kind == "dev" else update <= last[kind]


def keep_known_lines(metrics: Path, known: Known) -> None:
    """Cuts unknown points, and a line that a crash left unfinished, from metrics.jsonl at once."""
    if not metrics.exists():
        return
    kept = []
    for line in read_file(metrics, METRICS_BYTES).decode("utf-8", errors="replace").split("\n"):
        try:
            entry = json.loads(line)
            if known(entry["kind"], int(entry["update"])):
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    replace_file(metrics, "".join(kept).encode())


def keep_known_events(folder: Path, known: Known) -> None:
    """Makes one file of tensorboard's files, without unknown points and without what a crash left unfinished."""
    files = sorted(folder.glob("*tfevents*"))
    if not files:
        return
    for file in files:
        refuse_absurd_records(file)
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.summary.writer.record_writer import RecordWriter

    content = BytesIO()
    writer = RecordWriter(content)
    seen: set[frozenset[tuple[str, int]]] = set()
    for event in (event for file in files for event in LegacyEventFileLoader(str(file)).Load()):
        points = frozenset((value.tag, event.step) for value in event.summary.value)  # none: the format's version
        if event.WhichOneof("what") not in ("file_version", "summary") or points in seen:
            continue
        if all(known("train" if tag.startswith("train/") else "dev", step) for tag, step in points):
            seen.add(points)
            writer.write(event.SerializeToString())
    replace_file(folder / MERGED, content.getvalue())
    for file in files:
        if file.name != MERGED:
            os.remove(file)


def refuse_absurd_records(file: Path) -> None:
    """tensorboard takes the memory that a record says it needs: refuses what is no point's."""
    with open(file, "rb") as events:
        while len(header := events.read(12)) == 12:
            size = int.from_bytes(header[:8], "little")
            if size > RECORD_BYTES:
                raise CheckpointError(f"{file} holds a record of {size:,} bytes, which nmt did not write; delete it")
            if not size:  # nor has tensorboard any use for what follows
                return
            events.seek(size + 4, os.SEEK_CUR)
