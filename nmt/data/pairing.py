"""Reports which source file is read with which target file, and whether their names agree."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

from nmt.config.file_names import unpacked_name
from nmt.config.languages import language_of
from nmt.errors import DataError

SHOWN = 10  # pairs of files named in the report, at most
REMEDY = "give both sides as lists in the same order, or give the files of a pair the same name but for the language"

FilePair = tuple[Path, Path]


def natural_order(name: str) -> tuple[list[str | int], str]:
    """A key that sorts part.2 before part.10."""
    return [int(part) if part.isascii() and part.isdecimal() else part for part in re.split("([0-9]+)", name)], name


def described_pairs(pairs: Sequence[FilePair], split: str, always: bool = False) -> list[str]:
    """A line for each pair of files, and a caution if the names of a pair differ in more than the language.

    A single pair has a line only if `always`. Refuses pairs with different numbers in their names.
    """
    if len(pairs) < 2 and not always:
        return []
    names = [_apart(pair) for pair in pairs]
    differences = [_difference(pair) for pair in names]
    lines = [f"{split}: {src} is read with {tgt}" for src, tgt in names[:SHOWN]]
    if len(pairs) > SHOWN:
        lines.append(f"{split}: and {len(pairs) - SHOWN:,} more pairs of files")
    if len(pairs) > 1 and len(set(differences)) == 1:  # all names differ in the same words: the languages
        return lines
    for (src, tgt), pair in zip(names, pairs, strict=True):
        if _numbers(src) != _numbers(tgt) and len(_numbers(src)) == len(_numbers(tgt)):
            raise DataError(
                f"{pair[0]} would be read with {pair[1]}, data.{split}.src, .tgt: the numbers in their names differ; "
                f"{REMEDY}"
            )
    doubtful = [pair for pair, words in zip(names, differences, strict=True) if not _is_of_languages(words)]
    if doubtful:
        (src, tgt), more = doubtful[0], len(doubtful) - 1
        others = f", as do those of {more:,} other pair{'s' if more > 1 else ''}" if more else ""
        lines.append(
            f"caution: {split}: {src} is read with {tgt}, but their names differ in more than the language{others}; "
            f"{REMEDY}"
        )
    return lines


def _apart(pair: FilePair) -> tuple[str, str]:
    """Both paths, relative to their common folder."""
    folder = os.path.commonpath([path.absolute().parent for path in pair])
    src, tgt = (str(path.absolute().relative_to(folder)) for path in pair)
    return src, tgt


def _words(name: str) -> list[str]:
    """The words and numbers in a name, in lower case; numbers without leading zeros."""
    words = re.findall(r"[0-9]+|[^\W\d_]+", unpacked_name(name.lower()))
    return [str(int(word)) if word.isdecimal() else word for word in words]


def _numbers(name: str) -> list[str]:
    return [word for word in _words(name) if word.isdecimal()]


def _difference(names: tuple[str, str]) -> tuple[tuple[str, ...], ...]:
    """The words of each name that the other name lacks."""
    src, tgt = (Counter(_words(name)) for name in names)
    return tuple(sorted((src - tgt).elements())), tuple(sorted((tgt - src).elements()))


def _is_of_languages(words: tuple[tuple[str, ...], ...]) -> bool:
    """Is the difference only a language on each side, with or without a region or script?"""
    import langcodes  # takes 30 ms

    return all(
        not side
        or language_of(" ".join(side)) is not None
        or (len(side) <= 2 and any(langcodes.tag_is_valid("-".join(tag)) for tag in permutations(side)))
        for side in words
    )
