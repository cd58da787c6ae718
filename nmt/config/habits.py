"""Remedies for words from other programs: the key, the file or the option that the user means."""

import os
import re
import shlex
from collections.abc import Sequence

from nmt.config.keys import hints_of
from nmt.config.verbs import COMMANDS
from nmt.errors import closest, nearest

CALLED = {  # last word of a key in other programs -> in nmt
    "batch_size": "batch_tokens",
    "beam_size": "beam",
    "num_beams": "beam",
    "cuda": "device",
    "gpu": "device",
    "gpus": "device",
    "learning_rate": "lr",
    "max_epoch": "max_epochs",
    "num_epochs": "max_epochs",
    "num_train_epochs": "max_epochs",
    "max_steps": "max_updates",
    "steps": "max_updates",
    "train_steps": "max_updates",
    "early_stopping": "patience",
    "num_layers": "layers",
    "num_workers": "workers",
    "threads": "workers",
    "file": "input",
    "source": "input",
    "src": "input",
    "text": "input",
}
TEXTS = {  # verb -> the key, or the keys, that name its text files
    "translate": ("input",),
    "visualise": ("input",),
    "evaluate": ("src", "ref"),
    "align": ("src", "tgt"),
    "prepare": ("data.train.src", "data.train.tgt"),
    "train": ("data.train.src", "data.train.tgt"),
    "compare": ("data.train.src", "data.train.tgt"),
    "tune": ("data.train.src", "data.train.tgt"),
    "clean": ("data.train.src", "data.train.tgt"),
}


def key_meant(key: str, keys: Sequence[str], siblings: Sequence[str]) -> str:
    """A remedy for a key that does not exist; `keys` are all that do, `siblings` the ones in the same section."""
    close = closest(key, siblings)
    found = ending(key, keys) or ([close] if close else similar(key, keys))
    return f"did you mean '{found[0]}'?" if len(found) == 1 else nearest(key, found or siblings)


def option_meant(option: str, words: Sequence[str], keys: Sequence[str]) -> str | None:
    """A remedy for an unknown option that resembles one of the `keys`, typed with dashes; None if it does not."""
    name, equals, value = option.lstrip("-").partition("=")
    key = name.replace("-", "_")
    found = ending(key, keys) or similar(key, keys)
    after = words[words.index(option) + 1 :] if option in words and not equals else []
    if after and not after[0].startswith("-") and "=" not in after[0]:
        value = after[0]
    typed = " or ".join(f"{each}={value or 'VALUE'}" for each in found)
    return f"keys have no dashes: {typed}" if found else None


def ending(key: str, keys: Sequence[str]) -> list[str]:
    """The key itself, or every key with the same last word; of the keys for files, only the training split's."""
    last = key.rpartition(".")[2]
    found = [key] if key in keys else [each for each in keys if each.rpartition(".")[2] == last]
    return [f"data.train.{last}"] if f"data.train.{last}" in found else found


def similar(key: str, keys: Sequence[str]) -> list[str]:
    """Keys whose last word is nmt's name (CALLED) for the last word of `key`; else keys that contain that word."""
    last = key.rpartition(".")[2]
    named = [each for each in keys if each.rpartition(".")[2] == CALLED.get(last)]
    return named or [each for each in keys if last in each.rpartition(".")[2].split("_")]


def files_meant(verb: str, words: Sequence[str]) -> str | None:
    """A remedy for names of files, or of a run folder, typed without a key; None for other words."""
    runs = all(os.path.isfile(os.path.join(word, "manifest.json")) for word in words)
    if runs and verb == "average":
        return f"type model=[{','.join(words)}]"
    if runs and len(words) == 1:
        if verb == "train":
            return f"type resume={words[0]} to go on with the run, init_from={words[0]} to start from its weights"
        return f"type model={words[0]}" if "model" in hints_of(COMMANDS[verb]) else None
    keys = TEXTS.get(verb, ())
    if not keys or not all(map(os.path.isfile, words)):
        return None
    if len(keys) == 1:
        typed = [f"{keys[0]}={words[0] if len(words) == 1 else '[' + ','.join(words) + ']'}"]
    else:
        named = [*words, "FILE"][: len(keys)] if len(words) <= len(keys) else ["FILE"] * len(keys)
        typed = [f"{key}={name}" for key, name in zip(keys, named, strict=True)]
    return "type " + " ".join(map(quoted, typed))


def quoted(word: str) -> str:
    """The word, quoted for a shell; brackets alone need no quotes in most shells."""
    return shlex.quote(word) if re.search(r"[^\w\[\],./=@%:+-]", word) else word
