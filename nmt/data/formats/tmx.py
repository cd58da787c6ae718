"""Translation memories in TMX 1.4."""

from collections.abc import Iterator
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, breaks_line, read_text
from nmt.data.formats.segment import Kind, Mark, Segment, Text
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.xml_stream import read_elements

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
KINDS: dict[str, Kind] = {"bpt": "open", "ept": "close", "ph": "single", "it": "single", "ut": "single"}


class Tmx(SegmentFile):
    """A file of units, each in several languages."""

    noun: ClassVar[str] = "unit"

    def segments(self) -> Iterator[Segment]:
        """The file's units; if a unit has several texts in a language, the first with the best fitting tag counts."""
        return (self._segment(unit) for unit in read_elements(self.path, ["tu"], ["tmx"]))

    def _segment(self, unit: etree._Element) -> Segment:
        wanted_src, wanted_tgt = self._wanted
        src = tgt = None
        src_best = tgt_best = 0
        languages = []
        for variant in unit.iterchildren("{*}tuv"):
            tag = variant.get(XML_LANG) or variant.get("lang") or ""
            languages.append(tag)
            src_fit, tgt_fit = wanted_src.fit(tag), wanted_tgt.fit(tag)
            if src_fit > src_best and src_fit > tgt_fit:
                src, src_best = variant, src_fit
            elif tgt_fit > tgt_best and tgt_fit > src_fit:
                tgt, tgt_best = variant, tgt_fit
        return Segment(unit.get("tuid"), self._text(src), self._text(tgt), tuple(languages), None, "approved")

    def _text(self, variant: etree._Element | None) -> Text | None:
        if variant is None:
            return None
        for segment in variant.iterchildren("{*}seg"):
            return read_text(self.path, segment, _Codes().read) if len(segment) else (segment.text or "",)
        return ("",)


class _Codes:
    """The codes of one text."""

    def __init__(self) -> None:
        self._pairs: dict[str | None, str] = {}  # the attribute i of a pair -> its key
        self._counts: dict[str, int] = {}  # number of codes without x and i, by name

    def read(self, name: str, code: etree._Element) -> Code:
        if name not in KINDS:  # hi, and elements that other tools add
            key = self._key(name, code)
            return Code(Mark("open", key), Mark("close", key))
        kind = KINDS[name]
        key = (kind == "close" and self._pairs.get(code.get("i"))) or self._key(name, code)
        if kind == "open":
            self._pairs[code.get("i")] = key
        return Code(Mark(kind, key, breaks_line(code.get("type"), code=code.text)), has_text=False)

    def _key(self, name: str, code: etree._Element) -> str:
        """A key that matching codes of both sides share: attribute x, as in the standard; else i; else the order."""
        for attribute in ("x", "i"):
            if (value := code.get(attribute)) is not None:
                return f"{attribute} {value}"
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return f"{name} {count}"
