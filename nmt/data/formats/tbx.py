"""Glossaries in TBX (ISO 30042): versions 2 and 3 in both styles, and TBX-Min of 2014."""

from collections.abc import Iterator
from typing import ClassVar

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.segment import Segment
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.terms import Term, is_usable, segments_of
from nmt.data.formats.tmx import XML_LANG
from nmt.data.formats.xml_stream import local_name, read_elements, refuse_entities

CONCEPTS = ("conceptEntry", "termEntry", "entry")
LANGUAGES = ("langSec", "langSet", "langGroup")
TERMS = ("termSec", "tig", "ntig", "termGroup")
STATUS_TYPES = ("administrativeStatus", "normativeAuthorization")  # of a <termNote> (style DCA)
STATUSES = (*STATUS_TYPES, "termStatus")  # elements (style DCT, TBX-Min of 2014)
HOLDERS = (*CONCEPTS, *LANGUAGES, *TERMS, "termGrp", "termNote", *STATUSES)
CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements that hold native code and no text


class Tbx(SegmentFile):
    """A file of concepts, each with terms in several languages."""

    noun: ClassVar[str] = "term pair"

    def segments(self) -> Iterator[Segment]:
        """The file's pairs of terms, concept by concept."""
        for concept in read_elements(self.path, CONCEPTS, ["tbx", "martif"]):
            refuse_entities(self.path, concept, HOLDERS)
            terms: dict[str, list[Term]] = {}
            for language in concept.iterchildren(*map(_in_any_namespace, LANGUAGES)):
                own = terms.setdefault(language.get(XML_LANG) or language.get("lang") or "", [])
                own += map(self._term, language.iterchildren(*map(_in_any_namespace, TERMS)))
            yield from segments_of(concept.get("id"), terms, self._wanted)

    def _term(self, section: etree._Element) -> Term:
        term = next(section.iter("{*}term"), None)
        text = read_text(self.path, term, lambda name, _: Code(has_text=name not in CODES))
        notes = section.iter(*map(_in_any_namespace, ("termNote", *STATUSES)))
        statuses = (note for note in notes if local_name(note) in STATUSES or note.get("type") in STATUS_TYPES)
        return Term(text, is_usable("".join(note.itertext()) for note in statuses))


def _in_any_namespace(name: str) -> str:
    return f"{{*}}{name}"
