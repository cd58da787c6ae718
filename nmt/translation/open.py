"""Opens the models of a run for a command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.config.check import read_section
from nmt.config.limits import check_search
from nmt.config.plain import overlay
from nmt.config.sections import SearchConfig
from nmt.errors import ConfigError
from nmt.machine.allocator import keep_freed_memory
from nmt.runs.folder import read_run
from nmt.runs.shortlist_file import Use
from nmt.translation.long_lines import LongLines
from nmt.translation.translator import Translator


def open_model(config: Mapping[str, Any], typed: Mapping[str, Any], key: str = "model") -> Translator:
    """The model named under `key`, with the search settings that were typed in place of the stored ones."""
    return _open(config, typed, key, config["shortlist"], config["long_lines"])


def open_scorer(config: Mapping[str, Any], typed: Mapping[str, Any], key: str = "model") -> Translator:
    """The same for forced decoding, which is over the whole vocabulary."""
    return _open(config, typed, key, False, "split")


def _open(
    config: Mapping[str, Any], typed: Mapping[str, Any], key: str, shortlist: Use, long_lines: LongLines
) -> Translator:
    if config["threads"] is not None:
        if config["threads"] < 1:
            raise ConfigError(f"threads={config['threads']} is not possible; give 1 or more, or null")
        torch.set_num_threads(config["threads"])
    folders = model_folders(config[key], key)
    stored, _ = read_run(folders[0])
    settings = read_section(SearchConfig, overlay(stored, typed, ["search"])["search"], "search")
    check_search(settings)
    if settings.sample and shortlist is True:
        raise ConfigError(
            "shortlist=true and search.sample=true are both given; samples are drawn without, leave one out"
        )
    keep_freed_memory()
    return Translator.load(
        folders, settings, config["trust"], config["device"], config["precision"], shortlist, long_lines
    )


def model_folders(given: str | list[str], key: str) -> list[Path]:
    """The run folders named under `key`: one, or several whose models choose each token together."""
    names = [given] if isinstance(given, str) else given
    if not names:
        raise ConfigError(f"{key} is an empty list; name one or more run folders, {key}=[runs/a,runs/b]")
    return [Path(name).expanduser() for name in names]


def as_typed(given: str | list[str]) -> str:
    """One run folder, or several, as they were named."""
    return given if isinstance(given, str) else f"[{','.join(given)}]"


def means(translator: Translator, settings: SearchConfig) -> str:
    """What a translation is made with, for people."""
    where = "GPU" if translator.device.type == "cuda" else counted(torch.get_num_threads(), "thread")
    how = counted(settings.n_best, "sample") if settings.sample else f"beam {settings.beam}"
    parts = [translator.precision, where, how]
    if translator.members > 1:
        parts.insert(0, f"{translator.members} models together")
    if translator.shortlist is not None and not settings.sample:
        pieces = translator.tokenizers.tgt.vocab_size
        parts.append(f"shortlist (about {translator.shortlist.candidates:,.0f} of {pieces:,} pieces)")
    return ", ".join(parts)


def counted(count: int, word: str) -> str:
    """ "1 thread", "2 threads"."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
