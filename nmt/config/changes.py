"""What a command line changes of a stored configuration."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from nmt.config.check import read
from nmt.config.keys import Section
from nmt.config.plain import overlay
from nmt.config.run import RunConfig, read_run_config

S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Changes:
    """Dotted key -> value of what was typed: a whole section where a group's choice was, the name for `experiment`."""

    values: Mapping[str, Any]

    def within(self, *names: str) -> list[str]:
        """The keys typed that have one of these names, or are in a section of that name."""
        return [key for key in self.values if key.split(".")[0] in names]

    def only(self, keys: Collection[str]) -> "Changes":
        """Those of these keys."""
        return Changes({key: value for key, value in self.values.items() if key in keys})

    def but(self, keys: Collection[str]) -> "Changes":
        """All others."""
        return Changes({key: value for key, value in self.values.items() if key not in keys})

    def of(self, stored: S) -> S:
        """The section, what was typed of it in place of what is stored."""
        name = stored.WHERE
        return read(type(stored), overlay({name: asdict(stored)}, self.values, [name])[name], name)

    def over(self, stored: RunConfig, trust: Sequence[str], sections: Collection[str] | None = None) -> RunConfig:
        """The configuration, what was typed of these sections (None: of all) in place of what is stored."""
        words = [key.split(".")[0] for key in self.values] if sections is None else list(sections)
        return read_run_config(overlay(stored.plain(), self.values, words), trust)


NO_CHANGES = Changes({})
