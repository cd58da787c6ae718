"""Translation memories in TMX 1.4."""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from nmt.data.formats.languages import NONE, WantedLanguage
from nmt.data.formats.segment import Mark, Segment, Text
from nmt.data.formats.xml_stream import local_name, read_elements, refuse_entity

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
KINDS = {"bpt": "open", "ept": "close", "ph": "single", "it": "single", "ut": "single"}


class Tmx:
    """A file of units, each in several languages."""

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage) -> None:
        self.path = path
        self._wanted = (src, tgt)

    def segments(self) -> Iterator[Segment]:
        """Its units; of several texts in a language, the first whose tag fits best."""
        return (self._segment(unit) for unit in read_elements(self.path, "tu", "tmx"))

    def _segment(self, unit: etree._Element) -> Segment:
        src, tgt = self._wanted
        sides: list[etree._Element | None] = [None, None]
        best = [NONE, NONE]
        languages = []
        for variant in unit.iterchildren("{*}tuv"):
            tag = variant.get(XML_LANG) or variant.get("lang") or ""
            languages.append(tag)
            for side, fit in enumerate((src.fit(tag), tgt.fit(tag))):
                if fit > best[side]:
                    best[side], sides[side] = fit, variant
        texts = [None if side is None else self._text(side) for side in sides]
        return Segment(unit.get("tuid"), texts[0], texts[1], tuple(languages), None, "approved")

    def _text(self, variant: etree._Element) -> Text:
        segment = next(variant.iterchildren("{*}seg"), None)
        if segment is None:
            return ("",)
        if not len(segment):
            return (segment.text or "",)
        parts: list[str | Mark] = []
        self._collect(segment, parts, {})
        return tuple(parts)

    def _collect(self, element: etree._Element, parts: list[str | Mark], keys: dict[str, str]) -> None:
        """Adds the text of an element that holds text, with its marks; `keys`: of the pairs that are open."""
        parts.append(element.text or "")
        for child in element:
            refuse_entity(self.path, child)
            name = local_name(child)
            if name in KINDS:
                parts.append(_mark(child, name, keys))
                for sub in child.iterchildren("{*}sub"):
                    parts.append(Mark("boundary", ""))
                    self._collect(sub, parts, keys)
                    parts.append(Mark("boundary", ""))
            else:  # hi, and what other tools add
                key = _key(child, name, keys)
                parts.append(Mark("open", key))
                self._collect(child, parts, keys)
                parts.append(Mark("close", key))
            parts.append(child.tail or "")


def _mark(code: etree._Element, name: str, keys: dict[str, str]) -> Mark:
    pair = f"pair {code.get('i')}"
    if name == "ept" and pair in keys:
        return Mark("close", keys[pair])
    key = _key(code, name, keys)
    if name == "bpt":
        keys[pair] = key
    breaks = code.get("type") == "lb" or (code.text or "").lstrip().lower().startswith(("<br", "\\line"))
    return Mark(KINDS[name], key, breaks)  # type: ignore[arg-type]


def _key(code: etree._Element, name: str, keys: dict[str, str]) -> str:
    """That of the other side's code: by the attribute x, as the standard has it; else by i; else by the order."""
    for attribute in ("x", "i"):
        if (value := code.get(attribute)) is not None:
            return f"{attribute} {value}"
    count = keys[name] = str(int(keys.get(name, "0")) + 1)
    return f"{name} {count}"
