"""Parts: sections that name a class of a group, such as an encoder, and set arguments of its constructor."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from nmt.config.check import convert, refuse_keys, show
from nmt.config.keys import notes
from nmt.errors import ConfigError, nearest

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True)
class Group:
    """The classes among which a section chooses. A class joins the group by the decorator `register`.

    A constructor gets its `given` arguments from other parts. Its other arguments are the keys of its YAML file, and
    their annotations give the limits (see nmt.config.keys).
    """

    name: str  # name of the folder in configs/
    given: tuple[str, ...]
    home: str  # package or module of nmt whose import registers nmt's own classes
    members: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def register(self, cls: C) -> C:
        """Registers the class under its name; a class of another package under its module and name."""
        own = cls.__module__.startswith("nmt.")
        self.members[cls.__qualname__ if own else f"{cls.__module__}.{cls.__qualname__}"] = cls
        return cls

    def load(self) -> None:
        """Registers nmt's own classes."""
        home = importlib.import_module(self.home)
        for module in pkgutil.iter_modules(getattr(home, "__path__", ())):
            importlib.import_module(f"{self.home}.{module.name}")

    def find(self, name: str, where: str, trust: Sequence[str] | None) -> Callable[..., Any] | None:
        """The class of that name: nmt's own, or 'package.module.Class' of a package in `trust`; imports no other.

        With `trust` None, a class of another package gives None.
        """
        self.load()
        module_name, _, class_name = name.rpartition(".")
        if not module_name or name.startswith("nmt."):
            if name not in self.members:
                raise ConfigError(
                    f"{where}.class={name!r} is not one of nmt's {self.name} classes; {nearest(name, self.members)}"
                )
            return self.members[name]
        if trust is None:
            return None
        package = name.partition(".")[0]
        if package not in trust:
            raise ConfigError(
                f"{where}.class={name!r} is not a part of nmt; {nearest(class_name, self.members)} "
                f"If it is your own class, type trust=[{package}]"
            )
        try:
            importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"{where}.class={name!r} cannot be imported: {error}; is its package installed?"
            ) from error
        if name not in self.members:
            raise ConfigError(
                f"{where}.class={name!r} is not a registered {self.name}; {nearest(name, self.members)} "
                f"Your own class is registered by a decorator, as those in {self.home} are"
            )
        return self.members[name]


SCORES = Group("attention", ("d_query", "d_memory"), "nmt.model")
LAYERS = Group("attention", ("d_query", "d_memory", "normaliser"), "nmt.model")  # attention layers with several scores
ENCODERS = Group("encoder", ("d_embed",), "nmt.model")
DECODERS = Group("decoder", ("embedding", "attention", "d_embed", "d_memory", "d_output"), "nmt.model")
OPTIMIZERS = Group("optimizer", ("parameters",), "nmt.training.optim")
SCHEDULES = Group("schedule", ("total",), "nmt.training.optim")


@dataclass(frozen=True)
class Part:
    """A class and the arguments that a section sets; calling the part with the other arguments makes the object."""

    name: str
    arguments: Mapping[str, Any]  # may hold other parts, which make their own objects
    given: tuple[str, ...]
    made_by: Callable[..., Any] | None = field(compare=False, repr=False)  # None: its package is not trusted

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Makes the object; the arguments in `given` are in the order of the group's `given`."""
        assert self.made_by is not None, f"{self.name} was read without trust"
        return self.made_by(**dict(zip(self.given, given, strict=False)), **named, **self.arguments)

    def plain(self) -> dict[str, Any]:
        """The section as plain data."""
        own = {key: value.plain() if isinstance(value, Part) else value for key, value in self.arguments.items()}
        return {"class": self.name, **own}


def read_part(section: Any, where: str, group: Group, trust: Sequence[str] | None) -> Part:
    """The part that a section describes, its values checked against the constructor's annotations.

    With `trust` None, a class of another package is not imported, and its part cannot make an object.
    """
    if not isinstance(section, Mapping):
        choice = section if isinstance(section, str) else "<name>"
        typed = f"{group.name}={choice}" if where == group.name else f"{group.name}@{where}={choice}"
        raise ConfigError(f"{where}={show(section)} is not a section; type {typed}")
    name = section.get("class")
    if name is None:
        raise ConfigError(f"{where}.class is missing; write which class it is, as in configs/{group.name}/*.yaml")
    if not isinstance(name, str):
        raise ConfigError(f"{where}.class={show(name)} is not text; write the name of a class")
    values = {key: value for key, value in section.items() if key != "class"}
    found = group.find(name, where, trust)
    arguments = values if found is None else _arguments(found, values, where, group, trust)
    return Part(name, arguments, group.given, found)


def _arguments(
    made_by: Callable[..., Any], values: Mapping[str, Any], where: str, group: Group, trust: Sequence[str] | None
) -> dict[str, Any]:
    """The values of a section, checked against the constructor's annotations."""
    hints = get_type_hints(made_by.__init__ if inspect.isclass(made_by) else made_by, include_extras=True)
    for key in values:
        if key in group.given:
            raise ConfigError(f"{where}.{key}={show(values[key])} is derived from other parts; leave it out")
    parameters = [each for each in inspect.signature(made_by).parameters.values() if each.name not in group.given]
    required = [each.name for each in parameters if each.default is each.empty]
    refuse_keys(values, [each.name for each in parameters], required, where)
    checked = {}
    for key, value in values.items():
        inner = next((note for note in notes(hints[key]) if isinstance(note, Group)), None)
        below = f"{where}.{key}"
        checked[key] = convert(value, hints[key], below) if inner is None else read_part(value, below, inner, trust)
    return checked
