"""Text as Markdown shows it, and tables."""

import re
from collections.abc import Iterable, Sequence

SPECIAL = re.compile(r"([\\*_\[\]])")
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;"}


def plain(text: str) -> str:
    """Text that is not Markdown; text between backquotes is code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(code(part[1:-1]) if number % 2 else _escaped(part) for number, part in enumerate(parts))


def code(text: str) -> str:
    """Code that a table may contain."""
    return "<code>" + re.sub(r"[&<>|$]", lambda each: ESCAPES[each[0]], SPECIAL.sub(r"\\\1", text)) + "</code>"


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", re.sub(r"[&<>|$]", lambda each: ESCAPES[each[0]], text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, an empty one behind them."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]
