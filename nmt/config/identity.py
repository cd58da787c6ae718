"""Which keys make a run another run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt.config.plain import leaves
from nmt.errors import ConfigError, nearest

# What a run may go on with differently without being asked: where it runs, and what it shows.
ANYWHERE = ("train.device", "train.threads", "train.log_every", "train.examples", "cache_dir", "data.root")
NOT_STORED = ("resume", "resume_with", "trust")  # of a run: they are of one command
OWN = ("split", "output")  # keys of nmt compare that a run does not have
LEFT_OUT = (*OWN, "name", "runs_dir", "trust", "resume", "resume_with", "init_from", "data.gold", "data.gold_units")
FREE = {*ANYWHERE, *LEFT_OUT} - {"data.root"}  # what leaves a model as it is


def essence(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted key -> value of all that decides what the model becomes."""
    return {key: value for key, value in leaves(config).items() if key not in FREE}


def refuse_changes(run: Path, stored: Mapping[str, Any], config: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """A run goes on as it was begun, unless `allowed` (keys and sections) says otherwise."""
    before, now = leaves(stored), leaves(config)
    for name in allowed:
        if not any(_within(key, name) for key in {**before, **now}):
            raise ConfigError(f"resume_with={name} is no key of {run}; {nearest(name, {**before, **now})}")
    changed = [
        key
        for key in {**before, **now}
        if (key in before, before.get(key)) != (key in now, now.get(key))
        and not any(_within(key, name) for name in (*ANYWHERE, *allowed))
    ]
    if changed:
        shown = ", ".join(f"{key}={now.get(key, 'none')} (was {before.get(key, 'none')})" for key in changed)
        names = changed[0] if len(changed) == 1 else f"[{','.join(changed)}]"
        raise ConfigError(f"{run} would go on with {shown}; if that is meant, add resume_with={names}")


def _within(key: str, name: str) -> bool:
    """Is the dotted key the named one, or in the named section?"""
    return key == name or key.startswith(f"{name}.")
