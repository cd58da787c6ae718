"""Localisation files in XLIFF 1.2 and 2.x."""

from collections.abc import Iterator

from lxml import etree

from nmt.data.formats.inline import Code, breaks_line, read_text
from nmt.data.formats.languages import sides_of
from nmt.data.formats.segment import Kind, Mark, Segment, State
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.xml_stream import read_elements, refuse_entities

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
STATES: dict[str, State] = {
    # 1.2
    "new": "untranslated",
    "needs-translation": "untranslated",
    "needs-l10n": "untranslated",
    "needs-review-translation": "fuzzy",
    "needs-review-l10n": "fuzzy",
    "signed-off": "approved",
    # 2.x
    "initial": "untranslated",
    "reviewed": "approved",
    # both
    "translated": "approved",
    "final": "approved",
}
TRADOS: dict[str, State] = {
    "Draft": "fuzzy",
    "RejectedTranslation": "fuzzy",
    "RejectedSignOff": "fuzzy",
    "Translated": "approved",
    "ApprovedTranslation": "approved",
    "ApprovedSignOff": "approved",
}
MEMOQ_UNFINISHED = ("NotStarted", "PreTranslated", "PartiallyEdited", "Rejected")
PAIRED = ("g", "pc")  # elements with text between two ends
ENDS: dict[str, Kind] = {"bx": "open", "bpt": "open", "sc": "open", "ex": "close", "ept": "close", "ec": "close"}
ORIGINALS = ("internal-file", "bin-source", "bin-target")  # elements with whole documents, such as Word files
SINGLE = ("x", "ph", "it", "cp")
HOLDERS = ("trans-unit", "unit", "segment")  # elements that hold elements with text


class Xliff(SegmentFile):
    """An XLIFF file. Version 1.2 has units, which tools may divide into segments; version 2 has segments."""

    def segments(self) -> Iterator[Segment]:
        """The file's segments; the languages that the file names decide which side is which."""
        for unit in read_elements(self.path, ["trans-unit", "unit"], ["xliff"], ORIGINALS):
            refuse_entities(self.path, unit, HOLDERS)
            if unit.tag.endswith("trans-unit"):
                yield from self._of_version_1(unit)
            else:
                yield from self._of_version_2(unit)

    def _of_version_1(self, unit: etree._Element) -> Iterator[Segment]:
        file = next(unit.iterancestors("{*}file"), unit)
        target = _child(unit, "target")
        state = _state_of_version_1(unit, target)
        languages = (
            file.get("source-language") or "",
            (None if target is None else target.get(XML_LANG)) or file.get("target-language") or "",
        )
        for source, translation in _divided(unit, target):
            own = _state_of_tool(unit, translation)
            yield self._segment(unit, source, translation, languages, unit.get("resname"), own or state)

    def _of_version_2(self, unit: etree._Element) -> Iterator[Segment]:
        root = unit.getroottree().getroot()
        languages = (root.get("srcLang") or "", root.get("trgLang") or "")
        for segment in unit.iterchildren("{*}segment"):
            state = STATES.get(segment.get("state") or "")
            source, target = _child(segment, "source"), _child(segment, "target")
            yield self._segment(unit, source, target, languages, unit.get("name"), state)

    def _segment(
        self,
        unit: etree._Element,
        source: etree._Element | None,
        target: etree._Element | None,
        languages: tuple[str, str],
        context: str | None,
        state: State | None,
    ) -> Segment:
        codes = _Codes(unit)
        state = "exempt" if _is_exempt(unit) else state
        texts = [read_text(self.path, source, codes.read)]
        texts += [] if target is None else [read_text(self.path, target, codes.read)]
        src, tgt = (
            None if side is None or side == len(texts) else texts[side] for side in sides_of(languages, self._wanted)
        )
        return Segment(unit.get("id"), src, tgt, languages, context, state)


class _Codes:
    """The codes of one unit."""

    def __init__(self, unit: etree._Element) -> None:
        self._data = {data.get("id"): data.text for data in unit.iterfind("{*}originalData/{*}data")}

    def read(self, name: str, code: etree._Element) -> Code:
        own = code.get("id") or ""
        if name in PAIRED:
            return Code(Mark("open", own), Mark("close", own))
        if name in ENDS:
            pair = code.get("rid") or code.get("startRef") or own
            return Code(Mark(ENDS[name], pair), has_text=False)
        if name in SINGLE:
            types = (code.get(key) for key in ("ctype", "type", "subType"))
            return Code(Mark("single", own, breaks_line(*types, code=self._content(code))), has_text=False)
        if code.get("mtype") == "x-sdl-deleted":
            return Code(has_text=False)
        return Code()  # mrk, sm and em annotate text

    def _content(self, code: etree._Element) -> str | None:
        """The native code: in the unit's originalData, in the code itself or in one of its attributes."""
        named = (code.get(key) for key in ("equiv-text", "equiv", "disp"))
        return next(filter(None, [self._data.get(code.get("dataRef")), code.text, *named]), None)


def _child(element: etree._Element, name: str) -> etree._Element | None:
    return next(element.iterchildren(f"{{*}}{name}"), None)


def _is_exempt(unit: etree._Element) -> bool:
    """Does the unit, or else the closest element around it that says anything of it, say translate="no"?"""
    said = (element.get("translate") for element in (unit, *unit.iterancestors()))
    return next(filter(None, said), "yes") == "no"


def _state_of_version_1(unit: etree._Element, target: etree._Element | None) -> State | None:
    state = None if target is None else STATES.get(target.get("state") or "")
    if target is not None and target.get("state-qualifier") == "fuzzy-match" and state != "approved":
        return "fuzzy"
    return "approved" if state is None and unit.get("approved") == "yes" else state


def _state_of_tool(unit: etree._Element, target: etree._Element | None) -> State | None:
    """What attributes of Trados Studio (of each segment) and memoQ (of the unit) say; None if they say nothing."""
    number = None if target is None else target.get("mid")
    segments = unit.iterfind("{*}seg-defs/{*}seg")
    about = next((each for each in segments if each.get("id") == number), None)
    if about is not None:
        status, percent = about.get("conf"), about.get("percent")
        return TRADOS.get(status or "") or ("fuzzy" if percent not in (None, "100") and status is None else None)
    named = {key.rpartition("}")[2]: value for key, value in unit.attrib.items() if key.startswith("{")}
    exact = named.get("status") == "PreTranslated" and named.get("percent") in ("100", "101", "102")
    return "fuzzy" if named.get("status") in MEMOQ_UNFINISHED and not exact else None


def _divided(
    unit: etree._Element, target: etree._Element | None
) -> Iterator[tuple[etree._Element | None, etree._Element | None]]:
    """Source and target of a version 1.2 unit, or of each of its segments if a tool has divided both sides."""
    whole = _child(unit, "source")
    sources = _marked(_child(unit, "seg-source"))
    targets = _marked(target)
    if not sources or (target is not None and not targets):
        yield whole, target
        return
    for number in dict.fromkeys((*sources, *targets)):
        yield sources.get(number), targets.get(number)


def _marked(element: etree._Element | None) -> dict[str, etree._Element]:
    """The segments of one side by their numbers; none if they do not have numbers of their own."""
    marks = [] if element is None else [each for each in element.iter("{*}mrk") if each.get("mtype") == "seg"]
    found = {number: mark for mark in marks if (number := mark.get("mid")) is not None}
    return found if len(found) == len(marks) else {}
