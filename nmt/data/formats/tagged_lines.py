"""Training files of IWSLT (train.tags.en-de.en): one sentence per line, between tagged lines that describe a talk."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from nmt.data.formats.referenced import Referenced
from nmt.data.formats.sgml import unescaped
from nmt.data.kinds import TAGGED_LINES, refuse_other_than
from nmt.data.packed import unpacked
from nmt.data.paths import decode_lines
from nmt.errors import DataError

_DESCRIBES = re.compile(
    r"\s*</?(url|keywords|speaker|talkid|reviewer|translator|transcript|transcription|translation|doc|date)\b[^<>]*>",
    re.IGNORECASE,
)
_TEXT = re.compile(r"\s*<(title|description)>(.*?)(</\1>\s*)?$", re.IGNORECASE)


class _Line(NamedTuple):
    kind: str  # title, description or sentence
    text: str
    number: int  # line number in the file, from 1


def read_tagged_lines(src: Path, references: Sequence[Path]) -> Iterator[Referenced]:
    """Yields titles, descriptions and sentences; the N-th of each file belong together. Skips other tagged lines.

    Raises DataError, with both places, if lines of different kinds would be paired, such as a title and a sentence, or
    if one file ends before another.
    """
    for lines in zip_longest(*map(_lines, [src, *references])):
        first = lines[0]
        for path, line in zip(references, lines[1:], strict=True):
            if first is None or line is None or first.kind != line.kind:
                raise DataError(
                    f"{src}{_place(first)}, would be paired with {path}{_place(line)};"
                    " correct the files, so that both have the same titles, descriptions and sentences in order"
                )
        yield Referenced(first.text, {str(path): line.text for path, line in zip(references, lines[1:], strict=True)})


def _place(line: _Line | None) -> str:
    return ", which has ended" if line is None else f", line {line.number}, a {line.kind}"


def _lines(path: Path) -> Iterator[_Line]:
    with unpacked(path) as stream:
        refuse_other_than(TAGGED_LINES, stream, str(path))
        for number, line in enumerate(decode_lines(stream, str(path)), 1):
            if tagged := _TEXT.match(line):
                yield _Line(tagged[1].lower(), unescaped(tagged[2].strip()), number)
            elif not _DESCRIBES.match(line):
                yield _Line("sentence", unescaped(line.strip()), number)
