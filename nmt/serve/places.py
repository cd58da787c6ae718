"""Finds the words that a model reads or writes in the text that people see."""

import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import Indel

LONGEST = 2000  # characters; in a longer text, words are found only if all letters are the same

Place = tuple[int, int]


def word_places(words: Sequence[str], text: str, start: int = 0) -> list[Place | None]:
    """Start and end of each word in the text, with `start` added; None for a word that is not found.

    Cleaning changes letters (case, typographic signs, ligatures). A changed letter is placed by its neighbours.
    """
    typed = [(letter, place) for place, char in enumerate(text) for letter in _plain(char)]
    read = [(letter, number) for number, word in enumerate(words) for letter in _plain(word)]
    places: list[list[int]] = [[] for _ in words]
    for of_text, of_words in _matches("".join(letter for letter, _ in typed), "".join(letter for letter, _ in read)):
        places[read[of_words][1]].append(typed[of_text][1])
    return [(start + min(own), start + max(own) + 1) if own else None for own in places]


def _plain(text: str) -> str:
    """The letters of the text, without case, width and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _matches(typed: str, read: str) -> list[tuple[int, int]]:
    """Pairs of indices (in `typed`, in `read`) of letters that belong together."""
    if typed == read:
        return [(place, place) for place in range(len(typed))]
    if max(len(typed), len(read)) > LONGEST:
        return []
    blocks = [block for block in Indel.opcodes(typed, read) if block.tag == "equal"]
    found = []
    begin = first = 0  # where the last block ended
    for block in [*blocks, None]:
        end, last = (len(typed), len(read)) if block is None else (block.src_start, block.dest_start)
        if end > begin:  # spread the letters read over the letters typed
            found += [(begin + k * (end - begin) // (last - first), first + k) for k in range(last - first)]
        if block is not None:
            begin, first = block.src_end, block.dest_end
            found += list(zip(range(end, begin), range(last, first), strict=True))
    return found
