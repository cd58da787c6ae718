"""The tree of a sentence: what all three languages say. Every node that a word can stand for has an `id`."""

from __future__ import annotations

from dataclasses import dataclass

from .lexicon import Adjective, Noun, Phrase, Verb


@dataclass(frozen=True)
class Word:
    """An uninflected lexeme at one place of the sentence."""

    id: int
    lex: Phrase


@dataclass(frozen=True)
class Modifier:
    id: int
    lex: Adjective
    degree: Word | None = None


@dataclass(frozen=True)
class NounPhrase:
    """`det`: a key of the determiner tables, "number", or "name" (the owner's name is the determiner)."""

    id: int
    noun: Noun
    plural: bool
    det: str
    det_id: int
    number: int = 0
    modifiers: tuple[Modifier, ...] = ()
    owner: NounPhrase | Named | None = None
    place: Adjunct | None = None
    relative: Clause | None = None


@dataclass(frozen=True)
class Named:
    id: int
    lex: Phrase


@dataclass(frozen=True)
class Pronoun:
    """`word` is the English subject form; "who" and "what" are questions."""

    id: int
    word: str


@dataclass(frozen=True)
class Group:
    """a, b and c."""

    id: int
    members: tuple[NounPhrase | Named, ...]


Nominal = NounPhrase | Named | Pronoun | Group


@dataclass(frozen=True)
class Adjunct:
    """A prepositional phrase; `preposition` is a key of the tables in each language."""

    id: int
    preposition: str
    object: Nominal


@dataclass(frozen=True)
class Clock:
    id: int
    hour: int
    minute: int


@dataclass(frozen=True)
class Day:
    """A weekday, a month, or a date (`day` > 0) in the month."""

    id: int
    lex: Phrase
    day: int = 0


Time = Word | Clock | Day | Adjunct


@dataclass(frozen=True)
class Predicate:
    """What follows "be": `kind` is adjective, comparative, equative, noun or measure (three metres long)."""

    kind: str
    modifier: Modifier | None = None
    standard: Nominal | None = None
    count_id: int = 0
    count: int = 0


@dataclass(frozen=True)
class Complement:
    """`kind`: that, whether, infinitive, purpose, or a question word (where, when, why, how)."""

    id: int
    kind: str
    clause: Clause


@dataclass(frozen=True)
class Clause:
    """`gap`: the part that a relative clause lacks, "subject" or "direct".

    `mood`: statement, question, imperative, or embedded (an indirect question).
    """

    verb_id: int
    verb: Verb
    tense: str
    subject: Nominal | None = None
    modal: str = ""
    modal_id: int = 0
    negation: int = 0
    passive: bool = False
    direct: Nominal | None = None
    indirect: Nominal | None = None
    adverb: Word | None = None
    opener: Word | None = None
    times: tuple[Time, ...] = ()
    place: Adjunct | None = None
    companion: Adjunct | None = None
    target: Adjunct | None = None
    predicate: Predicate | None = None
    complement: Complement | None = None
    mood: str = "statement"
    question: str = ""
    question_id: int = 0
    gap: str = ""
    front: str = ""


@dataclass(frozen=True)
class Complex:
    """A main clause and a subordinate one; `first`: the subordinate clause opens the sentence."""

    id: int
    conjunction: str
    main: Clause
    subordinate: Clause
    first: bool


@dataclass(frozen=True)
class Joined:
    """Main clauses joined by and, but, or."""

    id: int
    conjunction: str
    parts: tuple[Clause | Complex, ...]


Sentence = Clause | Complex | Joined


def person_of(subject: Nominal | None) -> str:
    """Agreement: "i" (first person singular), "one" (third singular), "many" (all else, polite "you" too)."""
    match subject:
        case Pronoun(word=word):
            return {"I": "i", "he": "one", "she": "one", "who": "one", "what": "one", "it": "one"}.get(word, "many")
        case NounPhrase(plural=plural):
            return "many" if plural else "one"
        case Group():
            return "many"
        case _:
            return "one"


def last_heavy(nominal: Nominal | None) -> bool:
    """True if the phrase ends with a relative clause."""
    if isinstance(nominal, Group):
        return last_heavy(nominal.members[-1])
    return isinstance(nominal, NounPhrase) and nominal.relative is not None
