"""A segment of a translation memory or localisation file: text with inline marks on both sides."""

import re
from typing import Literal, NamedTuple

# How far a translation is; "exempt": nobody should translate it; "unclear": what it is the translation of is not known;
# "surplus": a form of a plural that the other language does not have; "unreadable": a choice that is not well-formed.
# A segment has None if the file does not say.
State = Literal["exempt", "untranslated", "fuzzy", "obsolete", "approved", "unclear", "surplus", "unreadable"]
Kind = Literal["open", "close", "single", "boundary"]  # boundary: where a text within a code begins or ends


class Mark(NamedTuple):
    """An inline code of the file's format, between pieces of text."""

    kind: Kind
    key: str  # the same for matching codes on both sides, and for the two ends of a pair
    breaks: bool = False  # is it a line break, which separates words?


Text = tuple[str | Mark, ...]


class Segment(NamedTuple):
    """A unit of translation, with None for a side that has no text in the file."""

    id: str | None
    src: Text | None
    tgt: Text | None
    languages: tuple[str, ...]  # tags as the file writes them
    context: str | None
    state: State | None


_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*[\r\n]\s*")  # from where spaces begin: the time is linear


def has_marks(text: Text) -> bool:
    """Is there any inline code?"""
    return any(isinstance(part, Mark) for part in text)


def without_codes(text: Text) -> str:
    """The text without its codes, on one line.

    A removed code leaves no double space. Words stay apart at a removed line break, and at the ends of text in a code.
    """
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
    """A place in a text where a code was removed."""

    separates: bool  # must the words on its two sides stay apart?


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
    """The text with one space for each line break and the indentation after it, as pretty-printed XML has them."""
    return _LINE_BREAK.sub(" ", text) if "\n" in text or "\r" in text else text
