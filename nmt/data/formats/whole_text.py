"""The text of a small file, which is read as a whole."""

import codecs
import re
from pathlib import Path

from nmt.data.encodings import is_one_byte, is_utf8, likely_encoding, utf16_or_32
from nmt.data.packed import unpacked
from nmt.errors import DataError

MOST_BYTES = 1 << 24  # size limit of a file


def read_whole(path: Path, encoding: str | None, division: str) -> str:
    """The text with unified line ends, decoded as UTF-8 or UTF-16 unless `encoding` names another.

    A file that is UTF-8 stays so beside an `encoding` of one byte: of two files, it may be that of the other.
    Raises DataError for a file that is too large, with `division` as the remedy, and for bytes that are no text.
    """
    content = read_small(path, division)
    if encoding is not None and is_one_byte(codecs.lookup(encoding).name) and is_utf8([content]):
        encoding = None
    charset = encoding or utf16_or_32(content[: 1 << 13]) or "utf-8"
    if codecs.lookup(charset).name == "utf-8":
        charset = "utf-8-sig"
    try:
        text = content.decode(charset)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content.count(b"\n", 0, start) + 1
        wanted = charset.removesuffix("-sig").upper()
        likely = likely_encoding(content[start : start + (1 << 12)]) or ""
        raise DataError(
            f"{path}, line {line}: byte {content[start]:#04x} is not valid {wanted}; set data.encoding"
            f"{likely and f'={likely}'}, or convert the file to UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: has NUL characters; set data.encoding, or name another file")
    return re.sub("\r*\n|\r", "\n", text.removeprefix("\ufeff"))


def read_small(path: Path, division: str) -> bytes:
    """The content of a file, unpacked if it is compressed; refuses a large one, with `division` as the remedy."""
    with unpacked(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES >> 20} MB; {division}")
    return content
