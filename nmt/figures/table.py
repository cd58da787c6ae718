"""Tables of text: aligned columns for the terminal, Markdown for documents. The first row is the header."""

import re
from collections.abc import Mapping, Sequence

from nmt.figures.terminal import display_width, pad

NONE = "—"  # in place of a value that does not exist
NUMBER = re.compile(rf"[-+]?\d|{NONE}$")

TableRows = Sequence[Sequence[str]]


def grid(rows: Sequence[Mapping[str, str]]) -> TableRows:
    """A header of all keys, in the order of their first use, and the values of each row."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [keys, *([row.get(key, NONE) for key in keys] for row in rows)]


def text_table(rows: TableRows) -> str:
    """A table for the terminal: columns are as wide as their widest cell, and numbers are aligned at the right."""
    columns = []
    for column in zip(*rows, strict=True):
        width = max(map(display_width, column))
        columns.append([pad(cell, width, is_numeric(column)) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def markdown_table(rows: TableRows) -> str:
    """A Markdown table, with numbers aligned at the right."""
    head, *body = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    rules = ["---:" if is_numeric(column) else "---" for column in zip(*rows, strict=True)]
    return "\n".join([head, f"|{'|'.join(rules)}|", *body])


def is_numeric(column: Sequence[str]) -> bool:
    """Does every cell below the header begin as a number does, or hold no value?"""
    return all(NUMBER.match(cell) for cell in column[1:])
