"""Text in capitals or in title case, brought to lower case: as models read it best."""

import re

FEWEST_SHOUTED, FEWEST_TITLED = 2, 4  # words; fewer are as likely an abbreviation or a name
SMALL = 3  # letters of a word that titles leave in lower case
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def in_lower_case(text: str) -> str:
    """The text in lower case if it is in capitals or in title case throughout; else as it is."""
    words = [word for word in _WORD.findall(text) if word.lower() != word.upper()]  # of letters that have two cases
    return text.lower() if is_shouted(words) or is_titled(words) else text


def is_shouted(words: list[str]) -> bool:
    """Are all of several words in capitals, and not each a letter or two?"""
    return len(words) >= FEWEST_SHOUTED and all(map(str.isupper, words)) and max(map(len, words)) > SMALL


def is_titled(words: list[str]) -> bool:
    """Does every word begin with a capital and go on in lower case, but for small ones?"""
    small = [word for word in words if word.islower() and len(word) <= SMALL]
    titled = [word for word in words if word == word[0].upper() + word[1:].lower()]
    return len(titled) >= FEWEST_TITLED and len(titled) + len(small) == len(words)
