"""Checks plain data against the annotations of a dataclass and makes an instance of it."""

import dataclasses
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

from nmt.config.keys import allowed_types, hints_of, refuse_outside, remedy_of
from nmt.errors import ConfigError, nearest

T = TypeVar("T")

NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}


def read(cls: type[T], values: Any, where: str = "") -> T:
    """An instance of the dataclass `cls`, whose fields are the keys; `where` is the prefix of keys in errors."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}={show(values)} is not a section; give its keys, for example {where}.<key>=…")
    hints = hints_of(cls)
    refuse_keys(values, list(hints), list(hints), where)
    return cls(**{name: convert(values[name], hint, dotted(where, name)) for name, hint in hints.items()})


def read_known(cls: type[T], values: Mapping[str, Any]) -> T:
    """Like `read`, but ignores keys that `cls` has no field for."""
    return read(cls, {name: values[name] for name in hints_of(cls) if name in values})


def refuse_keys(values: Mapping[str, Any], known: Sequence[str], required: Sequence[str], where: str) -> None:
    """Refuses a key that is not `known`, naming the nearest known one, and a missing `required` key."""
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key '{dotted(where, key)}'; {nearest(str(key), known)}")
    for key in required:
        if key not in values:
            raise ConfigError(f"{dotted(where, key)} has no value; type {dotted(where, key)}=<value>")


def convert(value: Any, hint: Any, where: str) -> Any:
    """The value, checked against the annotation: a whole number may become a float, a mapping its section."""
    allowed = allowed_types(hint)
    if any(fits(value, option) for option in allowed):
        refuse_outside(value, hint, where)
        return float(value) if float in allowed and int not in allowed and type(value) is int else value
    for option in allowed:
        if dataclasses.is_dataclass(option):
            return read(option, value, where)  # type: ignore[arg-type]  # no instance
    words = [str(word) for option in allowed if get_origin(option) is Literal for word in get_args(option)]
    if words:
        words += ["true", "false"] if bool in allowed else []
        words += ["null"] if type(None) in allowed else []
        remedy = remedy_of(str(value).lower(), hint) or nearest(str(value), words)
        raise ConfigError(f"{where}={show(value)} is not possible; {remedy}")
    quoted = f"; quote it: {where}='\"{value}\"'" if str in allowed and isinstance(value, int | float) else ""
    names = " or ".join(name_of(option) for option in allowed)
    raise ConfigError(f"{where}={show(value)} is not possible; it must be {names}{quoted}")


def fits(value: Any, hint: Any) -> bool:
    """Does the value have the type of the annotation?"""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in get_args(hint) and not isinstance(value, bool)
    if origin in (list, tuple, Sequence):
        return isinstance(value, list) and all(fits(item, get_args(hint)[0]) for item in value)
    if hint is float:
        return type(value) in (int, float)
    if hint in (int, bool, str, types.NoneType):
        return type(value) is hint
    base = origin or hint
    return inspect.isclass(base) and isinstance(value, base)


def name_of(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) in (list, tuple, Sequence):
        return "a list, each item " + name_of(get_args(hint)[0])
    return NAMES[hint] if hint in NAMES else getattr(hint, "__name__", str(hint))


def show(value: Any) -> str:
    """The value as it is typed."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def dotted(where: str, key: object) -> str:
    """The key as it is typed."""
    return f"{where}.{key}" if where else str(key)
