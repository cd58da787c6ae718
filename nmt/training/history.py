"""What a resumed run keeps of the points that it recorded before: those that led to its checkpoint, each once."""

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

# Kind ("train", "dev" or "event") and update: does the point belong to what is resumed?
Known = Callable[[str, int], bool]
LoggedPoint = tuple[str, dict[str, Any] | None]  # a line of metrics.jsonl and what it holds; None: damaged
MERGED = "events.out.tfevents.0000000000.before"  # tensorboard reads files in order of their names: this one first
METRICS_BYTES = 2**30  # of metrics.jsonl, at most
POINT_BYTES = 2**28  # of a point of tensorboard, at most
POINT_KINDS = ("train", "dev", "event")
LINES_SHOWN = 5  # damaged lines that are named


def known_points(progress: Progress) -> Known:
    """The points that led to `progress`."""
    logged = progress.update - int(progress.sums["updates"] if progress.sums else 0)  # the interval after it goes on
    validated = {v.update for v in progress.validations}
    last = {"train": logged, "event": progress.update}
    return lambda kind, update: update in validated if kind == "dev" else update <= last[kind]


def keep_known_lines(metrics: Path, known: Known) -> list[str]:
    """Cuts unknown points, and a line that a crash left unfinished, from metrics.jsonl at once; returns what to say of
    damaged lines, which cannot be kept."""
    points = read_points(metrics)
    kept = [line + "\n" for line, point in points if point and known(point["kind"], point["update"])]
    damaged = damaged_lines(points)
    said = [f"{metrics}: {damaged}, and left out; as it was, it is {set_aside(metrics)}"] if damaged else []
    if points:
        replace_file(metrics, "".join(kept).encode())
    return said


def damaged_lines(points: list[LoggedPoint]) -> str:
    """What there is to say of them, if there are any."""
    found = [f"{number:,}" for number, (_, point) in enumerate(points, 1) if point is None]
    more = f" and {len(found) - LINES_SHOWN:,} more" if len(found) > LINES_SHOWN else ""
    return f"line {', '.join(found[:LINES_SHOWN])}{more} {'is' if len(found) == 1 else 'are'} damaged" if found else ""


def read_points(metrics: Path) -> list[LoggedPoint]:
    """The lines of metrics.jsonl, each with the point it holds, None where it is damaged; without what a crash, or a
    process that is writing, left unfinished at its end."""
    if not metrics.exists():
        return []
    *lines, unfinished = read_file(metrics, METRICS_BYTES).decode("utf-8", errors="replace").split("\n")
    found = [(line, _point(line)) for line in lines]
    last = _point(unfinished)
    return [*found, (unfinished, last)] if last else found


def _point(line: str) -> dict[str, Any] | None:
    """The point on a line, with numbers that can be those of updates."""
    try:
        point = json.loads(line)
        counts = [point["update"], point.get("tokens", 0), point.get("tokens_per_s") or 0]
        sound = point["kind"] in POINT_KINDS and all(0 <= count <= MOST_COUNTED for count in counts)
        return point if sound and isinstance(point["update"], int) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep_known_events(folder: Path, known: Known) -> list[str]:
    """Makes one file of tensorboard's files, without unknown points and without what a crash left unfinished; returns
    what to say of damaged ones."""
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
        for event in LegacyEventFileLoader(str(file)).Load():  # up to a record that is damaged
            found += 1
            points = frozenset((value.tag, event.step) for value in event.summary.value)  # none: the format's version
            if event.WhichOneof("what") not in ("file_version", "summary") or points in seen:
                continue
            if all(known("train" if tag.startswith("train/") else "dev", step) for tag, step in points):
                seen.add(points)
                writer.write(event.SerializeToString())
        if found < count:
            said.append(f"{file}: damaged after {found} of {count} points; as it was, it is {set_aside(file)}")
    replace_file(folder / MERGED, content.getvalue())
    for file in files:
        if file.name != MERGED:
            os.remove(file)
    return said


def set_aside(file: Path) -> Path:
    """A copy with a name of its own, which tensorboard does not read."""
    name = file.name.replace("tfevents", "events")
    copy = next(path for n in itertools.count(1) if not (path := file.with_name(f"damaged.{n}.{name}")).exists())
    replace_file(copy, read_file(file, METRICS_BYTES))
    return copy


def count_records(file: Path) -> int:
    """How many whole records there are. tensorboard takes the memory that a record says it needs: what cannot be a
    point's is refused."""
    count = 0
    end = file.stat().st_size
    with open(file, "rb") as events:
        while len(header := events.read(12)) == 12:
            size = int.from_bytes(header[:8], "little")
            if size > POINT_BYTES:
                raise CheckpointError(f"{file} holds a record of {size:,} bytes, which nmt did not write; delete it")
            if not size:  # nor has tensorboard any use for what follows
                break
            count += events.seek(size + 4, os.SEEK_CUR) <= end
    return count
