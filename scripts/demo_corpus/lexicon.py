"""The lexicon: tables in `lexicon/*.txt`, read into one record per lexeme."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "lexicon"
VOWELS = "aeiou"


@dataclass(frozen=True, eq=False)
class Noun:
    """`weak`: the masculine n-declension. `plural_de` is None for mass nouns."""

    en: str
    en_plural: str
    gender: str
    weak: bool
    de: str
    plural_de: str | None
    zh: str
    measure: str
    kind: str


@dataclass(frozen=True, eq=False)
class Verb:
    """`prefix` is German's separable one; `complement` is what Chinese 把 needs ("关" + "上")."""

    base: str
    past: str
    participle: str
    particle: str
    prefix: str
    infinitive: str
    er_form: str
    past_de: str
    participle_de: str
    auxiliary: str
    preposition: str
    case: str
    zh: str
    complement: str
    state: bool
    frame: str
    kinds: tuple[str, ...]

    @property
    def en(self) -> str:
        return f"{self.base} {self.particle}".strip()

    @property
    def de(self) -> str:
        return f"{self.prefix}{self.infinitive} {self.preposition}".strip()


@dataclass(frozen=True, eq=False)
class Adjective:
    """`relational` ones (red, married) take 是…的 as a Chinese predicate and are not compared."""

    en: str
    en_comparative: str
    de: str
    de_comparative: str
    zh: str
    relational: bool
    kinds: str


@dataclass(frozen=True, eq=False)
class Phrase:
    """A name, adverb or time expression that never inflects."""

    kind: str
    en: str
    de: str
    zh: str


Lexeme = Noun | Verb | Adjective | Phrase


def add_s(word: str) -> str:
    """English third person and plural ending."""
    if word.endswith(("s", "x", "ch", "sh")) or word in ("go", "do"):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def doubles(word: str) -> bool:
    """True where the last consonant is doubled before -ed and -ing."""
    return bool(re.fullmatch(r"(?:qu|[^aeiou])*[aeiou][bdgklmnprt]", word)) or word in (
        "begin",
        "forget",
        "admit",
        "prefer",
        "travel",
        "cancel",
        "kidnap",
    )


def regular_past(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ied"
    return word + (word[-1] if doubles(word) else "") + "ed"


def present_participle(word: str) -> str:
    if word == "die":
        return "dying"
    if word.endswith("e") and word[-2] not in "eo":
        return word[:-1] + "ing"
    return word + (word[-1] if doubles(word) else "") + "ing"


def german_stem(infinitive: str) -> str:
    return infinitive[:-1] if infinitive.endswith(("eln", "ern")) else infinitive[:-2]


def weak_forms(infinitive: str) -> tuple[str, str, str]:
    """er-form, past and participle of a regular German verb."""
    stem = german_stem(infinitive)
    if re.search(r"(?:d|t|(?:[^aeiouäöüylrhmn]|ch)[mn])$", stem):
        stem += "e"
    inseparable = re.match(r"be|ent|emp|er|ge|miss|ver|zer|über|unter|wider|durch", infinitive)
    bare = infinitive.endswith("ieren") or (inseparable and infinitive not in ("beten", "bellen"))
    return stem + "t", stem + "te", ("" if bare else "ge") + stem + "t"


def read(name: str) -> list[tuple[list[str], str]]:
    """The lines of a table, each with the words of its [section]."""
    section: list[str] = []
    rows = []
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]").split()
        elif line and not line.startswith("#"):
            rows.append((section, line))
    return rows


def read_nouns() -> list[Noun]:
    nouns = []
    for (kind, measure), line in read("nouns.txt"):
        english, gender, german, plural, chinese = line.split()
        en, _, en_plural = english.partition("/")
        de, _, weak = german.partition("+")
        zh, _, own_measure = chinese.partition(":")
        nouns.append(
            Noun(
                en,
                en_plural or add_s(en),
                "m" if gender == "w" else gender,
                bool(weak) or gender == "w",
                de,
                None if plural == "-" else plural,
                zh,
                own_measure or measure,
                kind,
            )
        )
    return nouns


def read_verb(frame: str, kinds: str, line: str) -> Verb:
    english, german, chinese = (part.split() for part in line.split(" | "))
    base, _, particle = english[0].partition("+")
    past, participle = english[1:] or (regular_past(base), regular_past(base))
    word, _, government = german[0].removeprefix("+").partition(":")
    preposition, _, case = government.partition(":")
    prefix, _, infinitive = word.rpartition("|")
    er_form, past_de, participle_de = german[1:] or weak_forms(infinitive)
    zh, _, complement = chinese[0].removesuffix("*").partition("/")
    return Verb(
        base,
        past,
        participle,
        particle,
        prefix,
        infinitive,
        er_form,
        past_de,
        prefix + participle_de,
        "sein" if german[0].startswith("+") else "haben",
        preposition,
        case or ("dat" if frame == "dat" else "acc"),
        zh,
        complement,
        chinese[0].endswith("*"),
        frame,
        tuple(kinds.split(",")),
    )


def read_adjectives() -> list[Adjective]:
    adjectives = []
    for (kinds,), line in read("adjectives.txt"):
        english, german, chinese = (part.split() for part in line.split(" | "))
        adjectives.append(
            Adjective(
                english[0],
                english[1] if len(english) > 1 else f"more {english[0]}",
                german[0],
                german[1] if len(german) > 1 else german[0] + ("r" if german[0].endswith("e") else "er"),
                chinese[0].removesuffix("!"),
                chinese[0].endswith("!"),
                kinds,
            )
        )
    return adjectives


def read_phrases() -> list[Phrase]:
    return [Phrase(kind, *line.split(" | ")) for (kind,), line in read("others.txt")]


NOUNS = read_nouns()
VERBS = [read_verb(frame, kinds, line) for (frame, kinds), line in read("verbs.txt")]
ADJECTIVES = read_adjectives()
PHRASES = read_phrases()
PREFIXED = {phrase.en: phrase for phrase in PHRASES}


def homographs() -> list[str]:
    """English word forms that belong to two lexemes (there must be none)."""
    owner: dict[str, str] = {}
    clashes = []
    lexemes: list[Lexeme] = [*NOUNS, *VERBS, *ADJECTIVES, *PHRASES]
    for lexeme in lexemes:
        for form in sorted(english_forms(lexeme)):
            if owner.setdefault(form, repr(lexeme)) != repr(lexeme):
                clashes.append(form)
    return clashes


def english_forms(lexeme: Lexeme) -> set[str]:
    match lexeme:
        case Noun():
            return {lexeme.en, lexeme.en_plural} if lexeme.plural_de else {lexeme.en}
        case Verb():
            forms = {lexeme.base, add_s(lexeme.base), lexeme.past, lexeme.participle}
            forms.add(present_participle(lexeme.base))
            return {f"{form} {lexeme.particle}".strip() for form in forms}
        case Adjective():
            return {lexeme.en, lexeme.en_comparative}
        case Phrase():
            return {lexeme.en}


BE = read_verb("be", "thing", "be was been | +sein ist war gewesen | 是*")
THERE = read_verb("there", "thing", "be was been | geben gibt gab gegeben | 有*")
HAVE = read_verb("acc", "thing", "have had had | haben hat hatte gehabt | 有*")
COST = read_verb("acc", "thing", "cost cost cost | kosten | 花费*")
