"""Text in capitals or in title case, brought to lower case: as models read it best."""

import re

FEWEST_SHOUTED, FEWEST_TITLED = 2, 4  # words; fewer are as likely an abbreviation or a name
SMALL = 3  # letters of a word that titles leave in lower case
_EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def in_lower_case(text: str) -> str:
    """The text in lower case if it is in capitals or in title case throughout; else as it is."""
    stripped = (_EDGES.sub("", word) for word in text.split())
    words = [word for word in stripped if word.lower() != word.upper()]  # of letters that have two cases
    return text.lower() if is_shouted(words) or is_titled(words) else text


def is_shouted(words: list[str]) -> bool:
    """Are all of several words in capitals, and not each a letter or two?"""
    return len(words) >= FEWEST_SHOUTED and all(map(str.isupper, words)) and max(map(len, words)) > SMALL


def is_titled(words: list[str]) -> bool:
    """Do all words begin with a capital, but for small ones?"""
    titled = sum(word[0].isupper() for word in words)
    small = sum(word[0].islower() and len(word) <= SMALL for word in words)
    return titled >= FEWEST_TITLED and titled + small == len(words)
