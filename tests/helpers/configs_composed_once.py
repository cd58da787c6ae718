"""Hydra reads and merges the shipped configs once a process for each choice of groups: compositions are then faster.

A composition sets values in what was merged: each gets a copy. Where a file of another folder may take part, as with
--config-dir, everything is read and merged anew.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import IConfigRepository
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

SHIPPED = {f"file://{Path(__file__).parents[2] / 'configs'}", "pkg://hydra.conf", "structured://"}


def install() -> None:
    """From now on."""
    config_loader_impl.create_defaults_list = listed_once(config_loader_impl.create_defaults_list)
    compose = ConfigLoaderImpl._compose_config_from_defaults_list
    ConfigLoaderImpl._compose_config_from_defaults_list = merged_once(compose)  # type: ignore[method-assign]


def listed_once(listed: Callable[..., DefaultsList]) -> Callable[..., DefaultsList]:
    """Which files there are to merge follows from the groups that are chosen, and not from values."""
    known: dict[object, DefaultsList] = {}

    def defaults_list(
        repo: IConfigRepository, config_name: str | None, overrides_list: list[Override], **given: Any
    ) -> DefaultsList:
        overrides = Overrides(repo=repo, overrides_list=overrides_list)
        groups = (overrides.override_choices, overrides.deletions, overrides.append_group_defaults)
        key = (config_name, repr(groups), *given.items())
        if not is_shipped(repo):
            return listed(repo=repo, config_name=config_name, overrides_list=overrides_list, **given)
        if key not in known:
            known[key] = listed(repo=repo, config_name=config_name, overrides_list=overrides_list, **given)
        found = known[key]
        return DefaultsList(found.defaults, found.defaults_tree, overrides.config_overrides, found.overrides)

    return defaults_list


def merged_once(merged: Callable[..., DictConfig]) -> Callable[..., DictConfig]:
    """What the files of a list of defaults give together."""
    known: dict[str, DictConfig] = {}

    def compose(self: ConfigLoaderImpl, defaults: Sequence[ResultDefault], repo: IConfigRepository) -> DictConfig:
        if not is_shipped(repo):
            return merged(self, defaults, repo)
        key = repr(defaults)
        if key not in known:
            known[key] = merged(self, defaults, repo)
        return deepcopy(known[key])

    return compose


def is_shipped(repo: IConfigRepository) -> bool:
    """Do all of its files come with nmt or Hydra?"""
    return all(f"{source.scheme()}://{source.path}" in SHIPPED for source in repo.get_sources())
