"""Makes text plain, as typed on a keyboard: replaces special quotes, spaces, ligatures, look-alikes and the like.

A model reads a source better if a word always has the same characters. Only sources are made plain, both in training
and in translation: the model learns the typography of the targets and writes it.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import partial

QUOTES = {'"': "“”„‟″«»＂", "'": "‘’‚‛′ʼ‹›＇´"}
HYPHENS = "‐‑−"  # hyphen, no-break hyphen, minus
SPACES = "\u00a0\u1680\u3164\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
# Grapheme joiner, Mongolian vowel separator, deprecated format marks; soft hyphen, word joiner and invisible
# operators, byte-order mark, marks of the writing direction.
INVISIBLE = (
    "\u034f\u180e\u206a\u206b\u206c\u206d\u206e\u206f"
    "\u00ad\u2060\u2061\u2062\u2063\u2064\ufeff\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
LIGATURES = "".join(map(chr, range(0xFB00, 0xFB07)))
FULL_WIDTH = "".join(map(chr, (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))))
MATHEMATICAL = "".join(map(chr, range(0x1D400, 0x1D800)))  # letters and digits in bold, italic, script, …
LETTER_LIKE = "".join(  # the script, Fraktur and double-struck letters that Unicode has beside these, such as ℎ and ℝ
    each for each in map(chr, range(0x2100, 0x2150)) if unicodedata.decomposition(each).startswith("<font>")
)
NUMERALS = "".join(map(chr, range(0x2160, 0x2180)))  # Roman
OLD_LETTERS = "ſĳĲ"
ALIKE = {  # Cyrillic letters that look like Latin ones
    **dict(zip("аеорсухіјѕһԛԝ", "aeopcyxijshqw", strict=True)),
    **dict(zip("АВЕЅКМНОРСТУХІЈԚԜ", "ABESKMHOPCTYXIJQW", strict=True)),
}
GREEK_ALIKE = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ", "ABEZHIKMNOPTYXovp", strict=True))

_TABLE = str.maketrans(
    {
        **{each: plain for plain, many in QUOTES.items() for each in many},
        **dict.fromkeys(HYPHENS, "-"),
        **dict.fromkeys(SPACES, " "),
        **dict.fromkeys(INVISIBLE, ""),
        "…": "...",
        **{each: unicodedata.normalize("NFKC", each) for each in LIGATURES + FULL_WIDTH + MATHEMATICAL},
        **{each: unicodedata.normalize("NFKC", each) for each in LETTER_LIKE + NUMERALS + OLD_LETTERS},
    }
)
_MONGOLIAN = re.compile("[\u1820-\u18aa]")  # the script in which these two part and join suffixes
_MONGOLIAN_TABLE = {code: plain for code, plain in _TABLE.items() if chr(code) not in "\u180e\u202f"}
_ZERO_WIDTH = re.compile("[\u200b-\u200d]+")
_JOINED_BY_NOTHING = re.compile("[\x00-\u058f]?")  # Latin, Greek, Cyrillic, Armenian, or the end of the text
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer
_EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3001-\u318f\u31a0-\u9fff\ua960-\ua97f\uac00-\ud7ff\U00020000-\U0003fffd]"
)
_WIDE_MARKS = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)})
_WIDE_STOP = re.compile("[，；：！？](?=[^\\W\\d_])")  # which has its own space in it
_SELECTOR = re.compile("(?<=[^\\W\\d_])[\ufe00-\ufe0f]")  # chooses a variant of a letter; behind a symbol, of an emoji
_WORD = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f]+")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_GREEK = re.compile("[\u0370-\u03ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_OTHERS = [  # a script, what it has in place of letters like Latin ones, and the reverse
    (script, str.maketrans(alike), str.maketrans({latin: other for other, latin in alike.items()}))
    for script, alike in ((_CYRILLIC, ALIKE), (_GREEK, GREEK_ALIKE))
]


def plain(text: str) -> str:
    """The text in plain characters; a character without a plain form stays."""
    if text.isascii():
        return text
    text = text.translate(_MONGOLIAN_TABLE if _MONGOLIAN.search(text) else _TABLE)
    if not _EAST_ASIAN.search(text):
        text = _WIDE_STOP.sub(r"\g<0> ", text).translate(_WIDE_MARKS)
    text = _SELECTOR.sub("", _ZERO_WIDTH.sub(_needed, text))
    if not _LATIN.search(text):
        return text
    for other, to_latin, from_latin in _OTHERS:
        if other.search(text):
            text = _WORD.sub(partial(_of_one_script, other, to_latin, from_latin), text)
    return text


def _needed(run: re.Match[str]) -> str:
    """The zero-width characters that must stay: joiners shape letters and emoji, spaces part words of some scripts."""
    around = run.string[max(0, run.start() - 1) : run.start()], run.string[run.end() : run.end() + 1]
    if all(_JOINED_BY_NOTHING.fullmatch(each) for each in around):
        return ""
    return run[0] if any(map(_WITHOUT_SPACES.fullmatch, around)) else run[0].replace("\u200b", "")


def _of_one_script(
    other: re.Pattern[str], to_latin: Mapping[int, str], from_latin: Mapping[int, str], found: re.Match[str]
) -> str:
    """The word in one script if all its letters of the other script have look-alikes there; else unchanged.

    Two letters alone may be a unit, such as kΩ: their Latin one stays.
    """
    word = found[0]
    latin, others = _LATIN.findall(word), other.findall(word)
    if not (latin and others):
        return word
    if all(ord(letter) in to_latin for letter in others):
        return word.translate(to_latin)
    if len(word) > 2 and all(ord(letter) in from_latin for letter in latin):
        return word.translate(from_latin)
    return word
