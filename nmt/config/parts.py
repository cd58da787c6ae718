"""Parts: sections that name a class and its arguments."""

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from nmt.config.check import _check_keys, _convert, _show
from nmt.errors import ConfigError, nearest


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
        raise ConfigError(f"{where}={_show(name)} is no text; write module.Class, for example model.rnn.RnnEncoder")
    module_name, _, class_name = name.rpartition(".")
    top = name.split(".")[0]
    if not module_name:
        raise ConfigError(f"{where}={name!r} names no module; write module.Class, for example model.rnn.RnnEncoder")
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


def _own_module(name: str) -> bool:
    """Is there a file nmt/<name>.py?"""
    words = name.split(".")
    path = Path(__file__).parents[1].joinpath(*words)
    return all(word.isidentifier() for word in words) and path.with_suffix(".py").is_file()


def _own_modules() -> list[str]:
    return [info.name for info in pkgutil.iter_modules([str(Path(__file__).parents[1])])]


Config = Mapping[str, Any]


def checked(section: Config, where: str, trust: Sequence[str], given: Iterable[str]) -> tuple[Any, dict[str, Any]]:
    """The class that a section names, and its checked arguments without those that will be `given`."""
    if section.get("class") is None:
        raise ConfigError(f"{where}.class is missing; write which class it is, as in configs/{where}/*.yaml")
    found = find_class(section["class"], where, trust)
    return found, check_arguments(found, section, where, dict.fromkeys(given))


def part(section: Config, where: str, trust: Sequence[str], given: Config) -> Any:
    """The object that a section describes: its `class`, called with the section's values and the `given` ones."""
    found, arguments = checked(section, where, trust, given)
    return found(**given, **arguments)
