"""Test sets in SGML, as from NIST and WMT, and in XML with the same tags, as from IWSLT (<mteval>).

SGML is not XML: `&` may be unescaped, attributes may lack quotes, end tags may be missing, and tags are in any case.
Only tags that matter here are recognised; other tags are text. Only XML's five entities and numeric character
references are decoded.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nmt.data.kinds import SGML, refuse_other_than
from nmt.data.packed import unpacked
from nmt.data.paths import decode_lines
from nmt.errors import DataError, printable

SETS = ("srcset", "refset", "tstset")
ANY_LANGUAGE = "any"
LONGEST_TAG = 1 << 13  # characters
LONGEST_SEGMENT = 1 << 23
_NAMES = "srcset|refset|tstset|mteval|doc|hl|p|seg"
_TAG = re.compile(rf"<!--|<(/?)({_NAMES})(?=[\s/>])([^<>]*)>", re.IGNORECASE)
_UNFINISHED = re.compile(rf"</?({_NAMES})(\s[^<>]*)?$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"']+)""")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class SgmlSegment(NamedTuple):
    """A sentence of a document."""

    language: str  # as the file writes it; "" if it names no language
    document: str
    number: str  # the id within the document
    version: str  # the sysid: who translated the document; "" if the file does not say
    text: str  # on one line
    line: int  # line number of the <seg> tag, from 1


def read_sgml(path: Path) -> Iterator[SgmlSegment]:
    """Yields the segments of a file in UTF-8, compressed or not, in bounded memory.

    Raises DataError, with the line, for a segment without id or document, for a tag or segment that does not end, and
    for a file with two kinds of set. Raises DataError for a file without segments, too.
    """
    scanner = _Scanner(path)
    found = False
    with unpacked(path) as stream:
        refuse_other_than(SGML, stream, str(path))
        for line in decode_lines(stream, str(path)):
            for segment in scanner.feed(f"{line}\n"):
                found = True
                yield segment
    scanner.end()
    if not found:
        raise DataError(f"{path} has no <seg id=…>; name another file, or another data=")


class _Scanner:
    """Finds the segments of a file that is fed line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 0
        self._rest = ""  # an unfinished tag at the end of the last line
        self._in_comment = False
        self._set: str | None = None
        self._language = ""
        self._document: tuple[str, str] | None = None  # id, version
        self._open: tuple[str, int] | None = None  # id and line of the segment that is being read
        self._text: list[str] = []
        self._length = 0

    def feed(self, line: str) -> Iterator[SgmlSegment]:
        """The segments that end in this line."""
        self._line += 1
        text, place = self._rest + line, 0
        self._rest = ""
        while True:
            if self._in_comment:
                end = text.find("-->", place)
                if end < 0:
                    return
                self._in_comment, place = False, end + 3
            tag = _TAG.search(text, place)
            if tag is None:
                break
            self._add(text[place : tag.start()])
            place = tag.end()
            if tag[2] is None:
                self._in_comment = True
            else:
                yield from self._tag(tag[2].lower(), bool(tag[1]), tag[3])
        last = text.rfind("<", place)
        if last >= 0 and _UNFINISHED.match(text, last):
            self._rest = text[last:]
            self._refuse_long_tag(self._rest)
            self._add(text[place:last])
        else:
            self._add(text[place:])

    def end(self) -> None:
        """Refuses a file that ends within a segment or a comment."""
        if self._rest or self._open is not None or self._in_comment:
            within = "a comment" if self._in_comment else "a segment" if self._open is not None else "a tag"
            raise DataError(f"{self._path}, line {self._line}: the file ends within {within}; download it again")

    def _tag(self, name: str, closes: bool, inner: str) -> Iterator[SgmlSegment]:
        self._refuse_long_tag(inner)
        if self._open is not None:  # any tag ends a segment, because </seg> may be missing
            yield self._segment(*self._open)
        if name == "doc" or name in SETS:
            self._document = None
        if closes:
            return
        attributes = {key.lower(): unescaped(value.strip("\"'")) for key, value in _ATTRIBUTE.findall(inner)}
        if name in SETS:
            if self._set not in (None, name):
                raise DataError(
                    f"{self._path}, line {self._line}: <{name}> after <{self._set}>; write each into a file of its own"
                )
            self._set = name
            language = attributes.get("srclang" if name == "srcset" else "trglang", "")
            self._language = "" if language.lower() == ANY_LANGUAGE else language
        elif name == "doc":
            document = attributes.get("docid", attributes.get("id"))
            if document is None:
                raise DataError(f"{self._path}, line {self._line}: <doc> without docid; write docid=… there")
            self._document = document, attributes.get("sysid", "")
        elif name == "seg":
            if self._document is None:
                raise DataError(f"{self._path}, line {self._line}: <seg> outside of <doc docid=…>; put it into one")
            if "id" not in attributes:
                raise DataError(f"{self._path}, line {self._line}: <seg> without id; write id=… there")
            self._open = attributes["id"], self._line

    def _segment(self, number: str, line: int) -> SgmlSegment:
        assert self._document is not None
        document, version = self._document
        text = " ".join(unescaped("".join(self._text)).split("\n")).strip()
        self._open, self._text, self._length = None, [], 0
        return SgmlSegment(self._language, document, number, version, text, line)

    def _add(self, text: str) -> None:
        if self._open is None:
            return
        self._text.append(text)
        self._length += len(text)
        if self._length > LONGEST_SEGMENT:
            raise DataError(
                f"{self._path}, line {self._open[1]}: <seg id={printable(self._open[0])[:40]}> does not end within"
                f" {LONGEST_SEGMENT >> 20} million characters; name another file, or another data="
            )

    def _refuse_long_tag(self, tag: str) -> None:
        if len(tag) > LONGEST_TAG:
            raise DataError(
                f"{self._path}, line {self._line}: a tag of more than {LONGEST_TAG:,} characters; correct the file"
            )


def unescaped(text: str) -> str:
    """The text with XML's five entities and numeric character references decoded once; other entities stay."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name is not None:
        return _CHARACTERS[name]
    code = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF else found[0]
