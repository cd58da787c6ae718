"""English auxiliaries and articles."""

from __future__ import annotations

HAVE = {"i": "have", "one": "has", "many": "have"}
BE_NOW = {"i": "am", "one": "is", "many": "are"}
BE_THEN = {"i": "was", "one": "was", "many": "were"}
MODALS = {
    ("can", False): "can",
    ("can", True): "could",
    ("must", False): "must",
    ("must", True): "had to",
    ("should", False): "should",
}
SILENT_H = ("hour", "honest", "heir")
CONSONANT_VOWELS = ("uni", "use", "Euro")


def article(following: str) -> str:
    vowel = following[0] in "aeiouAEIO" and not following.startswith(CONSONANT_VOWELS)
    return "an" if vowel or following.startswith((*SILENT_H, "unus", "unim", "unin")) else "a"


def finite(word: str, past: bool, person: str) -> str:
    if word == "be":
        return (BE_THEN if past else BE_NOW)[person]
    if word == "have":
        return "had" if past else HAVE[person]
    if (word, past) in MODALS:
        return MODALS[word, past]
    if word == "do":
        return "did" if past else ("does" if person == "one" else "do")
    return {"want to": ("wants to" if person == "one" else "want to", "wanted to")}[word][past]
