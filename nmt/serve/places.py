"""Where the words that a model reads or writes are in the text as it was typed."""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

LONGEST = 2000  # characters whose differences are looked for; longer texts must have the words as they are

Place = tuple[int, int]


def word_places(words: Sequence[str], text: str, start: int = 0) -> list[Place | None]:
    """Start and end of each word in the text, counted from `start`; None where it cannot be told.

    Cleaning changes letters (case, typographic signs, ligatures): letters that differ lie between those that do not.
    """
    typed = [(letter, place) for place, char in enumerate(text) for letter in _plain(char)]
    read = [(letter, number) for number, word in enumerate(words) for letter in _plain(word)]
    places: list[list[int]] = [[] for _ in words]
    for of_text, of_words in _matches("".join(letter for letter, _ in typed), "".join(letter for letter, _ in read)):
        places[read[of_words][1]].append(typed[of_text][1])
    return [(start + min(own), start + max(own) + 1) if own else None for own in places]


def _plain(text: str) -> str:
    """Its letters without case and width, and without white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _matches(typed: str, read: str) -> list[tuple[int, int]]:
    """Places of letters that belong together."""
    if typed == read:
        return [(place, place) for place in range(len(typed))]
    if max(len(typed), len(read)) > LONGEST:
        return []
    found = []
    for kind, begin, end, first, last in SequenceMatcher(None, typed, read, autojunk=False).get_opcodes():
        if kind == "equal":
            found += list(zip(range(begin, end), range(first, last), strict=True))
        elif kind == "replace":  # spread over what is there
            found += [(begin + k * (end - begin) // (last - first), first + k) for k in range(last - first)]
    return found
