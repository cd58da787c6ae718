"""Localisation files of gettext."""

import codecs
import gettext
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polib

from nmt.config.languages import language_of
from nmt.data.encodings import is_one_byte, is_utf8
from nmt.data.formats.languages import sides_of
from nmt.data.formats.segment import Segment, State
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.whole_text import read_small
from nmt.errors import DataError, printable

HEADER_BYTES = 1 << 16  # the header's charset must be within this many bytes
SEVERAL = 100  # takes the general plural in every language, never the form for 0, 1 or a few
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7")
_CHARSET = re.compile(rb"Content-Type:[^\"\n]*?charset=([\w.:\-]+)", re.IGNORECASE)
_STRING = re.compile(
    r'(?:#~\s*)?(?:(?P<keyword>msg(?:ctxt|id|id_plural|str)\b(?:\[\d+\])?)\s*|(?="))(?P<string>.*)', re.DOTALL
)
_COMMENT = re.compile(r"\s*#(?![,~])")
_WHOLE_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WINDOWS = re.compile("[\x80-\x9f]")  # in ISO-8859-1 they are control characters, so the text is Windows-1252
ODD_FORMS = {("ar", 6): (1, 5), ("lv", 3): (0, 1)}  # forms for one and for several that are not the first and the last
_PLACE = re.compile(r"\(line (\d+)\)(?:: (.*))?")


class Po(SegmentFile):
    """A PO file. A message gives one segment, or two if it has a plural."""

    def segments(self) -> Iterator[Segment]:
        """The file's segments, without the header."""
        file = self._parsed()
        languages = _languages(file.metadata, english=any(wanted.fit("en") for wanted in self._wanted))
        chosen = sides_of(languages, self._wanted)
        rule = _plurals(file.metadata.get("Plural-Forms", ""))
        language = language_of(languages[1])
        for entry in file:
            for pair in _pairs(entry, rule, language):
                src, tgt = (None if side is None else (pair[side],) for side in chosen)
                yield Segment(None, src, tgt, languages, entry.msgctxt, _state(entry))

    def _parsed(self) -> polib.POFile:
        text = self._joined(self._text())
        with TemporaryDirectory() as folder:  # polib splits text in memory into lines where gettext does not
            copy = Path(folder) / "copy.po"
            copy.write_text(text, encoding="utf-8", newline="")
            try:
                return polib.pofile(str(copy), encoding="utf-8")
            except OSError as error:
                place = _PLACE.search(str(error))
                raise self._malformed(int(place[1]) if place else 1, (place and place[2]) or "wrong syntax") from error

    def _joined(self, text: str) -> str:
        """The text without comments and with each string joined on its first line; line numbers stay the same.

        polib takes quadratic time for a string or a comment of many lines.
        """
        lines = text.split("\n")
        strings: dict[int, list[str]] = {}  # continuation lines of each string, by the number of its first line
        first = None
        for number, line in enumerate(lines):
            string = _STRING.match(line.strip())
            if string is None:
                first = None if line.strip() else first
                lines[number] = "" if _COMMENT.match(line) else re.sub(r"^\s*#,(?=\S)", "#, ", line)
                continue
            if not _WHOLE_STRING.fullmatch(string["string"]):
                raise self._malformed(number + 1, "a string without quotation marks")
            if string["keyword"]:
                first, strings[number] = number, []
            elif first is not None:
                strings[first].append(string["string"][1:-1])
                lines[number] = ""
        for number, more in strings.items():
            lines[number] = lines[number].rstrip()[:-1] + "".join(more) + '"'
        return "\n".join(lines)

    def _malformed(self, line: int, reason: str) -> DataError:
        return DataError(
            f"{self.path}, line {line}: not a PO file ({printable(reason)}); correct the file, or name another data="
        )

    def _text(self) -> str:
        """The content with unified line ends, decoded as the header says; UTF-8 is the default, a BOM shows UTF-16."""
        content = read_small(self.path, "divide it (msgsplit, or one per program)")
        found = _CHARSET.search(content[:HEADER_BYTES])
        charset = "UTF-8" if found is None or found[1] == b"CHARSET" else found[1].decode()
        line = 1 if found is None else content.count(b"\n", 0, found.start()) + 1
        if content.startswith(UTF16):
            charset = "UTF-16"
        try:
            name = codecs.lookup(charset).name
            if name in NO_CHARSETS:
                raise LookupError
            text = content.decode("utf-8-sig" if name == "utf-8" else name)
        except LookupError:
            raise DataError(
                f"{self.path}, line {line}: charset={charset} is unknown; correct it, such as charset=UTF-8"
            ) from None
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            line = content.count(b"\n", 0, start) + 1
            raise DataError(
                f"{self.path}, line {line}: byte {content[start]:#04x} is not valid {charset}, the charset of the file;"
                " convert it, or correct charset= in its header"
            ) from error
        if is_one_byte(name) and is_utf8([content]):
            raise DataError(
                f"{self.path}, line {line}: its header names charset={charset}, but its text is UTF-8; correct it there"
            )
        if name == "iso8859-1" and _WINDOWS.search(text):
            with suppress(UnicodeDecodeError):
                text = content.decode("cp1252")
        return re.sub("\r*\n|\r", "\n", text)


def _languages(header: Mapping[str, str], english: bool) -> tuple[str, str]:
    """The languages of messages and translations that a header names; messages are in English if it names none.

    They are in an unknown language if the corpus is not of English.
    """
    team = re.match(r"[^\W\d_]+", header.get("Language-Team", ""))
    named = (header.get("Language"), header.get("X-Poedit-Language"), team[0] if team else None)
    target = next((name for name in named if name and language_of(name.split(".")[0])), "")
    return header.get("X-Source-Language", "en" if english else ""), target


class Plurals(NamedTuple):
    """The rule of a header."""

    forms: int  # of each message
    one: int  # number of the form for one
    several: int  # of the form for several


def _pairs(entry: polib.POEntry, rule: Plurals | None, language: str | None) -> Iterator[tuple[str, str]]:
    """Source and translation of the singular and, if there is one, of the plural.

    The header's rule is not that of a message with another number of forms. Its form for one is then the first, and
    that for several the last, but in a few languages.
    """
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    translations = entry.msgstr_plural or {0: ""}
    one, several = ODD_FORMS.get((language or "", len(translations)), (min(translations), max(translations)))
    if rule is not None and rule.forms == len(translations) and {rule.one, rule.several} <= set(translations):
        one, several = rule.one, rule.several
    yield entry.msgid, translations[one]
    yield entry.msgid_plural, translations[several]


def _plurals(header: str) -> Plurals | None:
    """The rule of a header; None: no rule that can be read.

    The standard library compiles the rule, and accepts only n, numbers and operators.
    """
    rule = re.search(r"nplurals\s*=\s*(\d{1,3})\s*;.*?\bplural\s*=\s*([^;]+)", header, re.DOTALL)
    if rule is None:
        return None
    try:
        form = gettext.c2py(rule[2].strip())
        return Plurals(int(rule[1]), form(1), form(SEVERAL))
    except (ValueError, ArithmeticError, RecursionError, SyntaxError):  # SyntaxError: n != !1
        return None


def _state(entry: polib.POEntry) -> State | None:
    if entry.obsolete:
        return "obsolete"
    return "fuzzy" if "fuzzy" in entry.flags else None
