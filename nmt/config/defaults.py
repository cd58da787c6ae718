"""Values that null, or auto, leaves to be chosen when a verb begins; a run stores what was chosen."""

import os
from collections.abc import Mapping
from typing import Any

from nmt.machine.launch import cores, machines, processes

PART_TOKENS = 150  # of a part, at least: the costs of a part that do not shrink with it


def with_chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a verb, as plain data, with every such value chosen."""
    chosen = dict(settings)
    if "cache_dir" in chosen and chosen["cache_dir"] is None:
        chosen["cache_dir"] = cache_folder()
    if chosen.get("history") == "auto":
        chosen["history"] = f"{cache_folder()}/history"
    for key in ("file", "keys"):  # of nmt keys, of nmt serve
        if chosen.get(key) == "auto":
            chosen[key] = f"{settings_folder()}/keys.json"
    train = chosen.get("train")
    if not isinstance(train, Mapping) or train.get("parts") is not None or not isinstance(train["batch_tokens"], int):
        return chosen
    return chosen | {"train": {**train, "parts": default_parts(train["batch_tokens"], str(train["device"]))}}


def cache_folder() -> str:
    """Where this user keeps caches: by the XDG Base Directory Specification, which ignores relative paths."""
    return _own_folder("XDG_CACHE_HOME", "~/.cache")


def settings_folder() -> str:
    """Where this user keeps settings, likewise."""
    return _own_folder("XDG_CONFIG_HOME", "~/.config")


def _own_folder(variable: str, otherwise: str) -> str:
    given = os.environ.get(variable, "")
    return f"{given if os.path.isabs(given) else otherwise}/nmt"


def default_parts(batch_tokens: int, device: str) -> int:
    """So many parts of a batch that every core of this machine, and of those it trains together with, gets one.

    A power of two, so that any such number of processes gets equal shares; no part is smaller than PART_TOKENS.
    A GPU takes a batch as a whole.
    """
    least = processes()
    wanted = least if on_gpu(device) else max(least, machines() * cores())
    parts = 1
    while parts < wanted and (parts < least or 2 * parts * PART_TOKENS <= batch_tokens):
        parts *= 2
    return parts


def on_gpu(device: str) -> bool:
    """Does `train.device` mean a GPU here?"""
    if device == "cpu":
        return False
    import torch

    return torch.cuda.is_available()
