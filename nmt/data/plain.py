"""Makes text plain, as typed on a keyboard: replaces special quotes, spaces, ligatures, look-alikes and the like.

A model reads a source better if a word always has the same characters. Only sources are made plain, both in training
and in translation: the model learns the typography of the targets and writes it.
"""

import re
import unicodedata
from collections.abc import Mapping

QUOTES = {'"': "“”„‟″«»＂", "'": "‘’‚‛′ʼ‹›＇´"}
HYPHENS = "‐‑−"  # hyphen, no-break hyphen, minus
SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
# Soft hyphen, word joiner and invisible operators, byte-order mark, marks of the writing direction.
INVISIBLE = (
    "\u00ad\u2060\u2061\u2062\u2063\u2064\ufeff\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
LIGATURES = "".join(map(chr, range(0xFB00, 0xFB07)))
FULL_WIDTH = "".join(map(chr, (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))))
MATHEMATICAL = "".join(map(chr, range(0x1D400, 0x1D800)))  # letters and digits in bold, italic, script, …
ALIKE = {  # Cyrillic letters that look like Latin ones
    **dict(zip("аеорсухіјѕһԛԝ", "aeopcyxijshqw", strict=True)),
    **dict(zip("АВЕЅКМНОРСТУХІЈԚԜ", "ABESKMHOPCTYXIJQW", strict=True)),
}

_TABLE = str.maketrans(
    {
        **{each: plain for plain, many in QUOTES.items() for each in many},
        **dict.fromkeys(HYPHENS, "-"),
        **dict.fromkeys(SPACES, " "),
        **dict.fromkeys(INVISIBLE, ""),
        "…": "...",
        **{each: unicodedata.normalize("NFKC", each) for each in LIGATURES + FULL_WIDTH + MATHEMATICAL},
    }
)
_ZERO_WIDTH = re.compile("[\u200b-\u200d]+")
_JOINED_BY_NOTHING = re.compile("[\x00-\u058f]?")  # Latin, Greek, Cyrillic, Armenian, or the end of the text
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer
_WORD = re.compile("[A-Za-z\u00c0-\u024f\u0400-\u052f]+")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_TO_LATIN = str.maketrans(ALIKE)
_TO_CYRILLIC = str.maketrans({latin: cyrillic for cyrillic, latin in ALIKE.items()})


def plain(text: str) -> str:
    """The text in plain characters; a character without a plain form stays."""
    if text.isascii():
        return text
    text = _ZERO_WIDTH.sub(_needed, text.translate(_TABLE))
    if not (_CYRILLIC.search(text) and _LATIN.search(text)):
        return text
    return _WORD.sub(lambda word: _of_one_script(word[0]), text)


def _needed(run: re.Match[str]) -> str:
    """The zero-width characters that must stay: joiners shape letters and emoji, spaces part words of some scripts."""
    around = run.string[max(0, run.start() - 1) : run.start()], run.string[run.end() : run.end() + 1]
    if all(_JOINED_BY_NOTHING.fullmatch(each) for each in around):
        return ""
    return run[0] if any(map(_WITHOUT_SPACES.fullmatch, around)) else run[0].replace("\u200b", "")


def _of_one_script(word: str) -> str:
    """The word in one script if all its letters of the other script have look-alikes there; else unchanged."""
    latin, cyrillic = _LATIN.findall(word), _CYRILLIC.findall(word)
    if not (latin and cyrillic):
        return word
    if _all_in(cyrillic, ALIKE):
        return word.translate(_TO_LATIN)
    if _all_in(latin, dict.fromkeys(ALIKE.values())):
        return word.translate(_TO_CYRILLIC)
    return word


def _all_in(letters: list[str], known: Mapping[str, object]) -> bool:
    return all(letter in known for letter in letters)
