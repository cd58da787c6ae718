"""Installed fonts that can draw a text, whatever its script."""

import logging
import unicodedata
from contextlib import suppress
from functools import cache

USUAL_FONT = "DejaVu Sans"  # comes with matplotlib
SANS_SERIF = ("Sans", "Gothic", "Hei")  # words in the names of fonts without serifs, such as the usual font


def drawable(text: str) -> str:
    """The text with a code point, such as [6211], in place of every character that no installed font has.

    The first time, a warning on stderr (logger nmt.figures.fonts) names a font to install.
    """
    missing = {char for char in text if _family(char) is None}
    if missing:
        wide = any(unicodedata.east_asian_width(char) in "WF" for char in missing)
        _warn_of_missing("Noto Sans CJK" if wide else "Noto Sans", "fonts-noto-cjk" if wide else "fonts-noto-core")
    return "".join(f"[{ord(char):04X}]" if char in missing else char for char in text)


@cache
def _warn_of_missing(font: str, package: str) -> None:  # the cache keeps it to one warning for each font
    logging.getLogger(__name__).warning(
        "warning: no installed font has some characters, pictures show their code points, such as [6211] for 我, "
        "instead; install one, such as %s (Debian, Ubuntu: apt install %s)",
        font,
        package,
    )


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
