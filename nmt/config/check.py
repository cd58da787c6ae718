"""Checks plain configuration data against annotations, and finds the classes that it names."""

import dataclasses
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from nmt.errors import ConfigError, nearest

T = TypeVar("T")

NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}


def read_section(cls: type[T], section: Mapping[str, Any], where: str) -> T:
    """An instance of the dataclass `cls`, every value checked; `where` is the section's key as typed."""
    return _build(cls, section, where)  # type: ignore[no-any-return]


def check_values(cls: type, values: Mapping[str, Any]) -> None:
    """Checks the values that the dataclass `cls` has a field for; the others are somebody else's."""
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        try:
            value = values[field.name]
        except KeyError:
            raise ConfigError(f"{field.name} has no value; type {field.name}=<value>") from None
        _convert(value, hints[field.name], field.name)


def _build(cls: Any, section: Any, where: str) -> Any:
    if not isinstance(section, Mapping):
        raise ConfigError(f"{where}={_show(section)} is not a section; give its keys, for example {where}.<key>=…")
    fields = dataclasses.fields(cls)
    names = [f.name for f in fields]
    _check_keys(section, names, names, where)
    hints = get_type_hints(cls)
    return cls(**{f.name: _convert(section[f.name], hints[f.name], f"{where}.{f.name}") for f in fields})


def _check_keys(values: Mapping[str, Any], known: Sequence[str], required: Sequence[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key '{where}.{key}'; {nearest(str(key), known)}")
    for key in required:
        if key not in values:
            raise ConfigError(f"{where}.{key} has no value; type {where}.{key}=<value>")


def _convert(value: Any, hint: Any, where: str) -> Any:
    """`value` as the annotation wants it: whole numbers pass for numbers, nothing else is converted."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        if dataclasses.is_dataclass(option):
            return _build(option, value, where)
        if _fits(value, option):
            return float(value) if float in options and int not in options and type(value) is int else value
    words = [str(w) for o in options if get_origin(o) is Literal for w in get_args(o)]
    if words:
        words += ["true", "false"] if bool in options else []
        raise ConfigError(f"{where}={_show(value)} is not possible; {nearest(str(value), words)}")
    remedy = f"; quote it: {where}='\"{value}\"'" if str in options and isinstance(value, int | float) else ""
    allowed = " or ".join(_name(option) for option in options)
    raise ConfigError(f"{where}={_show(value)} is not possible; it must be {allowed}{remedy}")


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in get_args(hint) and not isinstance(value, bool)
    if origin in (list, tuple, Sequence):
        return isinstance(value, list) and all(_fits(item, get_args(hint)[0]) for item in value)
    if hint is float:
        return type(value) in (int, float)
    if hint in (int, bool, str, types.NoneType):
        return type(value) is hint
    base = origin or hint
    return inspect.isclass(base) and isinstance(value, base)


def _name(hint: Any) -> str:
    if get_origin(hint) in (list, tuple, Sequence):
        return "a list, each item " + _name(get_args(hint)[0])
    return NAMES[hint] if hint in NAMES else getattr(hint, "__name__", str(hint))


def _show(value: Any) -> str:
    """The value as it is typed."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)
