"""Strings of Android: <string>, <plurals> and <string-array>.

Source: https://developer.android.com/guide/topics/resources/string-resource
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.keyed import QUANTITIES, Keyed, Place, Strings, joined_halves
from nmt.data.formats.segment import Mark, Text
from nmt.data.formats.xml_stream import is_named, local_name, read_elements, refuse_entities

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)|\"", re.DOTALL)
_SPACES = re.compile(r"\s+")
_REFERENCE = re.compile(r"\s*[@?](\w+:)?\w+/[\w.]+\s*")  # to another string


def read_android(path: Path) -> Strings:
    """The strings of a file; it does not name its language. A string for another product has a place of its own."""
    texts: dict[Place, Keyed] = {}
    for element in read_elements(path, ["string", "plurals", "string-array"], ["resources"]):
        refuse_entities(path, element, {"plurals", "string-array"})
        own = "@".join(filter(None, (element.get("name"), element.get("product"))))
        exempt = element.get("translatable") == "false"
        if is_named(element, "string"):
            texts[Place(own)] = _keyed(path, element, exempt)
            continue
        for number, item in enumerate(element.iterchildren("{*}item")):
            quantity = item.get("quantity")
            place = Place(own, (quantity,)) if quantity in QUANTITIES else Place(f"{own}.{number}")
            texts[place] = _keyed(path, item, exempt)
    return Strings(None, texts)


def _keyed(path: Path, element: etree._Element, exempt: bool) -> Keyed:
    text = tuple(_plain(read_text(path, element, _Codes().read)))
    is_reference = len(text) == 1 and isinstance(text[0], str) and _REFERENCE.fullmatch(text[0]) is not None
    return Keyed(text, "exempt" if exempt or is_reference else None)


class _Codes:
    """The markup of one text; tags of one name are told apart by their number."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def read(self, name: str, code: etree._Element) -> Code:
        """A line break, or a pair of marks around text."""
        if local_name(code) == "br":
            return Code(Mark("single", name, breaks=True))
        self._count[name] = self._count.get(name, 0) + 1
        key = f"{name}{self._count[name]}"
        return Code(Mark("open", key), Mark("close", key))


def _plain(text: Text) -> Iterator[str | Mark]:
    """The text without escapes and quotation marks that only keep spaces."""
    for part in text:
        yield part if isinstance(part, Mark) else joined_halves(_ESCAPE.sub(_unescaped, _SPACES.sub(" ", part)))


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if code is None:
        return ""
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "t": " "}.get(code, code)
