"""Opens models for a command, and tells users how they translate."""

import secrets
import sys
from dataclasses import replace
from pathlib import Path

from nmt.config.sections import SearchConfig
from nmt.config.verbs import ModelCommand, TranslationCommand
from nmt.errors import ConfigError, counted
from nmt.machine.allocator import keep_freed_memory
from nmt.machine.home import expanded
from nmt.runs.folder import read_run
from nmt.runs.learned import say_caution_of
from nmt.translation.translator import Translator


def open_model(command: TranslationCommand, named: str | list[str] | None = None, key: str = "model") -> Translator:
    """The command's model, or the one `named` under another key; typed search settings replace the stored ones."""
    settings = prepared_settings(command, named, key)
    if settings.sample and command.shortlist is True:
        raise ConfigError(
            "shortlist=true and search.sample=true are both given; samples are drawn without a shortlist; leave one "
            "of them out"
        )
    folders = model_folders(named or command.model, key)
    translator = Translator.load(
        folders,
        settings,
        command.trust,
        command.device,
        command.precision,
        command.shortlist,
        command.long_lines,
        command.sentences,
        secrets.randbelow(2**32) if command.seed is None else command.seed,
        command.workers,
    )
    for folder in folders:
        say_caution_of(folder)
    return translator


def open_scorer(command: ModelCommand, named: str | None = None, key: str = "model") -> Translator:
    """Like `open_model`, for forced decoding, which is over the whole vocabulary."""
    settings = prepared_settings(command, named, key)
    folders = model_folders(named or command.model, key)
    return Translator.load(
        folders, settings, command.trust, command.device, command.precision, False, workers=command.workers
    )


def prepared_settings(command: ModelCommand, named: str | list[str] | None, key: str) -> SearchConfig:
    """The search settings of a model that is about to be loaded; also prepares the process for the model."""
    stored, _ = read_run(model_folders(named or command.model, key)[0])
    settings = replace(stored, search=command.changes.of(stored.search)).search
    keep_freed_memory()
    return settings


def model_folders(given: str | list[str], key: str) -> list[Path]:
    """The run folders named under `key`: one, or several whose models choose each token together."""
    names = [given] if isinstance(given, str) else given
    if not names:
        raise ConfigError(f"{key} is an empty list; name one or more run folders, {key}=[runs/a,runs/b]")
    return [expanded(name) for name in names]


def as_typed(given: str | list[str]) -> str:
    """One or several run folders, as the user typed them."""
    return given if isinstance(given, str) else f"[{','.join(given)}]"


def means(translator: Translator, settings: SearchConfig) -> str:
    """How translations are made, for people: precision, device, beam, …"""
    where = "GPU" if translator.device.type == "cuda" else counted(translator.workers.count, "worker")
    samples = f"{counted(settings.n_best, 'sample')} with seed={translator.seed}"
    how = samples if settings.sample else f"beam {settings.beam}"
    parts = [translator.precision, where, how]
    if translator.members > 1:
        parts.insert(0, f"{translator.members} models together")
    if translator.shortlist is not None and not settings.sample:
        pieces = translator.tokenizers.tgt.vocab_size
        parts.append(f"shortlist (about {translator.shortlist.candidates:,.0f} of {pieces:,} pieces)")
    if translator.at_once is not None and translator.at_once > 1:
        parts.append(f"up to {translator.at_once} sentences together")
    return ", ".join(parts)


def note_seed(translator: Translator) -> None:
    """If translations are sampled, prints the seed, so that the same ones can be drawn again."""
    if translator.settings.sample:
        print(f"samples are drawn with seed={translator.seed}", file=sys.stderr)
