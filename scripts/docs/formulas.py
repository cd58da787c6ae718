"""Formulas in TeX, between $ or $$, as MathML, which browsers show without a script."""

import re
from collections.abc import MutableMapping

TEX = re.compile(r"\$\$(.+?)\$\$|(?<![\\\w$])\$(?=[^\s$])([^$\n]+?)(?<=\S)\$(?![\w$])", re.DOTALL)
MARK = "formula{}formula"  # what Markdown leaves as it is


def taken_out(text: str, kept: MutableMapping[str, str]) -> str:
    """The text with a mark in place of each formula, which is added to `kept`."""

    def keep(tex: re.Match[str]) -> str:
        mark = MARK.format(len(kept))
        kept[mark] = mathml(tex[1] or tex[2], alone=tex[1] is not None)
        return mark

    return TEX.sub(keep, text)


def put_in(html: str, kept: MutableMapping[str, str]) -> str:
    """The page with the formulas of its marks."""
    return re.sub(MARK.format(r"\d+"), lambda mark: kept[mark[0]], html)


def mathml(tex: str, alone: bool) -> str:
    """A formula of TeX, on a line `alone` or in the text."""
    from latex2mathml.converter import convert  # of the extra docs

    shown: str = convert(" ".join(tex.split()), display="block" if alone else "inline")
    return shown
