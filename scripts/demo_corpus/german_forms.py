"""German inflection: determiners, adjectives, nouns, pronouns and verbs."""

from __future__ import annotations

import re

from .lexicon import Noun, Verb, german_stem

CASES = ("nom", "acc", "dat", "gen")
STRONG = {  # endings of der-words and of adjectives after nothing, by gender ("p": plural) and case
    "m": dict(zip(CASES, ("er", "en", "em", "es"), strict=True)),
    "f": dict(zip(CASES, ("e", "e", "er", "er"), strict=True)),
    "n": dict(zip(CASES, ("es", "es", "em", "es"), strict=True)),
    "p": dict(zip(CASES, ("e", "e", "en", "er"), strict=True)),
}
THE = {
    "m": dict(zip(CASES, ("der", "den", "dem", "des"), strict=True)),
    "f": dict(zip(CASES, ("die", "die", "der", "der"), strict=True)),
    "n": dict(zip(CASES, ("das", "das", "dem", "des"), strict=True)),
    "p": dict(zip(CASES, ("die", "die", "den", "der"), strict=True)),
}
EIN_WORDS = {
    "a": "ein",
    "no": "kein",
    "my": "mein",
    "your": "Ihr",
    "his": "sein",
    "her": "ihr",
    "our": "unser",
    "their": "ihr",
}
DER_WORDS = {"this": "dies", "every": "jed", "all": "all", "which": "welch"}
STRONG_WORDS = {"some": "einig", "many": "viel", "several": "mehrer"}
PRONOUNS = {
    "I": ("ich", "mich", "mir"),
    "you": ("Sie", "Sie", "Ihnen"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "we": ("wir", "uns", "uns"),
    "they": ("sie", "sie", "ihnen"),
    "who": ("wer", "wen", "wem"),
    "what": ("was", "was", "was"),
}
SEIN = {"i": "bin", "one": "ist", "many": "sind"}
HABEN = {"i": "habe", "one": "hat", "many": "haben"}
WERDEN = {"i": "werde", "one": "wird", "many": "werden"}
MODALS = {  # infinitive, present singular, past singular
    "can": ("können", "kann", "konnte"),
    "must": ("müssen", "muss", "musste"),
    "should": ("sollen", "sollte", "sollte"),
    "want to": ("wollen", "will", "wollte"),
    "be allowed to": ("dürfen", "darf", "durfte"),
}

PREPOSITIONS = {
    "in": ("in", "dat"),
    "on": ("auf", "dat"),
    "under": ("unter", "dat"),
    "behind": ("hinter", "dat"),
    "next to": ("neben", "dat"),
    "in front of": ("vor", "dat"),
    "with": ("mit", "dat"),
    "for": ("für", "acc"),
    "by": ("von", "dat"),
    "because of": ("wegen", "gen"),
    "despite": ("trotz", "gen"),
    "during": ("während", "gen"),
    "after": ("nach", "dat"),
    "before": ("vor", "dat"),
}
CONTRACTIONS = {("in", "dem"): "im", ("von", "dem"): "vom", ("zu", "dem"): "zum", ("zu", "der"): "zur"}
CONJUNCTIONS = {
    "because": "weil",
    "although": "obwohl",
    "if": "wenn",
    "while": "während",
    "before": "bevor",
    "after": "nachdem",
    "until": "bis",
    "as soon as": "sobald",
    "so that": "damit",
    "and": "und",
    "but": "aber",
    "or": "oder",
}
QUESTIONS = {"where": "wo", "when": "wann", "why": "warum", "how": "wie", "that": "dass", "whether": "ob"}


def determiner(det: str, gender: str, case: str) -> str:
    if det == "the":
        return THE[gender][case]
    if det in DER_WORDS:
        return DER_WORDS[det] + STRONG[gender][case]
    if det in STRONG_WORDS:
        return STRONG_WORDS[det] + STRONG[gender][case]
    if det == "how many":
        return "wie viele" if case != "dat" else "wie vielen"
    stem = EIN_WORDS[det]
    if bare_ein(gender, case):
        return stem
    return stem + STRONG[gender][case]


def bare_ein(gender: str, case: str) -> bool:
    """ein-words have no ending here, so that the adjective shows the gender."""
    return (gender == "m" and case == "nom") or (gender == "n" and case in ("nom", "acc"))


def adjective_stem(word: str) -> str:
    if word.endswith("el"):
        return word[:-2] + "l"
    if word.endswith(("euer", "auer")):
        return word[:-2] + "r"
    return word[:-1] if word.endswith("e") else word


def adjective(word: str, det: str, gender: str, case: str) -> str:
    """The inflected adjective: strong, weak or mixed as the determiner asks."""
    weak = det == "the" or det in DER_WORDS or (det in EIN_WORDS and not bare_ein(gender, case))
    stem = adjective_stem(word)
    if weak:
        short = (case == "nom" and gender != "p") or (case == "acc" and gender in "fn")
        return stem + ("e" if short else "en")
    if case == "gen" and gender in "mn":
        return stem + "en"
    return stem + STRONG[gender][case]


def noun(word: Noun, plural: bool, case: str) -> str:
    if plural:
        assert word.plural_de
        return word.plural_de + ("n" if case == "dat" and word.plural_de[-1] not in "ns" else "")
    if word.weak and case != "nom":
        assert word.plural_de
        return word.plural_de
    if case == "gen" and word.gender != "f":
        return word.de + "s" if (word.plural_de or "").endswith("s") else genitive(word.de)
    return word.de


def genitive(word: str) -> str:
    if word.endswith("nis"):
        return word + "ses"
    if word.endswith("us"):
        return word + ("ses" if word in ("Bus", "Omnibus") else "")
    syllables = len(re.findall("[aeiouyäöü]+", word.lower()))
    sibilant = word.endswith(("s", "ß", "x", "z", "sch"))
    return word + ("es" if sibilant or (syllables == 1 and word[-1] not in "aeiouyäöühwr") else "s")


def present(verb: Verb, person: str) -> str:
    if verb.infinitive == "sein":
        return SEIN[person]
    if person == "one":
        return verb.er_form
    if person == "many":
        return verb.infinitive
    stem = german_stem(verb.infinitive)
    return (stem[:-2] + "l" if stem.endswith("el") else stem) + "e"


def past(word: str, person: str) -> str:
    if person != "many":
        return word
    return word + ("n" if word.endswith("e") else "en")


def modal(name: str, was: bool, person: str) -> str:
    infinitive, now, then = MODALS[name]
    if was or name == "should":
        return past(then, person)
    return infinitive if person == "many" else now


def zu_infinitive(verb: Verb) -> str:
    return f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"
