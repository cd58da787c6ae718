"""Chooses the values that null or auto leaves open when a verb begins; a run stores the chosen values."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from nmt.machine.launch import cores, machines, processes

GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # without any, Linux has no GPU of NVIDIA or AMD, nor does WSL
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
    if isinstance(data := chosen.get("data"), Mapping):
        chosen["data"] = with_languages(data)
    train = chosen.get("train")
    if not isinstance(train, Mapping) or train.get("parts") is not None or not isinstance(train["batch_tokens"], int):
        return chosen
    return chosen | {"train": {**train, "parts": default_parts(train["batch_tokens"], str(train["device"]))}}


def with_languages(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The corpus section with the languages that the names of both training files say, such as my.en and my.de.

    Languages that are given stay; a name that says another language than the given one says nothing about the other.
    """
    keys, files = ("src_lang", "tgt_lang"), data.get("train")
    if not isinstance(files, Mapping) or None not in (given := [data.get(key) for key in keys]):
        return data
    found = [language_of_files(files.get(side)) for side in ("src", "tgt")]
    unclear = None in found or found[0] == found[1] or not are_named_alike(files.get("src"), files.get("tgt"))
    if unclear or any(one not in (None, other) for one, other in zip(given, found, strict=True)):
        return data
    return {**data, **dict(zip(keys, found, strict=True))}


def language_of_files(names: Any) -> str | None:
    """The language that the name of a file says, or the names of several."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list) or not listed or not all(isinstance(name, str) and "." in name for name in listed):
        return None
    from nmt.config.languages import language_of_file  # imports langcodes: 30 ms

    found = {language_of_file(name) for name in listed}
    return found.pop() if len(found) == 1 else None


def are_named_alike(src: Any, tgt: Any) -> bool:
    """Do names of strings or subtitles differ in the language alone? Words such as in and to are codes, too."""
    from nmt.config.languages import OF_STRINGS, name_beside_language

    names = [[given] if isinstance(given, str) else given for given in (src, tgt)]
    return all(
        not (OF_STRINGS.search(one) and OF_STRINGS.search(other))
        or name_beside_language(one) == name_beside_language(other)
        for one, other in zip(*names, strict=False)
    )


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
    if device == "cpu" or (sys.platform == "linux" and not any(map(os.path.exists, GPU_FILES))):
        return False
    import torch  # slow and large

    return torch.cuda.is_available()
