"""Lines that are too long for one search: cut after sentences, clauses or words, or truncated; never silently."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from nmt.data.tokenizer import Tokenizer
from nmt.scoring.alignment import SPACE, characters
from nmt.translation.translations import Translation

LongLines = Literal["split", "truncate"]

LONGEST_PART = 1000  # source pieces searched at once
CHUNK_CHARACTERS = 10_000  # characters encoded at once: SentencePiece needs a hundred bytes or more for each

_CLOSING = "\"'”’»›)\\]）」』】》"
_SENTENCE = re.compile(rf"[.!?…؟۔।][{_CLOSING}]*(?={SPACE})|[。！？．｡][{_CLOSING}]*")
_CLAUSE = re.compile(rf"[,;:،؛–][{_CLOSING}]*(?={SPACE})|[，；：、､—][{_CLOSING}]*")
_WORD = re.compile(f"(?={SPACE})")


@dataclass(frozen=True)
class Line:
    """A line as it is searched."""

    parts: list[list[int]]  # the pieces of each part; a line without pieces has no parts
    dropped: int  # pieces at the end of the line that are in no part


def read_lines_in_parts(texts: Sequence[str], tokenizer: Tokenizer, long_lines: LongLines) -> list[Line]:
    """The pieces of cleaned texts, in parts of at most LONGEST_PART pieces."""
    chunks = [list(_chunks(text)) for text in texts]
    encoded = iter(tokenizer.encode_batch([chunk for own in chunks for chunk in own]))
    lines = []
    for own in chunks:
        ids = [piece for _ in own for piece in next(encoded)]
        if long_lines == "truncate":
            kept = ids if len(ids) <= LONGEST_PART else ids[: _last_whole(tokenizer.pieces(ids[: LONGEST_PART + 1]))]
            lines.append(Line([kept] if kept else [], len(ids) - len(kept)))
        else:
            lines.append(Line(list(_split(ids, tokenizer)), 0))
    return lines


def _chunks(text: str) -> Iterator[str]:
    """The text in chunks of at most CHUNK_CHARACTERS, cut before a space if possible: words are encoded alone."""
    start = 0
    while len(text) - start > CHUNK_CHARACTERS:
        space = text.rfind(" ", start + 1, start + CHUNK_CHARACTERS + 1)
        end = space if space > 0 else start + CHUNK_CHARACTERS
        yield text[start:end]
        start = end
    yield text[start:]


def _split(ids: list[int], tokenizer: Tokenizer) -> Iterator[list[int]]:
    start = 0
    while len(ids) - start > LONGEST_PART:
        end = start + _end_of_part(tokenizer.pieces(ids[start : start + LONGEST_PART + 1]))
        yield ids[start:end]
        start = end
    if ids:
        yield ids[start:]


def _end_of_part(pieces: list[str]) -> int:
    """How many of LONGEST_PART + 1 pieces make a part, which ends with a sentence, else a clause, else a word."""
    texts = characters(pieces)
    count = {end: number for number, end in enumerate(accumulate(map(len, texts)), start=1)}
    for boundary in (_SENTENCE, _CLAUSE, _WORD):
        ends = (match.end() for match in boundary.finditer("".join(texts)))
        found = [count[end] for end in ends if end and count.get(end, len(pieces)) < len(pieces)]
        if found:
            return found[-1]
    return _last_whole(pieces)


def _last_whole(pieces: list[str]) -> int:
    """How many of LONGEST_PART + 1 pieces to take so that no character, spelled by several byte pieces, is cut."""
    texts = characters(pieces)
    return next(number for number in range(len(pieces) - 1, -1, -1) if texts[number]) or len(pieces) - 1


def note(translation: Translation) -> str | None:
    """How a line that was too long was translated; None for other lines."""
    if translation.dropped:
        count = len(translation.src_pieces)
        pieces = f"{count + translation.dropped:,} pieces"
        kept = f"the first {count:,} are translated"
        if translation.sentences > 1:
            kept = f"{count:,} are translated, the first {LONGEST_PART:,} of each sentence"
        return f"has {pieces}; only {kept} (long_lines=truncate)"
    if translation.parts > translation.sentences:
        pieces = f"{len(translation.src_pieces):,} pieces"
        return f"has {pieces}; translated in {translation.parts:,} parts (long_lines=split)"
    return None
