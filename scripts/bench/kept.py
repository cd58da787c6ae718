"""Folders of results that a later call reads instead of making them again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.errors import ConfigError
from nmt.machine.safe_files import write_atomically

SETTINGS_FILE = "settings.json"


def refuse_others(runs: Path, settings: Mapping[str, Any]) -> None:
    """Refuses a folder with results of other settings; keeps these there, beside those of earlier calls."""
    file = runs / SETTINGS_FILE
    before: dict[str, Any] = {}
    if file.exists():
        before = json.loads(file.read_text("utf-8"))
    elif runs.exists() and (not runs.is_dir() or any(runs.iterdir())):
        raise ConfigError(f"--runs {runs} has other files; name another folder")
    for name in before.keys() & settings.keys():
        if before[name] != settings[name]:
            what = f"{name} {before[name]}, not {settings[name]}"
            raise ConfigError(f"--runs {runs} has trainings of {what}; name another folder")
    runs.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(before | dict(settings)).encode())
