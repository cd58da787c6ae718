"""A segment of a translation memory or localisation file: text with inline marks on both sides."""

import re
from typing import Literal, NamedTuple

# How far a translation is. None: the file does not say.
State = Literal["untranslated", "fuzzy", "obsolete", "approved"]
Kind = Literal["open", "close", "single", "boundary"]  # boundary: where a text within a code begins or ends


class Mark(NamedTuple):
    """An inline code of the file's format, between pieces of text."""

    kind: Kind
    key: str  # the same on both sides for codes that belong together, and for the two ends of a pair
    breaks: bool = False  # a line break: words on its two sides are two words


Text = tuple[str | Mark, ...]


class Segment(NamedTuple):
    """What translators call a unit; a side is None where the file has nothing in that language."""

    id: str | None
    src: Text | None
    tgt: Text | None
    languages: tuple[str, ...]  # as the file writes them
    context: str | None
    state: State | None


_LINE_BREAK = re.compile(r"[ \t]*[\r\n]\s*")


def has_marks(text: Text) -> bool:
    """Is there any inline code?"""
    return any(isinstance(part, Mark) for part in text)


def without_codes(text: Text) -> str:
    """The text that is translated, on one line; codes leave no double space and glue no lines together."""
    if len(text) == 1 and isinstance(text[0], str):
        return _on_one_line(text[0])
    return _joined([part if isinstance(part, str) else _Gap(part.breaks or part.kind == "boundary") for part in text])


def with_placeholders(*sides: Text) -> list[str]:
    """The sides with <1>, </1> or <1/> in place of each code; matching codes have the same number on all sides."""
    numbers: dict[str, int] = {}
    forms = {"open": "<{}>", "close": "</{}>", "single": "<{}/>"}
    return [
        _joined(
            [
                part
                if isinstance(part, str)
                else _Gap(True)
                if part.kind == "boundary"
                else forms[part.kind].format(numbers.setdefault(part.key, len(numbers) + 1))
                for part in text
            ]
        )
        for text in sides
    ]


class _Gap(NamedTuple):
    """A place in a text from which something was taken."""

    separates: bool  # its two sides are different words


def _joined(parts: list[str | _Gap]) -> str:
    pieces: list[str] = []
    gap: _Gap | None = None
    for part in parts:
        if isinstance(part, _Gap):
            gap = _Gap(part.separates or (gap is not None and gap.separates))
        elif part:
            if gap is not None and pieces:
                before, after = pieces[-1][-1].isspace(), part[0].isspace()
                if before and after:
                    part = part[1:]
                elif gap.separates and not before and not after:
                    pieces.append(" ")
            pieces += [part] if part else []
            gap = None
    return _on_one_line("".join(pieces))


def _on_one_line(text: str) -> str:
    """Line breaks and the indentation after them, as pretty-printed XML has, become one space."""
    return _LINE_BREAK.sub(" ", text) if "\n" in text or "\r" in text else text
