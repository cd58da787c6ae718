"""Hydra reads the shipped configs, and its own, once a process and not for each composition, which is then faster.

A composition merges into what it has read: each gets a copy.
"""

from copy import deepcopy
from pathlib import Path

from hydra._internal.config_repository import ConfigRepository
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult

SHIPPED = (f"file://{Path(__file__).parents[2] / 'configs'}", "pkg://hydra.conf")


def install() -> None:
    """Files elsewhere, which tests write, are read anew each time."""
    read = ConfigRepository.load_config
    known: dict[tuple[str, str], ConfigResult | None] = {}

    def load_config(self: ConfigRepository, config_path: str) -> ConfigResult | None:
        source = self._find_object_source(config_path, ObjectType.CONFIG)
        place = None if source is None else f"{source.scheme()}://{source.path}"
        if place not in SHIPPED:
            return read(self, config_path)
        if (place, config_path) not in known:
            known[place, config_path] = read(self, config_path)
        return deepcopy(known[place, config_path])

    ConfigRepository.load_config = load_config  # type: ignore[method-assign]
