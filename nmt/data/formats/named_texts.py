"""Strings of apps with a name in each line: Apple's .strings and Java's .properties."""

import re
from pathlib import Path

from nmt.data.formats.icu import has_choice, unquoted
from nmt.data.formats.keyed import Keyed, Place, Strings, joined_halves, keyed_forms
from nmt.errors import DataError, printable

_TOKEN = r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [\w.\-:]+ """  # in quotation marks of either kind, or without
_BESIDE = r"(?> \s | /\*.*?\*/ | //[^\n]* )"  # spaces and comments, each in one way only: else, many take forever
_ENTRY = re.compile(
    rf"{_BESIDE}++ | (?P<key>{_TOKEN}) {_BESIDE}*+ (?: = {_BESIDE}*+ (?P<value>{_TOKEN}) {_BESIDE}*+ )? ;",
    re.DOTALL | re.VERBOSE,
)
_DOUBLED, _SINGLE = re.compile("''"), re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
# In a line that is no comment: \u that four hexadecimal digits do not follow.
_WRONG_ESCAPE = re.compile(r"(?!\s*[#!])(?:[^\\]|\\[^u]|\\u[0-9A-Fa-f]{4})*+\\u")
_ARGUMENT = re.compile(r"\{\d")
_ESCAPE = re.compile(r"\\([Uu][0-9A-Fa-f]{4}|.)", re.DOTALL)


def read_apple(path: Path, text: str) -> Strings:
    """The strings of a file of Apple, whose whole content is `text`; a key without a value is its own text.

    Source: Apple, Resource Programming Guide, String Resources.
    """
    texts: dict[Place, Keyed] = {}
    at = 0
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            line = text.count("\n", 0, at) + 1
            shown = printable(text[at:].split("\n")[0][:40])
            raise DataError(f'{path}, line {line}: {shown} is not "KEY" = "TEXT"; correct it, or name another data=')
        if entry["key"] is not None:
            key = _unquoted(entry["key"])
            texts[Place(key)] = Keyed((key if entry["value"] is None else _unquoted(entry["value"]),))
        at = entry.end()
    return Strings(None, texts)


def _unquoted(token: str) -> str:
    return joined_halves(_ESCAPE.sub(_unescaped, token[1:-1])) if token[0] in "\"'" else token


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\n", "t": " "}.get(code, code)


def read_properties(path: Path, text: str) -> Strings:
    """The strings of a file of Java's properties, whose whole content is `text`.

    In messages with arguments, and in files that double each apostrophe, apostrophes quote (java.text.MessageFormat).
    """
    import javaproperties  # not for every corpus: it takes memory

    try:
        found = javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError as error:
        lines = enumerate(text.split("\n"), start=1)
        place = next((f", line {number}" for number, line in lines if _WRONG_ESCAPE.match(line)), "")
        raise DataError(f"{path}{place}: {printable(str(error))[:80]}; correct the file") from error
    doubles = any(map(_DOUBLED.search, found.values())) and not any(map(_SINGLE.search, found.values()))
    texts: dict[Place, Keyed] = {}
    for key, value in found.items():
        quotes = (doubles or _ARGUMENT.search(value)) and not has_choice(value)  # whose forms have lost their quotes
        texts |= keyed_forms(key, unquoted(value) if quotes else value)
    return Strings(None, texts)
