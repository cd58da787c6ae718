"""Translations of Qt: the .ts files of Qt Linguist.

Source: https://doc.qt.io/qt-6/linguist-ts-file-format.html
"""

from collections.abc import Iterator

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.languages import sides_of
from nmt.data.formats.segment import Mark, Segment, State, Text
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.xml_stream import read_elements, refuse_entities

HOLDERS = {"message", "translation"}  # elements that may hold elements with text
STATES: dict[str | None, State] = {  # by the type of a translation; None: somebody has finished it
    None: "approved",
    "unfinished": "fuzzy",
    "obsolete": "obsolete",
    "vanished": "obsolete",
}


class Qt(SegmentFile):
    """A file of messages, each with its translation."""

    def segments(self) -> Iterator[Segment]:
        """The file's messages; the languages that it names decide which side is which.

        The source has one text for every number ("%n file(s)"). It is paired with the last form of the translation,
        the general one in almost all languages; the other forms are surplus.
        """
        for message in read_elements(self.path, ["message"], ["ts"]):
            refuse_entities(self.path, message, HOLDERS)
            root = message.getroottree().getroot()
            languages = (root.get("sourcelanguage") or "", root.get("language") or "")
            translation = next(message.iterchildren("{*}translation"), None)
            source = self._text(next(message.iterchildren("{*}source"), None))
            forms = [None] if translation is None else [self._text(form) for form in _forms(translation)]
            state = None if translation is None else STATES.get(translation.get("type"))
            for form in forms[:-1]:
                yield Segment(message.get("id"), form, form, languages, None, "surplus")
            texts = (source, forms[-1])
            src, tgt = (None if side is None else texts[side] for side in sides_of(languages, self._wanted))
            yield Segment(message.get("id"), src, tgt, languages, None, state)

    def _text(self, element: etree._Element | None) -> Text:
        """The text, or the first of its variants, which is the longest one."""
        variant = None if element is None else next(element.iterchildren("{*}lengthvariant"), None)
        return read_text(self.path, element if variant is None else variant, _code)


def _code(name: str, code: etree._Element) -> Code:
    return Code(Mark("single", code.get("value") or name), None, False)  # <byte>: a character that XML cannot hold


def _forms(translation: etree._Element) -> list[etree._Element]:
    """The form for each number, or the one translation."""
    return list(translation.iterchildren("{*}numerusform")) or [translation]
