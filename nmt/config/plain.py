"""Composed configurations as plain data."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.grammar_parser import parse

from nmt.errors import ConfigError


def plain(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain data, with ${key} references resolved.

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
    """`stored` with the `typed` values (dotted key -> value) of these `sections` in place of its own."""
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
    """Dotted key -> value, for all values of nested sections."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


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
