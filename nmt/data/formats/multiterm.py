"""Glossaries that MultiTerm exports as XML (root element `mtf`), usually in UTF-16."""

from collections.abc import Iterator
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.segment import Segment
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.terms import Term, is_usable, segments_of
from nmt.data.formats.xml_stream import read_elements, refuse_entities

HOLDERS = ("conceptGrp", "languageGrp", "termGrp", "descripGrp")


class MultiTerm(SegmentFile):
    """A file of concepts, each with terms in several languages."""

    noun: ClassVar[str] = "term pair"

    def segments(self) -> Iterator[Segment]:
        """The file's pairs of terms, concept by concept."""
        for concept in read_elements(self.path, ["conceptGrp"], ["mtf"]):
            refuse_entities(self.path, concept, HOLDERS)
            terms: dict[str, list[Term]] = {}
            for group in concept.iterchildren("{*}languageGrp"):
                language = next(group.iterchildren("{*}language"), None)
                tag = "" if language is None else language.get("lang") or language.get("type") or ""
                terms.setdefault(tag, []).extend(map(self._term, group.iterchildren("{*}termGrp")))
            number = next(concept.iterchildren("{*}concept"), None)
            yield from segments_of(None if number is None else number.text, terms, self._wanted)

    def _term(self, group: etree._Element) -> Term:
        text = read_text(self.path, next(group.iterchildren("{*}term"), None), lambda *_: Code())
        notes = (each for each in group.iter("{*}descrip") if "status" in (each.get("type") or "").lower())
        return Term(text, is_usable("".join(note.itertext()) for note in notes))
