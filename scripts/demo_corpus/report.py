"""Describes a corpus: lexemes, clause types, lengths, how far the test set is from the training set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .corpus import Pair, words
from .lexicon import PHRASES, Lexeme, Phrase, Verb
from .numerals import EN_ORDINALS, EN_SMALL, EN_TENS
from .tokens import tokenise

NUMBER_WORDS = {*EN_SMALL, *EN_TENS, *EN_ORDINALS.values(), "hundred", "thousand"}
NAMES = {p.en for p in PHRASES if p.kind in ("male", "female", "city", "country")}


def lexeme_key(lexeme: Lexeme, language: str) -> tuple[str, str]:
    """What makes a lexeme one: its class and its dictionary form in the language."""
    form = getattr(lexeme, language)
    if isinstance(lexeme, Verb) and language == "zh":
        form += lexeme.complement
    return (lexeme.kind if isinstance(lexeme, Phrase) else type(lexeme).__name__), form


def lexeme_counts(pairs: Iterable[Pair], language: str) -> Counter[tuple[str, str]]:
    """How many sentences each lexeme of the lexicon occurs in (no function words, no numerals)."""
    return Counter(key for pair in pairs for key in {lexeme_key(lexeme, language) for lexeme in pair.lexemes})


def type_counts(pairs: Iterable[Pair]) -> Counter[str]:
    return Counter(name for pair in pairs for name in pair.types)


def is_number(token: str) -> bool:
    parts = token.lower().split("-")
    return all(p in NUMBER_WORDS or (p.endswith("th") and p[:-2] in NUMBER_WORDS) for p in parts)


def masked(line: str) -> tuple[str, ...]:
    """The tokens with names and numbers masked; a number of several words is one mask."""
    kept: list[str] = []
    for index, token in enumerate(tokenise(line, "en")):
        name = token.removesuffix("'s")
        if name in NAMES:
            token = "<name>" + token[len(name) :]
        elif is_number(token) or (token == "and" and kept and kept[-1] == "<number>" and next_is_number(line, index)):
            token = "<number>"
        if token != "<number>" or not kept or kept[-1] != token:
            kept.append(token if token.startswith("<") else token.lower())
    return tuple(kept)


def next_is_number(line: str, index: int) -> bool:
    tokens = tokenise(line, "en")
    return index + 1 < len(tokens) and is_number(tokens[index + 1])


def neighbourhood(tokens: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The tokens, and all that remain with one of them deleted or made a blank.

    Two sentences are at most one edit apart if one is a deletion of the other, or if both leave the same
    with a blank at the same place.
    """
    near = {tokens}
    for index in range(len(tokens)):
        near.add(tokens[:index] + tokens[index + 1 :])
        near.add((*tokens[:index], "", *tokens[index + 1 :]))
    return near


def far_share(train: list[str], test: list[str]) -> float:
    """The share of test sentences two words or more from every training sentence, when both are masked."""
    whole = {masked(line) for line in train}
    blanked = {variant for tokens in whole for variant in neighbourhood(tokens)}
    far = 0
    for line in test:
        tokens = masked(line)
        variants = neighbourhood(tokens)
        substituted = any("" in v and v in blanked for v in variants)
        deleted = any(v in whole for v in variants) or tokens in blanked
        far += not (substituted or deleted)
    return far / len(test)


def describe(splits: dict[str, list[Pair]]) -> str:
    train, test = splits["train"], splits["test"]
    everything = [pair for pairs in splits.values() for pair in pairs]
    lengths = sorted(words(pair.en) for pair in everything)
    report = [f"{name}: {len(pairs)} pairs" for name, pairs in splits.items()]
    for language in ("en", "de", "zh"):
        report.append(f"lexemes {language}: {len(lexeme_counts(everything, language))}")
    seen = lexeme_counts(train, "en")
    rare = sorted((seen[key], key) for key in lexeme_counts([*splits["dev"], *test], "en"))
    report.append(f"rarest lexemes of dev and test, by training sentences: {rare[:5]}")
    quartiles = [lengths[len(lengths) * q // 4] for q in (1, 2, 3)]
    mean = sum(lengths) / len(lengths)
    report.append(f"words: {lengths[0]} to {lengths[-1]}, mean {mean:.1f}, quartiles {quartiles}")
    types = type_counts(everything)
    report.append(f"clause types: {len(types)}: " + ", ".join(f"{n} {c}" for n, c in types.most_common()))
    far = far_share([pair.en for pair in train], [pair.en for pair in test])
    report.append(f"test sentences two words or more from every training sentence: {far:.1%}")
    return "\n".join(report)
