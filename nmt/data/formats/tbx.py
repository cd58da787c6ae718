"""Glossaries in TBX (ISO 30042): version 2 with `termEntry`, and both styles of version 3 with `conceptEntry`."""

from collections.abc import Iterator
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.segment import Segment
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.terms import Term, is_usable, segments_of
from nmt.data.formats.tmx import XML_LANG
from nmt.data.formats.xml_stream import local_name, read_elements, refuse_entities

STATUSES = ("administrativeStatus", "normativeAuthorization")  # type of a <termNote> (style DCA), or an element (DCT)
HOLDERS = (
    "conceptEntry",
    "termEntry",
    "langSec",
    "langSet",
    "termSec",
    "tig",
    "ntig",
    "termGrp",
    "termNote",
    *STATUSES,
)
CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements that hold native code and no text


class Tbx(SegmentFile):
    """A file of concepts, each with terms in several languages."""

    noun: ClassVar[str] = "term pair"

    def segments(self) -> Iterator[Segment]:
        """The file's pairs of terms, concept by concept."""
        for concept in read_elements(self.path, ["conceptEntry", "termEntry"], ["tbx", "martif"]):
            refuse_entities(self.path, concept, HOLDERS)
            terms: dict[str, list[Term]] = {}
            for language in concept.iterchildren("{*}langSec", "{*}langSet"):
                own = terms.setdefault(language.get(XML_LANG) or language.get("lang") or "", [])
                own += map(self._term, language.iterchildren("{*}termSec", "{*}tig", "{*}ntig"))
            yield from segments_of(concept.get("id"), terms, self._wanted)

    def _term(self, section: etree._Element) -> Term:
        term = next(section.iter("{*}term"), None)
        text = read_text(self.path, term, lambda name, _: Code(has_text=name not in CODES))
        notes = section.iter("{*}termNote", *(f"{{*}}{status}" for status in STATUSES))
        statuses = (note for note in notes if not {local_name(note), note.get("type")}.isdisjoint(STATUSES))
        return Term(text, is_usable("".join(note.itertext()) for note in statuses))
