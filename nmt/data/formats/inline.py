"""Text with inline marks from an element of XML that holds text and codes."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from nmt.data.formats.segment import Mark, Text
from nmt.data.formats.xml_stream import local_name, refuse_entity

LINE_BREAKS = ("lb", "fmt:lb", "x-html-br", "x-br")  # types of codes


class Code(NamedTuple):
    """How an inline element is read."""

    before: Mark | None = None  # in place of its start
    after: Mark | None = None  # in place of its end
    has_text: bool = True  # what it holds is text; else a code, of which only <sub> is text


def read_text(path: Path, element: etree._Element | None, code_of: Callable[[str, etree._Element], Code]) -> Text:
    """The text of the element, empty where there is none; `code_of` an inline element, by its name."""
    if element is None:
        return ("",)
    if not len(element):
        return (element.text or "",)
    parts: list[str | Mark] = []

    def collect(holder: etree._Element) -> None:
        parts.append(holder.text or "")
        for child in holder:
            refuse_entity(path, child)
            code = code_of(local_name(child), child)
            if code.before is not None:
                parts.append(code.before)
            if code.has_text:
                collect(child)
            else:
                for sub in child.iterchildren("{*}sub"):
                    parts.append(Mark("boundary", ""))
                    collect(sub)
                    parts.append(Mark("boundary", ""))
            if code.after is not None:
                parts.append(code.after)
            parts.append(child.tail or "")

    collect(element)
    return tuple(parts)


def breaks_line(*types: str | None, code: str | None) -> bool:
    """Is the code a line break, by one of its types or by the code itself?"""
    return any(kind in LINE_BREAKS for kind in types) or (code or "").lstrip().lower().startswith(("<br", "\\line"))
