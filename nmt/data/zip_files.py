"""Zips of parallel text, as from OPUS: two files with names that differ only in the language."""

import re
from pathlib import Path, PurePosixPath

from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.packed import shown_names, zipped_names
from nmt.data.pairing import natural_order
from nmt.errors import ConfigError, DataError, printable

Entries = tuple[str, str]  # names of the source and target in a zip


def find_entries(path: Path, data: DataConfig) -> tuple[list[Entries], list[str]]:
    """The pairs of files in the zip whose names differ only in the language, and the names of all other files.

    Such as books.en-de.en and books.en-de.de, or en/a.txt and de/a.txt. Refuses a zip without such a pair, and a file
    that is not a zip.
    """
    if data.src_lang is None or data.tgt_lang is None:
        key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
        raise ConfigError(
            f"{key} is null, data.format=moses_zip; set the languages by which files in the zip are named"
        )
    wanted = WantedLanguage(data.src_lang), WantedLanguage(data.tgt_lang)
    names = zipped_names(path)
    sides: list[dict[str, str]] = [{}, {}]  # name without language -> name
    for name in names:
        for side, language in zip(sides, wanted, strict=True):
            start = _without(language, name)
            if start in side:
                raise DataError(
                    f"{path} has {printable(side[start])} and {printable(name)}, both {language.name}; unpack it, "
                    "and name the files in it"
                )
            if start is not None:
                side[start] = name
    both = sorted(sides[0].keys() & sides[1].keys(), key=natural_order)
    if not both:
        raise DataError(
            f"{path} has no two files whose names differ only in {data.src_lang} and {data.tgt_lang}: it has "
            f"{shown_names(names)}; unpack it, and name the files in it, or set data.src_lang and data.tgt_lang"
        )
    pairs = [(sides[0][start], sides[1][start]) for start in both]
    return pairs, [name for name in names if not any(name in pair for pair in pairs)]


def _short(pair: Entries) -> Entries:
    """The names without folders where these are different, too."""
    src, tgt = (PurePosixPath(name).name for name in pair)
    return pair if src == tgt else (src, tgt)


def _without(language: WantedLanguage, name: str) -> str | None:
    """The name with a mark in place of its last part, or folder, that is the language; None if no part is."""
    parts = re.split(r"([./])", name)
    for at in range(len(parts) - 1, -1, -2):
        if language.fit(parts[at]):
            return "".join([*parts[:at], "*", *parts[at + 1 :]])
    return None


def described(entries: list[Entries], others: list[str]) -> str:
    """Names the first pairs of files, and what is not read, for the report."""
    pairs = [" with ".join(map(printable, _short(pair))) for pair in entries[:3]]
    more = f" and {len(entries) - 3:,} more pairs of files" if len(entries) > 3 else ""
    return f"{', '.join(pairs)}{more}{f'; not read: {shown_names(others)}' if others else ''}"
