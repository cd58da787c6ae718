"""Points in metrics.jsonl and tensorboard that a resumed run keeps: each point that led to its checkpoint, once."""

import itertools
import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from nmt.errors import CheckpointError
from nmt.machine.safe_files import read_file, replace_file
from nmt.training.progress import MOST_COUNTED, Progress

# Takes the kind ("train", "dev" or "event") and the update of a point: does the resumed run keep it?
Known = Callable[[str, int], bool]
LoggedPoint = tuple[str, dict[str, Any] | None]  # a line of metrics.jsonl and the point on it; None: damaged
MERGED = "events.out.tfevents.0000000000.before"  # tensorboard reads files in order of their names, this one first
METRICS_BYTES = 2**30  # largest file of points that is read
POINT_BYTES = 2**28  # largest point of tensorboard
POINT_KINDS = {"train": ("tokens",), "dev": ("best",), "event": ()}  # and keys that every such point has
LINES_SHOWN = 5  # how many damaged lines a message names


def known_points(progress: Progress) -> Known:
    """Tells which points led to `progress`."""
    # the last log point; the interval after it goes on
    logged = progress.update - int(progress.sums["updates"] if progress.sums else 0)
    validated = {v.update for v in progress.validations}
    last = {"train": logged, "event": progress.update}
    return lambda kind, update: update in validated if kind == "dev" else update <= last[kind]


def keep_known_lines(metrics: Path, known: Known) -> list[str]:
    """Removes unknown points, and a line that a crash left unfinished, from metrics.jsonl in one atomic write.

    Damaged lines are removed too; returns a message that names them and a copy of the file as it was.
    """
    points = read_points(metrics)
    kept = [line + "\n" for line, point in points if point and known(point["kind"], point["update"])]
    damaged = damaged_lines(points)
    said = [f"{metrics}: {damaged}, and left out; the damaged file is kept as {set_aside(metrics)}"] if damaged else []
    if points:
        replace_file(metrics, "".join(kept).encode())
    return said


def damaged_lines(points: list[LoggedPoint]) -> str:
    """Names the damaged lines, for a message; empty if all lines are sound."""
    found = [f"{number:,}" for number, (_, point) in enumerate(points, 1) if point is None]
    more = f" and {len(found) - LINES_SHOWN:,} more" if len(found) > LINES_SHOWN else ""
    return f"line {', '.join(found[:LINES_SHOWN])}{more} {'is' if len(found) == 1 else 'are'} damaged" if found else ""


def read_points(metrics: Path) -> list[LoggedPoint]:
    """The lines of metrics.jsonl, each with its point (None: damaged).

    A last line that a crash, or a process that is still writing, left unfinished is not among them.
    """
    if not metrics.exists():
        return []
    *lines, unfinished = read_file(metrics, METRICS_BYTES).decode("utf-8", errors="replace").split("\n")
    found = [(line, _point(line)) for line in lines]
    last = _point(unfinished)
    return [*found, (unfinished, last)] if last else found


def _point(line: str) -> dict[str, Any] | None:
    """The point on a line; None if the line is not a point, or its numbers are impossible."""
    try:
        point = json.loads(line)
        counts = [point["update"], point.get("tokens", 0), point.get("tokens_per_s") or 0]
        sound = all(key in point for key in POINT_KINDS[point["kind"]]) and all(
            0 <= count <= MOST_COUNTED for count in counts
        )
        return point if sound and isinstance(point["update"], int) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep_known_events(folder: Path, known: Known) -> list[str]:
    """Merges tensorboard's files into one, without unknown points and without a record that a crash left unfinished.

    Returns messages about damaged files, each of which names a copy of the file as it was.
    """
    files = sorted(folder.glob("*tfevents*"))
    if not files:
        return []
    records = [count_records(file) for file in files]
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.summary.writer.record_writer import RecordWriter

    content = BytesIO()
    writer = RecordWriter(content)
    seen: set[frozenset[tuple[str, int]]] = set()
    said = []
    for file, count in zip(files, records, strict=True):
        found = 0
        for event in LegacyEventFileLoader(str(file)).Load():  # stops at a damaged record
            found += 1
            points = frozenset((value.tag, event.step) for value in event.summary.value)  # empty: the format's version
            if event.WhichOneof("what") not in ("file_version", "summary") or points in seen:
                continue
            if all(known("train" if tag.startswith("train/") else "dev", step) for tag, step in points):
                seen.add(points)
                writer.write(event.SerializeToString())
        if found < count:
            said.append(
                f"{file}: damaged after {found} of {count} points; the damaged file is kept as {set_aside(file)}"
            )
    replace_file(folder / MERGED, content.getvalue())
    for file in files:
        if file.name != MERGED:
            os.remove(file)
    return said


def set_aside(file: Path) -> Path:
    """Copies a file to a new name that tensorboard does not read; returns the path of the copy."""
    name = file.name.replace("tfevents", "events")
    copy = next(path for n in itertools.count(1) if not (path := file.with_name(f"damaged.{n}.{name}")).exists())
    replace_file(copy, read_file(file, METRICS_BYTES))
    return copy


def count_records(file: Path) -> int:
    """The number of whole records in a tensorboard file.

    Refuses a record larger than any point, because tensorboard allocates as much memory as a record claims to need.
    """
    count = 0
    end = file.stat().st_size
    with open(file, "rb") as events:
        while len(header := events.read(12)) == 12:
            size = int.from_bytes(header[:8], "little")
            if size > POINT_BYTES:
                raise CheckpointError(f"{file} holds a record of {size:,} bytes, which nmt did not write; delete it")
            if not size:  # tensorboard does not read on either
                break
            count += events.seek(size + 4, os.SEEK_CUR) <= end
    return count
