"""Random choices that are the same on every Python version, and lexemes drawn almost evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from random import Random
from typing import TypeVar

from .lexicon import ADJECTIVES, NOUNS, PHRASES, VERBS, Adjective, Lexeme, Noun, Phrase, Verb

T = TypeVar("T")
L = TypeVar("L", Noun, Verb, Adjective, Phrase)
CANDIDATES = 5
FEWEST = 4  # lexemes of a kind

NOUN_POOLS: dict[str, list[Noun]] = {}
for _noun in NOUNS:
    NOUN_POOLS.setdefault(_noun.kind, []).append(_noun)
PHRASE_POOLS: dict[str, list[Phrase]] = {}
for _phrase in PHRASES:
    PHRASE_POOLS.setdefault(_phrase.kind, []).append(_phrase)
VERB_POOLS: dict[str, list[Verb]] = {}
for _verb in VERBS:
    VERB_POOLS.setdefault(_verb.frame, []).append(_verb)
ADJECTIVE_POOLS = {code: [a for a in ADJECTIVES if code in a.kinds] for code in "patfdclx"}


class Chooser:
    """Draws for one sentence at a time: `begin`, choices, then `keep` if the sentence is wanted.

    Only `Random.random` is used, whose sequence Python promises to keep.
    """

    def __init__(self, seed: int, lexicon: float) -> None:
        """`lexicon`: the share of the lexemes of each kind that is drawn from."""
        self.random = Random(seed).random
        self.lexicon = lexicon
        self.counts: Counter[Lexeme] = Counter()
        self.begin()

    def begin(self) -> None:
        self.used: list[Lexeme] = []
        self.types: list[str] = []
        self.ids = 0

    def keep(self) -> None:
        self.counts.update(self.used)

    def new(self) -> int:
        self.ids += 1
        return self.ids

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighted(self, options: dict[str, float]) -> str:
        point = self.random() * sum(options.values())
        for name, weight in options.items():
            point -= weight
            if point < 0:
                return name
        return name

    def lexeme(self, pool: Sequence[L]) -> L:
        """The least used of a few random members that the sentence does not contain yet."""
        pool = pool[: max(FEWEST, ceil(self.lexicon * len(pool)))]
        candidates = [self.one_of(pool) for _ in range(CANDIDATES)]
        fresh = [c for c in candidates if c not in self.used] or candidates
        chosen = min(fresh, key=lambda lexeme: self.counts[lexeme])
        self.used.append(chosen)
        return chosen

    def phrase(self, kind: str) -> Phrase:
        return self.lexeme(PHRASE_POOLS[kind])

    def mark(self, *types: str) -> None:
        """Note the clause types that the sentence shows."""
        self.types += types
