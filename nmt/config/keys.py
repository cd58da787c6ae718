"""Limits and meanings of configuration keys, written as annotations; and sections that enforce the limits.

    dropout: Annotated[Share, "on each layer's outputs, one mask per sequence"]

The limits are the types below. The text beside a type is the meaning of the key, which help and errors show.
"""

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from nmt.errors import ConfigError, printable

_HINTS: dict[type, Mapping[str, Any]] = {}  # by dataclass, filled when first asked for
LARGEST_NUMBER = 10**12  # default limit of every number in a configuration


@dataclass(frozen=True)
class Limits:
    """The numbers that a key takes: at least `least` or above `above`, at most `most` and below `below`."""

    least: int | float | None = None
    above: int | float | None = None
    most: int | float = LARGEST_NUMBER
    below: int | float | None = None

    def hold(self, value: int | float) -> bool:
        """Is the number finite and within the limits?"""
        return (
            abs(value) <= sys.float_info.max  # false for NaN, and for whole numbers that no float can hold
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and value <= self.most
            and (self.below is None or value < self.below)
        )

    def broken_by(self, value: int | float) -> str:
        """What a number outside the limits must be, in words."""
        if self.most < value < inf:
            return f"at most {self.most:,}"
        low = f"at least {self.least:,}" if self.least is not None else f"above {self.above:,}"
        high = f"below {self.below:,}" if self.below is not None else f"at most {self.most:,}"
        if self.most in (LARGEST_NUMBER, inf) and self.below is None:
            return low if abs(value) <= sys.float_info.max else f"{low} and finite"
        return f"{low} and {high}"


@dataclass(frozen=True)
class Instead:
    """Remedies for words that a key does not take: pairs (word, remedy)."""

    remedies: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Utf8:
    """Marks a text, or a list of texts, that must be UTF-8: folders in which libraries read or write files."""


Whole = Annotated[int, Limits(least=0)]
Count = Annotated[int, Limits(least=1)]
Size = Annotated[int, Limits(least=1, most=1_000_000)]  # size of a vector
Layers = Annotated[int, Limits(least=1, most=1_000)]
Workers = Annotated[int, Limits(least=1, most=10_000)]
Seed = Annotated[int, Limits(least=0, most=2**32 - 1)]  # the largest seed that random generators take
Positive = Annotated[float, Limits(above=0, most=inf)]
NotNegative = Annotated[float, Limits(least=0, most=inf)]
Share = Annotated[float, Limits(least=0, below=1)]  # a share that may be left out, as by dropout
Fraction = Annotated[float, Limits(least=0, most=1)]
Mass = Annotated[float, Limits(above=0, most=1)]
Folder = Annotated[str, Utf8()]


def allowed_types(hint: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, without the notes beside them."""
    if get_origin(hint) is Annotated:
        return allowed_types(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(each for option in get_args(hint) for each in allowed_types(option))
    return (hint,)


def notes(hint: Any) -> tuple[Any, ...]:
    """The notes beside the types of an annotation: its limits, meaning and remedies."""
    if get_origin(hint) is Annotated:
        return *notes(get_args(hint)[0]), *hint.__metadata__
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(note for option in get_args(hint) for note in notes(option))
    return ()


def meaning(hint: Any) -> str:
    """The meaning of a key, from its annotation."""
    return next((note for note in notes(hint) if isinstance(note, str)), "")


def remedy_of(word: str, hint: Any) -> str | None:
    """The remedy for a wrong word, if the annotation has one."""
    return next((dict(note.remedies).get(word) for note in notes(hint) if isinstance(note, Instead)), None)


def refuse_outside(value: Any, hint: Any, where: str) -> None:
    """Refuses a number outside the annotation's limits or not finite, and a text that must be UTF-8 and is not."""
    if any(isinstance(note, Utf8) for note in notes(hint)):
        for text in value if isinstance(value, list) else [value] if isinstance(value, str) else []:
            refuse_no_utf8(text, where)
    limits = next((note for note in notes(hint) if isinstance(note, Limits)), None)
    if limits is None or isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not limits.hold(value):
        off = ", or null" if type(None) in allowed_types(hint) else ""
        about = f" ({meaning(hint)})" if meaning(hint) else ""
        raise ConfigError(f"{where} is {value}; it must be {limits.broken_by(value)}{off}{about}")


def hints_of(cls: type) -> Mapping[str, Any]:
    """The annotations of a dataclass's fields, in their order, with the notes beside the types."""
    if cls not in _HINTS:
        hints = get_type_hints(cls, include_extras=True)
        _HINTS[cls] = {field.name: hints[field.name] for field in fields(cls)}
    return _HINTS[cls]


def refuse_no_utf8(text: str, where: str) -> None:
    """Refuses a file name whose bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{where}={printable(text)} is not valid UTF-8; rename the folder, or choose another"
        ) from None


@dataclass(frozen=True)
class Section:
    """A frozen dataclass of keys. Every instance is checked: its numbers keep their limits, its keys fit together."""

    WHERE: ClassVar[str] = ""  # prefix of its keys as typed; empty for a verb's own keys

    def __post_init__(self) -> None:
        for name, hint in hints_of(type(self)).items():
            refuse_outside(getattr(self, name), hint, f"{self.WHERE}.{name}" if self.WHERE else name)
        self.refuse()

    def refuse(self) -> None:
        """Refuses values that do not fit together."""
