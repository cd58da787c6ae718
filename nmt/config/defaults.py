"""Chooses the values that null or auto leaves open when a verb begins; a run stores the chosen values."""

import os
from collections.abc import Mapping
from typing import Any

from nmt.machine.launch import cores, machines, processes

PART_TOKENS = 150  # tokens of the smallest part: some costs of a part do not shrink with it


def with_chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a verb, as plain data, with every open value chosen."""
    chosen = dict(settings)
    if "cache_dir" in chosen and chosen["cache_dir"] is None:
        chosen["cache_dir"] = cache_folder()
    if chosen.get("history") == "auto":
        chosen["history"] = f"{cache_folder()}/history"
    for key in ("file", "keys"):  # of nmt keys and of nmt serve
        if chosen.get(key) == "auto":
            chosen[key] = f"{settings_folder()}/keys.json"
    train = chosen.get("train")
    if not isinstance(train, Mapping) or train.get("parts") is not None or not isinstance(train["batch_tokens"], int):
        return chosen
    return chosen | {"train": {**train, "parts": default_parts(train["batch_tokens"], str(train["device"]))}}


def cache_folder() -> str:
    """This user's cache folder for nmt, by the XDG Base Directory Specification, which ignores relative paths."""
    return _own_folder("XDG_CACHE_HOME", "~/.cache")


def settings_folder() -> str:
    """This user's settings folder for nmt, by the same specification."""
    return _own_folder("XDG_CONFIG_HOME", "~/.config")


def _own_folder(variable: str, otherwise: str) -> str:
    given = os.environ.get(variable, "")
    return f"{given if os.path.isabs(given) else otherwise}/nmt"


def default_parts(batch_tokens: int, device: str) -> int:
    """Number of parts of a batch, enough for every core of this machine and of the machines that train with it.

    The number is a power of two, so that 2, 4, 8, … processes get equal shares. No part is smaller than PART_TOKENS,
    unless there are more processes than such parts. On GPUs every process needs only one part.
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
