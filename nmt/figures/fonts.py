"""Installed fonts that can draw a text, whatever its script."""

import logging
import unicodedata
from contextlib import suppress
from functools import cache

USUAL_FONT = "DejaVu Sans"  # comes with matplotlib

# fonts worth opening first when DejaVu Sans lacks a character
_USEFUL_FONTS = (
    "Noto Sans CJK",
    "Source Han",
    "WenQuanYi",
    "PingFang",
    "Hiragino",
    "YaHei",
    "Noto Sans",
    "Unifont",
)


def drawable(text: str) -> str:
    """The text with a code point, such as [6211], for every character that no installed font has.

    The first time, a line on standard error (of the logger nmt.figures.fonts) says what to install.
    """
    missing = {char for char in text if _family(char) is None}
    if missing:
        wide = any(unicodedata.east_asian_width(char) in "WF" for char in missing)
        _warn_of_missing("Noto Sans CJK" if wide else "Noto Sans", "fonts-noto-cjk" if wide else "fonts-noto-core")
    return "".join(f"[{ord(char):04X}]" if char in missing else char for char in text)


@cache
def _warn_of_missing(font: str, package: str) -> None:  # the cache keeps it to one warning
    logging.getLogger(__name__).warning(
        "warning: no installed font has some characters, pictures show their code points, such as [6211] for 我, "
        "instead; install one, such as %s (Debian, Ubuntu: apt install %s)",
        font,
        package,
    )


def families(text: str) -> list[str]:
    """Font families that cover the text, the usual one first: matplotlib looks into them in this order."""
    return list(dict.fromkeys([USUAL_FONT, *(family for char in text if (family := _family(char)))]))


@cache
def _family(char: str) -> str | None:
    """A font family that has the character; a line break needs none."""
    from matplotlib import font_manager

    if char == "\n" or ord(char) in _coverage(font_manager.findfont(USUAL_FONT)):
        return USUAL_FONT
    return next((name for name, path in _other_fonts() if ord(char) in _coverage(path)), None)


@cache
def _coverage(path: str) -> frozenset[int]:
    from matplotlib import font_manager

    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _other_fonts() -> list[tuple[str, str]]:
    """Families and a file of each, useful ones first."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in font_manager.findSystemFonts():  # matplotlib keeps its list on disk and misses new fonts
        if path not in known:
            with suppress(OSError, RuntimeError, NotImplementedError):
                manager.addfont(path)
    upright = [entry for entry in manager.ttflist if entry.style == "normal" and "Last Resort" not in entry.name]
    heavy = ("bold", "black", "heavy", 600, 700, 800, 900)
    files = {entry.name: entry.fname for entry in sorted(upright, key=lambda entry: entry.weight not in heavy)}

    def usefulness(family: str) -> tuple[int, str]:
        known_good = (n for n, start in enumerate(_USEFUL_FONTS) if start in family)
        return next(known_good, len(_USEFUL_FONTS)), family

    return [(family, files[family]) for family in sorted(files, key=usefulness)]
