"""The changes that a command line makes to a stored configuration."""

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
    """Dotted key -> typed value: for the choice of a group its whole section, for `experiment` its name."""

    values: Mapping[str, Any]

    def within(self, *names: str) -> list[str]:
        """The typed keys that have one of these names or are in a section of that name."""
        return [key for key in self.values if key.split(".")[0] in names]

    def only(self, keys: Collection[str]) -> "Changes":
        """The changes of these keys."""
        return Changes({key: value for key, value in self.values.items() if key in keys})

    def but(self, keys: Collection[str]) -> "Changes":
        """The changes of all other keys."""
        return Changes({key: value for key, value in self.values.items() if key not in keys})

    def of(self, stored: S) -> S:
        """The stored section with the typed values in place of its own."""
        name = stored.WHERE
        return read(type(stored), overlay({name: asdict(stored)}, self.values, [name])[name], name)

    def over(self, stored: RunConfig, trust: Sequence[str], sections: Collection[str] | None = None) -> RunConfig:
        """The stored configuration with the typed values of these sections (None: of all) in place of its own."""
        words = [key.split(".")[0] for key in self.values] if sections is None else list(sections)
        return read_run_config(overlay(stored.plain(), self.values, words), trust)


NO_CHANGES = Changes({})
