"""Reads an XML element that holds text and inline codes as text with marks."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from nmt.data.formats.segment import Mark, Text
from nmt.data.formats.xml_stream import local_name, refuse_entity

LINE_BREAKS = {"lb", "fmt:lb", "x-html-br", "x-br"}  # types of codes that are line breaks


class Code(NamedTuple):
    """How to read an inline element."""

    before: Mark | None = None  # mark in place of the element's start
    after: Mark | None = None  # mark in place of the element's end
    has_text: bool = True  # False: the content is native code, and only <sub> elements in it are text


def read_text(path: Path, element: etree._Element | None, code_of: Callable[[str, etree._Element], Code]) -> Text:
    """The element's text, empty for None; `code_of` says how to read an inline element with a given local name."""
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
            elif len(child):
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
    """Is the inline code a line break, judging by one of its types or by its native code?"""
    if code is not None and code.lstrip().lower().startswith(("<br", "\\line")):
        return True
    return not LINE_BREAKS.isdisjoint(types)
