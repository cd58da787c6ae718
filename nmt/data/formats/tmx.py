"""Translation memories in TMX 1.4."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, breaks_line, read_text
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.segment import Kind, Mark, Segment, Text
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.xml_stream import is_named, read_elements, refuse_entities, refuse_entity

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
KINDS: dict[str, Kind] = {"bpt": "open", "ept": "close", "ph": "single", "it": "single", "ut": "single"}


class Tmx(SegmentFile):
    """A file of units, each in several languages."""

    noun: ClassVar[str] = "unit"

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage) -> None:
        super().__init__(path, src, tgt)
        self._sides = lru_cache(maxsize=1000)(self._sides_among)

    def segments(self) -> Iterator[Segment]:
        """The file's units; if a unit has several texts in a language, the first with the best fitting tag counts."""
        return map(self._segment, read_elements(self.path, ["tu"], ["tmx"]))

    def _segment(self, unit: etree._Element) -> Segment:
        variants, tags = [], []
        for variant in unit:
            if is_named(variant, "tuv"):
                variants.append(variant)
                tags.append(variant.get(XML_LANG) or variant.get("lang") or "")
            else:  # a note, a property
                refuse_entity(self.path, variant)
        languages = tuple(tags)
        src, tgt = self._sides(languages)
        return Segment(
            unit.get("tuid"),
            None if src is None else self._text(variants[src]),
            None if tgt is None else self._text(variants[tgt]),
            languages,
            None,
            "approved",
        )

    def _sides_among(self, tags: tuple[str, ...]) -> tuple[int | None, int | None]:
        """The numbers of the source and the target among variants with these tags."""
        wanted_src, wanted_tgt = self._wanted
        src = tgt = None
        src_best = tgt_best = 0
        for number, tag in enumerate(tags):
            src_fit, tgt_fit = wanted_src.fit(tag), wanted_tgt.fit(tag)
            if src_fit > src_best and src_fit > tgt_fit:
                src, src_best = number, src_fit
            elif tgt_fit > tgt_best and tgt_fit > src_fit:
                tgt, tgt_best = number, tgt_fit
        return src, tgt

    def _text(self, variant: etree._Element) -> Text:
        segment = variant[0] if len(variant) == 1 else None  # quicker than a loop, for almost every text
        if segment is None or segment.tag != "seg":
            refuse_entities(self.path, variant, ["tuv"])
            segment = next((child for child in variant if is_named(child, "seg")), None)
        if segment is None:
            return ("",)
        return read_text(self.path, segment, _Codes().read) if len(segment) else (segment.text or "",)


class _Codes:
    """The codes of one text."""

    def __init__(self) -> None:
        self._pairs: dict[str | None, str] = {}  # the attribute i of a pair -> its key
        self._counts: dict[str, int] = {}  # number of codes without x and i, by name

    def read(self, name: str, code: etree._Element) -> Code:
        kind = KINDS.get(name)
        if kind is None:  # hi, and elements that other tools add
            key = self._key(name, code)
            return Code(Mark("open", key), Mark("close", key))
        key = (kind == "close" and self._pairs.get(code.get("i"))) or self._key(name, code)
        if kind == "open":
            self._pairs[code.get("i")] = key
        return Code(Mark(kind, key, breaks_line(code.get("type"), code=code.text)), None, False)

    def _key(self, name: str, code: etree._Element) -> str:
        """A key that matching codes of both sides share: attribute x, as in the standard; else i; else the order."""
        for attribute in ("x", "i"):
            if (value := code.get(attribute)) is not None:
                return f"{attribute} {value}"
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return f"{name} {count}"
