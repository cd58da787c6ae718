"""What tells one finished run from another, read without nmt: weights, training state, metrics and tensorboard."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

CLOCK = ("tokens_per_s", "data_waiting_share")  # what the clock decides, in metrics.jsonl and tensorboard
# In config.json: its name and places, who trained it, and what to do with NaN and infinities.
OWN = ("name", "runs_dir", "cache_dir", "workers", "on_nonfinite")


def differences(run: Path, other: Path) -> Iterator[str]:
    """A line for each difference, bit for bit, and for each series of `run` with a point twice or out of order."""
    mine, theirs = contents(run), contents(other)
    for name in sorted(mine.keys() | theirs.keys()):
        if name not in mine or name not in theirs:
            yield f"{name} is in {run if name in mine else other} alone"
        elif mine[name] != theirs[name]:
            yield f"{name} differs: {first_difference(mine[name], theirs[name])}"
    for name, points in mine.items():
        if isinstance(points, list):
            steps = [step for step, _ in points]
            if steps != sorted(set(steps)):
                yield f"{name} has a step twice, or one before an earlier one: {steps}"


def contents(run: Path) -> dict[str, Any]:
    """Name -> content: bytes of a file, or the points (step, value) of a series."""
    found: dict[str, Any] = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if not path.is_file() or path.parent.name == "tensorboard":
            continue
        if path.suffix == ".safetensors":
            for key, tensor in load_file(path).items():
                found[f"{name}: {key}"] = (tuple(tensor.shape), str(tensor.dtype), tensor.numpy().tobytes())
        elif path.name == "metrics.jsonl":
            for line in path.read_text("utf-8").splitlines():
                entry = json.loads(line)
                values = {key: value for key, value in entry.items() if key not in CLOCK}
                kind = f"{entry['kind']}: {entry['event']}" if entry["kind"] == "event" else entry["kind"]
                found.setdefault(f"{name}: {kind}", []).append((entry["update"], values))
        elif name == "config.json":
            found[name] = of_others(json.loads(path.read_text("utf-8")))
        elif name == "manifest.json":
            manifest = json.loads(path.read_text("utf-8"))
            found[name] = manifest | {"sha256": {**manifest["sha256"], "config.json": None}}
        else:
            found[name] = path.read_bytes()
    return found | tensorboard(run / "tensorboard")


def of_others(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that runs of the same training share."""
    kept = {key: value for key, value in settings.items() if key not in OWN}
    return {key: of_others(value) if isinstance(value, dict) else value for key, value in kept.items()}


def tensorboard(folder: Path) -> dict[str, Any]:
    """Tag -> points, as tensorboard itself shows them."""
    events = EventAccumulator(str(folder), size_guidance=dict.fromkeys(("scalars", "images", "tensors"), 0))
    events.Reload()
    tags = events.Tags()
    found: dict[str, Any] = {}
    for tag in tags["scalars"]:
        if tag.partition("/")[2] not in CLOCK:
            found[f"tensorboard: {tag}"] = [(event.step, event.value) for event in events.Scalars(tag)]
    for tag in tags["images"]:
        images = events.Images(tag)
        found[f"tensorboard: {tag}"] = [(event.step, event.encoded_image_string) for event in images]
    for tag in tags["tensors"]:
        texts = events.Tensors(tag)
        found[f"tensorboard: {tag}"] = [(event.step, event.tensor_proto.SerializeToString()) for event in texts]
    return found


def first_difference(mine: Any, theirs: Any) -> str:
    """Of two contents, for people."""
    if isinstance(mine, list) and isinstance(theirs, list):
        steps, others = [step for step, _ in mine], [step for step, _ in theirs]
        if steps != others:
            return f"steps {steps} and {others}"
        step, one, two = next((a[0], a[1], b[1]) for a, b in zip(mine, theirs, strict=True) if a != b)
        if isinstance(one, Mapping):
            return f"at {step}: " + ", ".join(
                f"{key} {one.get(key)} and {two.get(key)}" for key in {**one, **two} if one.get(key) != two.get(key)
            )
        return f"at {step}: {str(one)[:40]} and {str(two)[:40]}"
    return "other bytes"
