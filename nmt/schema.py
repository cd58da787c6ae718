"""Checks plain configuration data against annotations, and finds the classes that it names."""

import copy
import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.grammar_parser import parse

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


def check_arguments(
    cls: Callable[..., Any], section: Mapping[str, Any], where: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments for the part `cls` that its section holds, checked against the constructor's annotations.

    `given` are the arguments that follow from other parts: they may not stand in the section, nor do they
    come back.
    """
    init = cls.__init__ if inspect.isclass(cls) else cls
    hints = get_type_hints(init)
    parameters = [p for p in inspect.signature(cls).parameters.values() if p.name not in given]
    values = {key: value for key, value in section.items() if key != "class"}
    for key in values:
        if key in given:
            raise ConfigError(f"{where}.{key}={_show(values[key])} follows from other parts; leave it out")
    required = [p.name for p in parameters if p.default is p.empty]
    _check_keys(values, [p.name for p in parameters], required, where)
    return {key: _convert(value, hints[key], f"{where}.{key}") for key, value in values.items()}


def find_class(name: Any, where: str, trust: Sequence[str]) -> type:
    """The class 'module.Class' of nmt, or of a package whose first word is in `trust`; imports no other."""
    if not isinstance(name, str):
        raise ConfigError(f"{where}={_show(name)} is no text; write module.Class, for example rnn.RnnEncoder")
    module_name, _, class_name = name.rpartition(".")
    top = name.split(".")[0]
    if not module_name:
        raise ConfigError(f"{where}={name!r} names no module; write module.Class, for example rnn.RnnEncoder")
    if _own_module(module_name):
        module_name = f"nmt.{module_name}"
    elif top not in trust:
        raise ConfigError(
            f"{where}={name!r} is not a part of nmt; {nearest(module_name, _own_modules())} "
            f"If it is your own class, type trust=[{top}]"
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{where}={name!r} cannot be imported: {error}; is its package installed?") from error
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__.startswith(module_name)  # defined there, not imported
    }
    if class_name not in classes:
        choices = [f"{name.rpartition('.')[0]}.{known}" for known in classes]
        raise ConfigError(f"{where}={name!r} does not exist; {nearest(name, choices)}")
    return classes[class_name]


def plain(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain data, ${key} references resolved.

    Resolvers such as ${oc.env:HOME} are refused: a configuration means the same wherever it is read.
    """
    try:
        _refuse_resolvers(OmegaConf.to_container(config, resolve=False), "")
        for key in sorted(OmegaConf.missing_keys(config)):
            raise ConfigError(f"{key} has no value; type {key}=<value>")
        data = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}; correct the reference") from error
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


def overlay(stored: Mapping[str, Any], typed: Mapping[str, Any], sections: Sequence[str]) -> dict[str, Any]:
    """`stored` with those `typed` values (dotted key -> value) whose first word is in `sections`."""
    merged = copy.deepcopy(dict(stored))
    for key, value in typed.items():
        *path, last = key.split(".")
        if key.split(".")[0] in sections:
            node = merged
            for part in path:
                node = node.setdefault(part, {})
            node[last] = copy.deepcopy(value)
    return merged


def leaves(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


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


def _own_module(name: str) -> bool:
    """Is there a file nmt/<name>.py?"""
    words = name.split(".")
    path = Path(__file__).parent.joinpath(*words)
    return all(word.isidentifier() for word in words) and path.with_suffix(".py").is_file()


def _own_modules() -> list[str]:
    return [info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])]


def _refuse_resolvers(node: Any, where: str) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            _refuse_resolvers(value, f"{where}.{key}" if where else str(key))
    elif isinstance(node, list | ListConfig):
        for index, value in enumerate(node):
            _refuse_resolvers(value, f"{where}[{index}]")
    elif isinstance(node, str) and "${" in node and _has_resolver(parse(node)):
        raise ConfigError(f"{where}={node!r} asks a resolver, which a configuration may not do; write the value itself")


def _has_resolver(tree: Any) -> bool:
    if type(tree).__name__ == "InterpolationResolverContext":
        return True
    return any(_has_resolver(child) for child in (getattr(tree, "children", None) or ()))
