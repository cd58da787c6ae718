"""Recognises the kind of a file by its first bytes, and refuses kinds that a reader does not expect.

The error names the kind of the file and what can read it.
"""

import io
import re
import shlex
from typing import Literal, NamedTuple

from nmt.config.sections import Format
from nmt.data.encodings import conversion, utf16_or_32
from nmt.data.packed import packed_format
from nmt.errors import DataError

HEAD = 1 << 13  # bytes at the beginning of a file that are examined
TABLE_LINES = 10  # fewest lines that show a table, if all have the same number of tabs
NUL_LINES = 0.5  # if a greater share of the lines has NULs, the file is refused; fewer are odd lines of a text
EXTRACT = "nmt does not read it yet: extract its text, one sentence a line"


class Kind(NamedTuple):
    """A kind of file."""

    name: str
    format: Format | None  # value of data.format that reads it
    remedy: str = ""  # other advice

    def __str__(self) -> str:
        """The name and what to do, for errors."""
        reader = f"read it with data={self.format}" if self.format else ""
        return f"{self.name}; {', or '.join(filter(None, (reader, self.remedy)))}"


GETTEXT = Kind("a compiled file of gettext", None, "decompile it: msgunfmt FILE -o FILE.po")
BINARY = {
    b"PAR1": Kind("a Parquet file", "parquet"),
    b"ARROW1": Kind("an Arrow file", "parquet"),
    b"\xff\xff\xff\xff": Kind("a stream of Arrow", "parquet"),
    b"%PDF-": Kind("a PDF document", None, "save its text as plain text"),
    b"{\\rtf": Kind("an RTF document", None, "save its text as plain text"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind("an old Word or Excel file", None, "save it as plain text or CSV"),
    b"7z\xbc\xaf\x27\x1c": Kind("a 7z archive", None, "unpack it, and name the files in it"),
    b"Rar!\x1a\x07": Kind("a RAR archive", None, "unpack it, and name the files in it"),
    b"bplist00": Kind("a compiled file of Apple", None, "name the .strings file that it was made of"),
    b"\xde\x12\x04\x95": GETTEXT,
    b"\x95\x04\x12\xde": GETTEXT,
    b"SQLite format 3\0": Kind("a database, such as a memory of Trados (.sdltm)", None, "export it as TMX"),
    b"\x00\x01\x00\x00Standard ": Kind(
        "a database of Access, such as a termbase of MultiTerm (.sdltb)", None, "export it as MultiTerm XML"
    ),
    b"\x04\x22\x4d\x18": Kind("an lz4 file", None, "unpack it with lz4 -d"),
    b"\x1f\x9d": Kind("a file packed by compress", None, "unpack it with uncompress"),
}
SGML = Kind("SGML of a test set", "sgm", "nmt evaluate src=FILE ref=FILE")
TAGGED_LINES = Kind("text with lines of tags, as IWSLT has it", "sgm")
TBX = Kind("TBX, a glossary", "tbx")
WMT_XML = Kind("WMT XML", "wmt_xml", "nmt evaluate src=FILE without ref")
ROOTS = {
    "tmx": Kind("TMX, a translation memory", "tmx"),
    "xliff": Kind("XLIFF", "xliff"),
    "tbx": TBX,
    "martif": TBX,
    "mtf": Kind("XML of MultiTerm, a glossary", "multiterm"),
    "dataset": WMT_XML,
    "srcset": SGML,
    "refset": SGML,
    "tstset": SGML,
    "mteval": SGML,
    "html": Kind("HTML", None, EXTRACT),
    "ts": Kind("a file of Qt Linguist", "qt"),
    "resources": Kind("a file of strings of Android", "strings"),
}
KEYED_LINES = 3  # fewest lines, all with keys, that show a file of keys
APPLE = Kind("a file of strings of Apple", "strings")
PROPERTIES = Kind("a file of properties, of Java for example", "strings")
YAML = Kind("YAML", "strings")
TEXTS = {  # kinds that all lines of a file's beginning show; comments and empty lines aside
    re.compile(r'(?:"(?:[^"\\]|\\.)*"|[\w.\-]+)\s*=\s*"(?:[^"\\]|\\.)*"\s*;'): APPLE,
    re.compile(r"[\w.\-]+\s*=\s*(?!\".*\";$)\S.*"): PROPERTIES,
    re.compile(r"(?:\s+- |\s*[\w\-]+:(?=\s|$)).*"): YAML,
}
RESX = Kind("a file of resources of .NET", "strings")
JSON = Kind("JSON", "jsonl", "strings of an app, with a name for each text, with data=strings")
JSON_STRINGS = Kind("JSON of several lines", "strings")
ARB = Kind("a file of strings of Flutter", "strings")
StringsKind = Literal["android", "resx", "apple", "properties", "yaml", "json"]
STRINGS_KINDS: dict[str, StringsKind] = {
    **{
        ROOTS["resources"].name: "android",
        RESX.name: "resx",
        APPLE.name: "apple",
        PROPERTIES.name: "properties",
        YAML.name: "yaml",
    },
    **{JSON.name: "json", JSON_STRINGS.name: "json", ARB.name: "json"},
}
STRINGS_SUFFIXES: dict[str, StringsKind] = {
    **{".strings": "apple", ".properties": "properties", ".yml": "yaml", ".yaml": "yaml", ".arb": "json"},
}
_PROLOG = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[.*?\]\s*)?>)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"\s*<([A-Za-z_][\w.:-]*)[\s/>]")
_SEGMENTS = re.compile(r"^\s*<seg id=", re.MULTILINE | re.IGNORECASE)
_RESX = re.compile(r"<(resheader|data)\s+name=")
_TALK = re.compile(r"^\s*<talkid>", re.MULTILINE | re.IGNORECASE)
_PO = re.compile(r'^msgid ".*?^msgstr(\[0\])? "', re.MULTILINE | re.DOTALL)
_SUBTITLES = re.compile(r"\s*(WEBVTT\b|\d+[ \t]*\r?\n\d\d:\d\d:\d\d[,.]\d{3} --> )")
_OTHER_SUBTITLES = re.compile(r"\s*\[Script Info\]|\{\d+\}\{\d+\}")  # SubStation, MicroDVD
_CATALOG = re.compile(r'\s*\{\s*"sourceLanguage"\s*:')
_WORDFAST = re.compile(r"%\d{8}~\d+\t")
_COMMENTED = re.compile(r"\s*(?:$|[#!]|//|/\*|\*)")
_ARB = re.compile(rb'"@@locale"\s*:|"@\w+"\s*:\s*\{')
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*((\[\s*)?\{\s*"[^"]*"\s*:|\[\s*\[\s*")')


def refuse_other_kinds(stream: io.BufferedReader, name: str) -> None:
    """Refuses anything but lines of UTF-8 text; consumes nothing of the stream."""
    refuse_other_formats(stream, name)
    kind = _bytes(stream.peek(HEAD)[:HEAD], name)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def refuse_other_than(wanted: Kind, stream: io.BufferedReader, name: str) -> None:
    """Like `refuse_other_kinds`, but allows markup of the kind `wanted`."""
    head = stream.peek(HEAD)[:HEAD]
    markup = _markup(head)
    kind = _binary(head) or (None if markup == wanted else markup) or _bytes(head, name)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def markup_of(stream: io.BufferedReader) -> Kind | None:
    """The kind of markup in a file: SGML, TAGGED_LINES, WMT_XML or another; None if it has no known markup."""
    return _markup(stream.peek(HEAD)[:HEAD])


def refuse_other_formats(stream: io.BufferedReader, name: str) -> None:
    """Refuses anything but plain text, in any encoding."""
    head = stream.peek(HEAD)[:HEAD]
    kind = _binary(head) or _markup(head)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def refuse_tables(stream: io.BufferedReader, name: str) -> None:
    """Refuses JSON and tables, since the lines should be in one language."""
    head = stream.peek(HEAD)[:HEAD]
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if _JSON.match(head):
        raise DataError(f"{name} is {JSON}")
    tabs = {line.count("\t") for line in lines[: -1 if len(lines) > 1 else None]}
    if len(lines) > TABLE_LINES and len(tabs) == 1 and tabs != {0}:
        raise DataError(f"{name} is a table with tabs; read it with data=tsv")


def kind_of(head: bytes) -> Kind | None:
    """The kind of a file with this beginning; None for text and for tables with delimiters."""
    wide = utf16_or_32(head)
    text = head.decode(wide, "replace").encode() if wide else head
    return _binary(head) or _markup(head) or (_kind_of_json(text) if _JSON.match(text) else None)


def _kind_of_json(head: bytes) -> Kind:
    """Rows, or the strings of an app: an object of several lines, as rows are not."""
    if _ARB.search(head):
        return ARB
    first, end, _ = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    return JSON_STRINGS if first[:1] == b"{" and end and not first.rstrip().endswith(b"}") else JSON


def strings_kind(head: bytes, suffix: str) -> StringsKind | None:
    """The kind of a file of strings with this beginning and this suffix of its name; None if it seems to be none."""
    kind = kind_of(head)
    if suffix in STRINGS_SUFFIXES and kind in (
        None,
        APPLE,
        PROPERTIES,
        YAML,
    ):  # the lines of one may look like another's
        return STRINGS_SUFFIXES[suffix]
    return None if kind is None else STRINGS_KINDS.get(kind.name)


def _binary(head: bytes) -> Kind | None:
    packed = packed_format(head)
    if packed is not None:
        return Kind(f"{packed} data", None, "unpack it first")
    if head[257:262] == b"ustar":
        return Kind("a tar archive", None, "unpack it, and name the files in it")
    return next((kind for magic, kind in BINARY.items() if head.startswith(magic)), None)


def _markup(head: bytes) -> Kind | None:
    """The kind of a text in a known format, in any encoding; None for other text."""
    text = head.decode(utf16_or_32(head) or "utf-8", "replace").removeprefix("\ufeff")
    start = text
    while prolog := _PROLOG.match(start):
        start = start[prolog.end() :]
    found = _TAG.match(start)
    root = found[1].lower() if found else ""
    if (kind := ROOTS.get(root.rpartition(":")[2])) is not None:  # without the prefix of a namespace
        return kind
    if root == "root" and _RESX.search(text):
        return RESX
    if _SEGMENTS.search(text):
        return SGML
    if _TALK.search(text):
        return TAGGED_LINES
    if re.match(r"\s*<(\?xml|!DOCTYPE)\b", text, re.IGNORECASE):
        return Kind(f"XML{root and f' (<{root}>)'}", None, EXTRACT)
    if _PO.search(text):
        return Kind("PO, a file of gettext", "po")
    if _SUBTITLES.match(text):
        return Kind("a file of subtitles", "subtitles")
    if _OTHER_SUBTITLES.match(text):
        return Kind("a file of subtitles in another format", None, "convert it to SubRip: ffmpeg -i FILE FILE.srt")
    if _CATALOG.match(text):
        return Kind("a string catalog of Xcode", None, "export it as XLIFF: Product, Export Localizations")
    if _WORDFAST.match(text):
        return Kind("a memory of Wordfast", None, "export it as TMX")
    return _keyed(text)


def _keyed(text: str) -> Kind | None:
    """The kind of a file with a key in each line."""
    lines = [line.rstrip() for line in text.split("\n")]
    lines = [line for line in lines[: -1 if len(lines) > 1 else None] if not _COMMENTED.match(line)]
    if len(lines) < KEYED_LINES:
        return None
    found = next((kind for line, kind in TEXTS.items() if all(map(line.fullmatch, lines))), None)
    names = [line.split(":")[0] for line in lines if not line[0].isspace()]
    is_dialogue = not lines[0].endswith(":") or len(set(names)) < len(names)
    return None if found == YAML and is_dialogue else found


def _bytes(head: bytes, name: str) -> Kind | None:
    """The kind of a file that is not UTF-8 with line ends; None if it may be."""
    wide, file = utf16_or_32(head), shlex.quote(name)
    if wide is not None:
        return Kind(f"{wide[:6]} text, not UTF-8", None, f"convert it: {conversion(wide, name)}")
    lines = head.splitlines()
    if sum(b"\0" in line for line in lines) > NUL_LINES * len(lines):
        return Kind("binary, or text with NUL bytes", None, f"delete them: tr -d '\\000' < {file} > clean.txt")
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        remedy = f"convert them: tr '\\r' '\\n' < {file} > lines.txt"
        return Kind("text with line ends of CR alone", None, remedy)
    return None
