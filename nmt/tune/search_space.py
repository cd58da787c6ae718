"""Search spaces of `nmt tune`: which keys vary, and between which values."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeGuard

import optuna

from nmt.errors import ConfigError

Value = bool | int | float | str | None


@dataclass(frozen=True)
class Choices:
    """A key that takes one of several values, or a group that takes one of its choices (attention: general, dot)."""

    key: str
    values: list[Value]

    def nearest(self, value: Any) -> Value:
        """The choice that is this value, or the number nearest to it; the first one otherwise."""
        numbers = [each for each in self.values if _number(each)]
        if _number(value) and numbers:
            return min(numbers, key=lambda each: abs(each - value))
        return value if value in self.values else self.values[0]

    def suggest(self, trial: optuna.Trial) -> Value:
        """The value for this trial."""
        chosen: Value = trial.suggest_categorical(self.key, self.values)
        return chosen


@dataclass(frozen=True)
class Range:
    """A number from low to high, both included; an integer if low, high and step are.

    With `step`, it is low plus a whole number of steps. With `log`, it is drawn evenly on a logarithmic scale.
    """

    key: str
    low: int | float
    high: int | float
    step: int | float | None
    log: bool

    @property
    def is_whole(self) -> bool:
        """Are its numbers integers?"""
        return all(isinstance(each, int) for each in (self.low, self.high, self.step or 1))

    def nearest(self, value: Any) -> Value:
        """Its number that is nearest to this one; for any other value, the lowest number."""
        inside = min(max(value, self.low), self.high) if _number(value) else self.low
        if self.step is None and not self.is_whole:
            return inside
        # As Optuna computes: in binary, 0.1 + 2 · 0.1 is more than 0.3, so it would be outside of the range.
        low, high, step = (Decimal(str(each)) for each in (self.low, self.high, self.step or 1))
        found = low + step * min(round((Decimal(str(inside)) - low) / step), int((high - low) // step))
        return int(found) if self.is_whole else float(found)

    def suggest(self, trial: optuna.Trial) -> Value:
        """The value for this trial."""
        if self.is_whole:
            return trial.suggest_int(self.key, int(self.low), int(self.high), step=int(self.step or 1), log=self.log)
        return trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.log)


def read_space(section: Mapping[str, Any], prefix: str = "") -> list[Choices | Range]:
    """The keys that vary, sorted by name; refuses an entry that is neither a range nor a list of choices."""
    found: list[Choices | Range] = []
    for name, value in sorted(section.items()):
        key = f"{prefix}{name}"
        if not isinstance(value, Mapping):
            raise ConfigError(f"space.{key}={value} is not a range; write {{low: …, high: …}} or {{choices: [A, B]}}")
        if "choices" in value:
            found.append(_choices(key, value))
        elif "low" in value or "high" in value:
            found.append(_range(key, value))
        else:
            found += read_space(value, f"{key}.")
    return found


def word(key: str, value: Value) -> str:
    """The override that sets a key to a value of the space."""
    if value is None or isinstance(value, bool):
        return f"{key}={ {None: 'null', True: 'true', False: 'false'}[value] }"
    return f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}"


def _choices(key: str, value: Mapping[str, Any]) -> Choices:
    listed = value["choices"]
    _refuse_others(key, value, ("choices",))
    if not isinstance(listed, list) or not listed or not all(isinstance(item, Value) for item in listed):
        raise ConfigError(f"space.{key}.choices={listed} is not a list of values; write choices: [A, B]")
    return Choices(key, listed)


def _range(key: str, value: Mapping[str, Any]) -> Range:
    _refuse_others(key, value, ("low", "high", "step", "log"))
    low, high = value.get("low"), value.get("high")
    step, log = value.get("step"), value.get("log", False)
    if not _number(low) or not _number(high) or not low < high:
        raise ConfigError(f"space.{key} goes from {low} to {high}; give numbers, low below high")
    if not isinstance(log, bool) or (log and low <= 0):
        raise ConfigError(f"space.{key}.log={log} with low={low} is not possible; it is true or false, and low above 0")
    if step is not None and (log or not _number(step) or not 0 < step <= high - low):
        raise ConfigError(f"space.{key}.step={step} is not possible; give a number up to {high - low:g}, without log")
    return Range(key, low, high, step, log)


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse_others(key: str, value: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in value:
        if name not in known:
            raise ConfigError(f"unknown key 'space.{key}.{name}'; it has low, high, step and log, or choices alone")
