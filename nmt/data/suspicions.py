"""Signs that a split is not the translations that it is taken for: copies, swapped sides, another language."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import langcodes

from nmt.config.languages import language_name
from nmt.config.sections import DataConfig
from nmt.data.filters import letter_length, letters
from nmt.data.language_filter import identifier
from nmt.data.tables import spread

VERSION = 2  # of these rules; raise it whenever they change
LOOKED_AT = 1000  # pairs from all over the split
NO_NAME = 10  # letters of the shortest line that is more than a name, if it is the same on both sides
MANY_COPIES = 0.05  # share of the longer targets that may be the same as their source, such as titles
SENTENCE = 25  # letters of a line whose language can be told
READ = 1000  # characters of a line that are looked at
FEWEST = 50  # lines that are long enough to judge by
UNLIKELY = 0.01  # times the probability of the likeliest language: the line is not in this one
# Of 153 corpora, one has so many: Kazakh that is partly in Latin letters (scripts/bench cautions).
MANY_OTHERS = 0.3  # share of the lines in one other language
RELATED = 40  # CLDR's distance from which on languages are not taken for each other: Bosnian and Croatian have 8


def suspicions(name: str, table: Path, data: DataConfig) -> Iterator[str]:
    """Cautions about the pairs in the table of a split."""
    sides: tuple[list[str], list[str]] = [], []
    rows: list[int] = []
    for batch in spread(table, LOOKED_AT):
        for side, column in zip(sides, ("src", "tgt"), strict=True):
            side += [text[:READ] for text in batch[column].to_pylist()]
        rows += batch["index"].to_pylist()
    if not share_sentences(data.src_lang, data.tgt_lang):
        remedy = " (data.filters.identical=true drops exact copies)" if name == "train" else ""
        yield from (f"{line}{remedy}" for line in of_copies(name, rows, *sides))
    yield from of_languages(name, sides, (data.src_lang, data.tgt_lang))


def of_copies(name: str, rows: Sequence[int], sources: Sequence[str], targets: Sequence[str]) -> Iterator[str]:
    """Says if many targets repeat their source; `rows` are the numbers of the pairs, from 0."""
    told, copies = copied(sources, targets)
    if told >= FEWEST and len(copies) > MANY_COPIES * told:
        yield (
            f"caution: {len(copies) / told:.0%} of the longer targets of {name} repeat their source, first in pair "
            f"{rows[copies[0]] + 1:,}: are they translated?"
        )


def share_sentences(src_lang: str | None, tgt_lang: str | None) -> bool:
    """Is a sentence often the same in both languages, as in British and American English, Bosnian and Croatian?"""
    if src_lang is None or tgt_lang is None:
        return False
    return langcodes.tag_distance(base(src_lang), base(tgt_lang)) < RELATED


def copied(sources: Sequence[str], targets: Sequence[str]) -> tuple[int, list[int]]:
    """The number of targets that are more than a name, and the indices of those with the letters of their source."""
    found = [[letters(line.casefold()) for line in side] for side in (sources, targets)]
    same = {line: src == tgt for line, (src, tgt) in enumerate(zip(*found, strict=True)) if len(tgt) >= NO_NAME}
    return len(same), [line for line, is_same in same.items() if is_same]


def of_languages(
    name: str, sides: tuple[Sequence[str], Sequence[str]], codes: tuple[str | None, str | None]
) -> Iterator[str]:
    """Says if the lines of a side are in another language than its own, or if the sides are swapped."""
    own = tuple(None if code is None else base(code) for code in codes)
    src, tgt = (None if code is None else other_language(side, code) for side, code in zip(sides, codes, strict=True))
    if src is not None and tgt is not None and (tgt[0], src[0]) == own:
        yield (
            f"caution: the sides of {name} look swapped in {max(src[1], tgt[1]):.0%} of the pairs: sources in "
            f"{language_name(src[0])}, targets in {language_name(tgt[0])}; exchange the files, or data.src_lang and "
            "data.tgt_lang"
        )
        return
    for found, key, code, of_other_side in ((src, "src", codes[0], own[1]), (tgt, "tgt", codes[1], own[0])):
        if found is not None and code is not None:
            side = "source" if key == "src" else "target"
            remedy = (
                "are the sides swapped?" if found[0] == of_other_side else "check the files, or name their language"
            )
            yield (
                f"caution: {found[1]:.0%} of the {side} lines of {name} look {language_name(found[0])}, not "
                f"{language_name(code)} (data.{key}_lang={code}); {remedy}"
            )


def other_language(lines: Sequence[str], code: str) -> tuple[str, float] | None:
    """Another language that many of the lines are in, and their share; None: no such language is found.

    The identifier knows each language in its usual script, so it is not asked about a code with a script (sr-Latn).
    """
    language = langcodes.Language.get(code)
    own = str(language.language)
    sentences = [line for line in lines if letter_length(letters(line)) >= SENTENCE]
    if own not in identifier().labels or language.script is not None or len(sentences) < FEWEST:
        return None
    others: Counter[str] = Counter()
    for line in sentences:
        ranked = identifier().rank(line)  # likeliest first
        likeliest, probability = ranked[0]
        if dict(ranked)[own] < UNLIKELY * probability and langcodes.tag_distance(own, likeliest) >= RELATED:
            others[likeliest] += 1
    if not others:
        return None
    other, count = others.most_common(1)[0]
    share = count / len(sentences)
    return (other, share) if share > MANY_OTHERS else None


def base(code: str) -> str:
    """The language of a code, without script and region."""
    return str(langcodes.Language.get(code).language)
