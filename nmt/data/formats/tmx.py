"""Translation memories in TMX 1.4."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, breaks_line, read_text
from nmt.data.formats.languages import NONE, WantedLanguage
from nmt.data.formats.segment import Kind, Mark, Segment, Text
from nmt.data.formats.xml_stream import read_elements

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
KINDS: dict[str, Kind] = {"bpt": "open", "ept": "close", "ph": "single", "it": "single", "ut": "single"}


class Tmx:
    """A file of units, each in several languages."""

    noun: ClassVar[str] = "unit"

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage) -> None:
        self.path = path
        self._wanted = (src, tgt)

    def segments(self) -> Iterator[Segment]:
        """Its units; of several texts in a language, the first whose tag fits best."""
        return (self._segment(unit) for unit in read_elements(self.path, ["tu"], "tmx"))

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
        return read_text(self.path, segment, _Codes().read)


class _Codes:
    """The codes of one text."""

    def __init__(self) -> None:
        self._pairs: dict[str | None, str] = {}  # the attribute i of a pair -> its key
        self._counts: Counter[str] = Counter()

    def read(self, name: str, code: etree._Element) -> Code:
        if name not in KINDS:  # hi, and what other tools add
            key = self._key(name, code)
            return Code(Mark("open", key), Mark("close", key))
        kind = KINDS[name]
        key = (kind == "close" and self._pairs.get(code.get("i"))) or self._key(name, code)
        if kind == "open":
            self._pairs[code.get("i")] = key
        return Code(Mark(kind, key, breaks_line(code.get("type"), code=code.text)), has_text=False)

    def _key(self, name: str, code: etree._Element) -> str:
        """That of the other side's code: by the attribute x, as the standard has it; else by i; else by the order."""
        for attribute in ("x", "i"):
            if (value := code.get(attribute)) is not None:
                return f"{attribute} {value}"
        self._counts[name] += 1
        return f"{name} {self._counts[name]}"
