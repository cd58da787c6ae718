"""Plain text files, from bytes to lines and back. Encoding, byte-order mark and line ends stay as they are."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.data.encodings import likely_encoding, utf16_or_32
from nmt.serve.refusal import Refusal

LINE_END = re.compile("(\r\n|\n|\r)")
MOST_LINES = 200_000  # of a file: each takes memory and time, even an empty one


@dataclass(frozen=True)
class TextFile:
    """The byte-order mark, the lines, and the line end after each ("" after the last)."""

    mark: bytes
    lines: list[str]
    ends: list[str]

    def with_lines(self, lines: Sequence[str]) -> bytes:
        """The same file with other lines."""
        text = "".join(line + end for line, end in zip(lines, self.ends, strict=True))
        return self.mark + text.encode("utf-8", "replace")


def read_text_file(content: bytes) -> TextFile:
    """The lines of a file. Raises Refusal: 400, with the probable encoding, if it is not UTF-8; 413 if it is long."""
    name = utf16_or_32(content[:4096])
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    if name is None:
        try:
            text = content[len(mark) :].decode("utf-8")
        except UnicodeDecodeError:
            name = likely_encoding(content[: 1 << 16]) or "an encoding of its own"
    if name is not None:
        raise Refusal(400, f"the file is probably in {name}, not in UTF-8; save it as UTF-8 and send it again")
    if "\0" in text:
        raise Refusal(400, "the file is not a text; it has zero bytes")
    if text.count("\n") + text.count("\r") - text.count("\r\n") > MOST_LINES:
        raise Refusal(413, f"the file has more than {MOST_LINES:,} lines; send it in parts")
    parts = LINE_END.split(text)
    return TextFile(mark, parts[::2], [*parts[1::2], ""])
