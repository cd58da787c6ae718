"""Strings of apps with a name in each line: Apple's .strings and Java's .properties."""

import re
from pathlib import Path

import javaproperties

from nmt.data.formats.keyed import Keyed, Place, Strings, joined_halves
from nmt.errors import DataError, printable

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NAME = r"[\w.\-/:]+"
_ENTRY = re.compile(
    rf"\s+|/\*.*?\*/|//[^\n]*|(?P<key>{_QUOTED}|{_NAME})\s*(?:=\s*(?P<value>{_QUOTED}|{_NAME})\s*)?;", re.DOTALL
)
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
    return joined_halves(_ESCAPE.sub(_unescaped, token[1:-1])) if token.startswith('"') else token


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\n", "t": " "}.get(code, code)


def read_properties(path: Path, text: str) -> Strings:
    """The strings of a file of Java's properties, whose whole content is `text`."""
    try:
        found = javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError as error:
        raise DataError(f"{path}: {printable(str(error))[:80]}; correct the file") from error
    return Strings(None, {Place(key): Keyed((value,)) for key, value in found.items()})
