"""Files that are not the text that they are taken for: known by their first bytes, and named with what reads them."""

import io
import re
import shlex
from typing import cast

from nmt.config.sections import Format
from nmt.data.encodings import utf16_or_32
from nmt.data.packed import packed_format
from nmt.errors import DataError

HEAD = 1 << 13  # bytes that are looked at
TABLE_LINES = 10  # that must have the same number of tabs
NUL_LINES = 0.5  # of the lines hold NULs; fewer are odd lines of a text
EXTRACT = "nmt does not read it yet: extract its text, one sentence a line"
BINARY = {
    b"PAR1": "a Parquet file; read it with data=parquet",
    b"ARROW1": "an Arrow file; read it with data=parquet",
    b"\xff\xff\xff\xff": "a stream of Arrow; read it with data=parquet",
    b"%PDF-": "a PDF document; save its text as plain text",
    b"{\\rtf": "an RTF document; save its text as plain text",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Word or Excel file; save it as plain text or CSV",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it, and name the files in it",
    b"Rar!\x1a\x07": "a RAR archive; unpack it, and name the files in it",
    b"\x04\x22\x4d\x18": "an lz4 file; unpack it with lz4 -d",
    b"\x1f\x9d": "a file packed by compress; unpack it with uncompress",
}
SGML = "SGML of a test set; read it with data=sgm, or nmt evaluate src=FILE ref=FILE"
TAGGED_LINES = "text with lines of tags, as IWSLT has it; read it with data=sgm"
WMT_XML = "WMT XML; read it with data=wmt_xml, or nmt evaluate src=FILE without ref"
ROOTS = {
    "tmx": "TMX, a translation memory; read it with data=tmx",
    "xliff": "XLIFF; read it with data=xliff",
    "dataset": WMT_XML,
    "srcset": SGML,
    "refset": SGML,
    "tstset": SGML,
    "mteval": SGML,
    "html": f"HTML; {EXTRACT}",
}
_READ_WITH = re.compile(r"read it with data=(\w+)")
_PROLOG = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[.*?\]\s*)?>)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"\s*<([A-Za-z_][\w.:-]*)[\s/>]")
_SEGMENTS = re.compile(r"^\s*<seg id=", re.MULTILINE | re.IGNORECASE)
_TALK = re.compile(r"^\s*<talkid>", re.MULTILINE | re.IGNORECASE)
_PO = re.compile(r'^msgid ".*?^msgstr(\[0\])? "', re.MULTILINE | re.DOTALL)
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*"[^"]*"\s*:')


def refuse_other_kinds(stream: io.BufferedReader, name: str) -> None:
    """Refuses what is no text in lines of UTF-8; nothing is taken from the stream."""
    refuse_other_formats(stream, name)
    kind = _bytes(stream.peek(HEAD)[:HEAD], name)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def refuse_other_than(wanted: str, stream: io.BufferedReader, name: str) -> None:
    """The same, but markup of this kind, or of none that is known, is not refused."""
    head = stream.peek(HEAD)[:HEAD]
    markup = _markup(head)
    kind = _binary(head) or (None if markup == wanted else markup) or _bytes(head, name)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def markup_of(stream: io.BufferedReader) -> str | None:
    """What a file of markup is, and what reads it: SGML, TAGGED_LINES, WMT_XML, or others; None: it is none."""
    return _markup(stream.peek(HEAD)[:HEAD])


def refuse_other_formats(stream: io.BufferedReader, name: str) -> None:
    """Refuses what is no plain text, in whichever encoding."""
    head = stream.peek(HEAD)[:HEAD]
    kind = _binary(head) or _markup(head)
    if kind is not None:
        raise DataError(f"{name} is {kind}")


def refuse_tables(stream: io.BufferedReader, name: str) -> None:
    """Refuses JSON and tables, which lines of one language are not."""
    head = stream.peek(HEAD)[:HEAD]
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if _JSON.match(head):
        raise DataError(f"{name} is JSON; read it with data=jsonl")
    tabs = {line.count("\t") for line in lines[: -1 if len(lines) > 1 else None]}
    if len(lines) > TABLE_LINES and len(tabs) == 1 and tabs != {0}:
        raise DataError(f"{name} is a table with tabs; read it with data=tsv")


def format_of(head: bytes) -> Format | None:
    """The format that reads what begins like this: one of tables and files of segments; None: it is none of these."""
    kind = _binary(head) or _markup(head) or ("read it with data=jsonl" if _JSON.match(head) else "")
    found = _READ_WITH.search(kind)
    return None if found is None else cast(Format, found[1])


def _binary(head: bytes) -> str | None:
    packed = packed_format(head)
    if packed is not None:
        return f"{packed} data; unpack it first"
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it, and name the files in it"
    return next((kind for magic, kind in BINARY.items() if head.startswith(magic)), None)


def _markup(head: bytes) -> str | None:
    """Formats of text, in whichever encoding."""
    text = head.decode(utf16_or_32(head) or "utf-8", "replace").removeprefix("\ufeff")
    start = text
    while prolog := _PROLOG.match(start):
        start = start[prolog.end() :]
    found = _TAG.match(start)
    root = found[1].lower() if found else ""
    if root in ROOTS:
        return ROOTS[root]
    if _SEGMENTS.search(text):
        return SGML
    if _TALK.search(text):
        return TAGGED_LINES
    if re.match(r"\s*<(\?xml|!DOCTYPE)\b", text, re.IGNORECASE):
        return f"XML{root and f' (<{root}>)'}; {EXTRACT}"
    if _PO.search(text):
        return "PO, a file of gettext; read it with data=po"
    return None


def _bytes(head: bytes, name: str) -> str | None:
    """Text in bytes that are not those of UTF-8 with line ends."""
    wide, file = utf16_or_32(head), shlex.quote(name)
    if wide is not None:
        return f"{wide[:6]} text, not UTF-8; convert it: iconv -f {wide} -t UTF-8 < {file} > utf8.txt"
    lines = head.splitlines()
    if sum(b"\0" in line for line in lines) > NUL_LINES * len(lines):
        return f"binary, or text with NUL bytes; delete them: tr -d '\\000' < {file} > clean.txt"
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        return f"text with line ends of CR alone; convert them: tr '\\r' '\\n' < {file} > lines.txt"
    return None
