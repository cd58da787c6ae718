"""Installed fonts that can draw a text, whatever its script."""

import unicodedata
import warnings
from contextlib import suppress
from functools import cache

USUAL_FONT = "DejaVu Sans"  # comes with matplotlib
MISSING = "□"  # shown for a character that no installed font has

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
    """The text with a box for every character that no installed font can draw, after a warning."""
    missing = {char for char in text if _family(char) is None}
    if missing:
        wide = any(unicodedata.east_asian_width(char) in "WF" for char in missing)
        _warn_of_missing("fonts-noto-cjk" if wide else "fonts-noto-core")
    return "".join(MISSING if char in missing else char for char in text)


@cache
def _warn_of_missing(package: str) -> None:  # the cache keeps it to one warning
    warnings.warn(
        f"no installed font has some of the characters: pictures show {MISSING} for them; "
        f"install one, on Debian or Ubuntu: apt install {package}",
        stacklevel=4,
    )


def families(text: str) -> list[str]:
    """Font families that cover the text, the usual one first: matplotlib looks into them in this order."""
    return list(dict.fromkeys([USUAL_FONT, *(family for char in text if (family := _family(char)))]))


@cache
def _family(char: str) -> str | None:
    """A font family that has the character."""
    from matplotlib import font_manager

    if ord(char) in _coverage(font_manager.findfont(USUAL_FONT)):
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
