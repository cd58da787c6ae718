"""Decides which keys make a run a different run."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt.config.changes import Changes
from nmt.config.plain import leaves
from nmt.config.run import MODEL_SECTIONS, RunConfig
from nmt.errors import ConfigError, nearest

# Keys that may change when a run is resumed, without resume_with: where it runs, and what it shows.
ANYWHERE = (
    "train.device", "train.workers", "train.peer_timeout_s", "train.log_every", "train.examples", "cache_dir",
    "data.root",
)  # fmt: skip
LEFT_OUT = ("name", "runs_dir", "init_from", "data.gold", "data.gold_units")
NO_AXES = {*ANYWHERE, *LEFT_OUT, "trust", "resume", "resume_with", "split", "output"} - {"data.root"}


def essence(config: RunConfig) -> dict[str, Any]:
    """Dotted key -> value, for every key that affects the trained model."""
    return {key: value for key, value in leaves(config.plain()).items() if key not in NO_AXES}


def differences(
    stored: RunConfig, config: RunConfig, sections: Sequence[str] | None = None
) -> dict[str, tuple[Any, Any]]:
    """Dotted key -> (stored value, new value) for each difference, None for a missing key; in these sections or all."""
    before, now = leaves(stored.plain()), leaves(config.plain())
    return {
        key: (before.get(key), now.get(key))
        for key in {**before, **now}
        if (sections is None or key.split(".")[0] in sections)
        and (key in before, before.get(key)) != (key in now, now.get(key))
    }


def refuse_changes(run: Path, stored: RunConfig, config: RunConfig, allowed: Sequence[str]) -> None:
    """Refuses changes to a run that is resumed, except to ANYWHERE and to the `allowed` keys and sections."""
    known = [*leaves(stored.plain()), *leaves(config.plain())]
    for name in allowed:
        if not any(_within(key, name) for key in known):
            raise ConfigError(f"resume_with={name} is not a key of {run}; {nearest(name, known)}")
    changed = {
        key: values
        for key, values in differences(stored, config).items()
        if not any(_within(key, name) for name in (*ANYWHERE, *allowed))
    }
    if changed:
        shown = ", ".join(f"{key}={now} (was {was})" for key, (was, now) in changed.items())
        names = next(iter(changed)) if len(changed) == 1 else f"[{','.join(changed)}]"
        raise ConfigError(f"{run} would go on with {shown}; if that is meant, add resume_with={names}")


def refuse_other_tokenizer(stored: RunConfig, config: RunConfig, where: str) -> None:
    """Refuses a changed tokenizer, since weights belong to a vocabulary; only tokenizer.sampling_alpha may change."""
    for key, (was, now) in differences(stored, config, ["tokenizer"]).items():
        if key != "tokenizer.sampling_alpha":
            raise ConfigError(
                f"{key} is {now}, {where} has {was} and keeps its tokenizer; leave it out, or train a new model"
            )


def model_changes(stored: RunConfig, config: RunConfig) -> list[str]:
    """The settings that make the models of two configurations differ, as they are typed."""
    return [f"{key}={now}" for key, (_, now) in differences(stored, config, MODEL_SECTIONS).items()]


def with_places_of(stored: RunConfig, config: RunConfig, trust: Sequence[str]) -> RunConfig:
    """The configuration with the ANYWHERE keys of the stored one."""
    return Changes({key: value for key, value in leaves(stored.plain()).items() if key in ANYWHERE}).over(config, trust)


def data_apart_from(config: RunConfig, left_out: set[str]) -> dict[str, Any]:
    """The settings of the corpus without the keys `left_out`."""
    return {key: value for key, value in asdict(config.data).items() if key not in left_out}


def _within(key: str, name: str) -> bool:
    """Is the dotted key `name` itself, or in the section `name`?"""
    return key == name or key.startswith(f"{name}.")
