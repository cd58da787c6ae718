"""Installed fonts that can draw a text, whatever its script."""

import logging
import unicodedata
from contextlib import suppress
from functools import cache

from nmt.errors import printable

USUAL_FONT = "DejaVu Sans"  # comes with matplotlib
SANS_SERIF = ("Sans", "Gothic", "Hei")  # words in the names of fonts without serifs, such as the usual font


def drawable(text: str) -> str:
    """The text with a code point, such as [6211], in place of every character that no installed font has.

    The first time, a warning on stderr (logger nmt.figures.fonts) names a font to install.
    """
    missing = {char: f"[{ord(char):04X}]" for char in text if _family(char) is None}
    for char, code_point in missing.items():
        font, package = _font_with(char)
        if font not in _named:
            _named.add(font)
            logging.getLogger(__name__).warning(
                "warning: no installed font has some characters, pictures show their code points, such as %s for %s, "
                "instead; install one, such as %s (Debian, Ubuntu: apt install %s)",
                code_point,
                printable(char),
                font,
                package,
            )
    return "".join(missing.get(char, char) for char in text)


_named: set[str] = set()  # fonts that a warning has named: one warning for each


def _font_with(char: str) -> tuple[str, str]:
    """A font that most likely has the character, and its package."""
    if unicodedata.category(char) in ("So", "Sk", "Cn"):  # emoji, also newer ones than this Python knows
        return "Symbola", "fonts-symbola"
    if unicodedata.east_asian_width(char) in "WF":
        return "Noto Sans CJK", "fonts-noto-cjk"
    return "Noto Sans", "fonts-noto-core"


def families(text: str) -> list[str]:
    """Font families that cover the text, the usual font first: matplotlib tries them in this order."""
    return list(dict.fromkeys([USUAL_FONT, *(family for char in text if (family := _family(char)))]))


@cache
def _family(char: str) -> str | None:
    """A font family that has the character, or None; for a line break, the usual font."""
    from matplotlib import font_manager

    if char == "\n" or ord(char) in _coverage(font_manager.findfont(USUAL_FONT)):
        return USUAL_FONT
    return next((family for family, file in _other_fonts() if ord(char) in _coverage(file)), None)


@cache
def _coverage(file: str) -> frozenset[int]:
    from matplotlib import font_manager

    with suppress(OSError, RuntimeError):
        return frozenset(font_manager.get_font(file).get_charmap())
    return frozenset()


@cache
def _other_fonts() -> list[tuple[str, str]]:
    """Font families with the file of each whose weight is nearest to normal; families without serifs come first."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:  # matplotlib's list, kept on disk, misses new fonts
        with suppress(OSError, RuntimeError, NotImplementedError):
            manager.addfont(path)

    def unlike(entry: font_manager.FontEntry) -> tuple[float, str]:
        return manager.score_weight(entry.weight, "normal"), entry.fname

    upright = [entry for entry in manager.ttflist if entry.style == "normal" and "Last Resort" not in entry.name]
    files = {entry.name: entry.fname for entry in sorted(upright, key=unlike, reverse=True)}
    return sorted(files.items(), key=lambda font: (not any(word in font[0] for word in SANS_SERIF), font))
