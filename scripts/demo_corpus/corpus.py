"""The corpora: sentences of many lengths, split, written out with their gold alignments, and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from . import chinese, english, german
from .lexicon import Lexeme
from .sentences import Sentences
from .tokens import align, characters, join, tidy
from .tree import Sentence

SPLITS = {"train": 12_000, "dev": 500, "test": 500}
SHORTEST, LONGEST = 3, 35
TRIES = 60
BANDS = {"short": (3, 9, 0.34), "middle": (10, 18, 0.38), "long": (19, 35, 0.28)}  # words, share
ZH_ENDS = {".": "。", "?": "？", "!": "！"}


@dataclass(frozen=True)
class Pair:
    """One sentence in the three languages; alignments are from English."""

    en: str
    de: str
    zh: str
    align_de: str
    align_zh: str
    types: tuple[str, ...]
    lexemes: tuple[Lexeme, ...]


def words(line: str) -> int:
    return len(line.split())


def realise(tree: Sentence, end: str, choices: Sentences) -> Pair:
    source = tidy(english.sentence(tree), end)
    target_de = tidy(german.sentence(tree), end)
    target_zh = characters(tidy(chinese.sentence(tree), ZH_ENDS[end]))
    return Pair(
        join(source),
        join(target_de),
        "".join(token.text for token in target_zh),
        align(source, target_de),
        align(source, target_zh),
        tuple(dict.fromkeys(choices.types)),
        tuple(choices.used),
    )


def wanted_length(choices: Sentences) -> tuple[int, str]:
    """A length in words and the kind of sentence that reaches it."""
    kind = choices.weighted({kind: share for kind, (_, _, share) in BANDS.items()})
    low, high, _ = BANDS[kind]
    position = choices.random()
    if kind == "long":
        position *= position
    return low + int(position * (high - low + 1)), kind


def draw(choices: Sentences) -> Pair:
    """A sentence near a random length: one word off in a short one, two in others, more after many tries."""
    target, kind = wanted_length(choices)
    for attempt in range(TRIES):
        tree, end = choices.sentence(kind)
        length = words(join(tidy(english.sentence(tree), end)))
        if abs(length - target) <= 1 + (kind != "short") + attempt // 20 and SHORTEST <= length <= LONGEST:
            return realise(tree, end, choices)
    return draw(choices)


@cache
def generate(seed: int, more: int = 0, lexicon: float = 1.0) -> dict[str, list[Pair]]:
    """The splits, and `more` pairs behind the training split's own; dev and test do not depend on them.

    `lexicon`: the share of the lexemes of each kind that is drawn from.

    No English sentence occurs twice, so none is in two splits.
    """
    choices = Sentences(seed, lexicon)
    seen: set[str] = set()
    pairs: list[Pair] = []
    while len(pairs) < sum(SPLITS.values()) + more:
        pair = draw(choices)
        if pair.en.lower() not in seen:
            seen.add(pair.en.lower())
            choices.keep()
            pairs.append(pair)
    splits = {}
    for name, size in SPLITS.items():
        splits[name], pairs = pairs[:size], pairs[size:]
    splits["train"] += pairs
    return splits


def files(splits: dict[str, list[Pair]]) -> dict[str, bytes]:
    """Path inside the data folder → content."""
    contents = {}
    columns: dict[str, Callable[[Pair], str]] = {
        "en": lambda pair: pair.en,
        "de": lambda pair: pair.de,
        "zh": lambda pair: pair.zh,
    }
    for target in ("de", "zh"):
        folder = f"demo_en_{target}"
        for split, pairs in splits.items():
            for language in ("en", target):
                contents[f"{folder}/{split}.{language}"] = lines([columns[language](pair) for pair in pairs])
        alignments = [pair.align_de if target == "de" else pair.align_zh for pair in splits["test"]]
        contents[f"{folder}/test.align"] = lines(alignments)
    return contents


def lines(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")
