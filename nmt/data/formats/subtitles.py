"""Subtitles, in a file for each language: what is on the screen at the same time belongs together.

Source: J. Tiedemann (2007), Improved sentence alignment for movie subtitles: time overlaps align better than lengths.
"""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from nmt.data.formats.segment import Segment, State
from nmt.data.formats.two_files import TwoFiles
from nmt.data.formats.whole_text import read_whole
from nmt.errors import DataError

SHARE = 0.5  # two cues belong together if they overlap for more than this share of the shorter one
MOST_CUES = 4  # of one language in a passage
LONGEST_GAP = 2.0  # seconds between cues of one sentence
LONGEST, MOST_AT_ONCE = 60.0, 300  # seconds that a cue counts, and most cues within them: all that overlap are compared
_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[,.](\d{1,3}))?"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(\s.*)?")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<[\d:.]+>|\{\\[^{}]*\}")  # HTML, WebVTT's times within a cue, SubStation's codes
_DASH = re.compile(r"^[-–—]\s*(?=\S)", re.MULTILINE)  # of a change of speakers
_SENTENCE_END = re.compile(r"[.!?…。！？:\"'”’»)\]♪]\s*$")


class Cue(NamedTuple):
    """A text and the seconds from the film's beginning between which it is on the screen."""

    start: float
    end: float
    text: str


class Passage(NamedTuple):
    """Cues of both languages that are on the screen at the same time."""

    src: Sequence[Cue]
    tgt: Sequence[Cue]


class Subtitles(TwoFiles):
    """Two files of subtitles, SubRip (.srt) or WebVTT (.vtt), of one film with the same times."""

    noun: ClassVar[str] = "passage"

    def segments(self) -> Iterator[Segment]:
        """A segment for each passage: cues that overlap, and following cues that go on with the sentence."""
        src, tgt = (read_cues(path, self._encoding) for path in (self.path, self._tgt_path))
        for passage in joined_sentences(passages(src, tgt)):
            sides = [(" ".join(cue.text for cue in cues),) if cues else None for cues in passage]
            state: State | None = "unclear" if max(map(len, passage)) > MOST_CUES else None
            yield Segment(None, sides[0], sides[1], (), None, state)


def read_cues(path: Path, encoding: str | None) -> list[Cue]:
    """The cues of a file that have a text, in the order of time. Comments and styles of WebVTT are no cues."""
    cues: list[tuple[float, float, list[str]]] = []
    within, before = False, ""
    for line in read_whole(path, encoding, "name the file of one film").split("\n"):
        times = _TIMES.fullmatch(line)
        if times is not None:
            if within and before.strip().isdecimal() and cues[-1][2]:  # the next cue's number, without an empty line
                cues[-1][2].pop()
            cues.append((_seconds(*times.groups()[:4]), _seconds(*times.groups()[4:8]), []))
            within = True
        elif not line.strip():
            within = False
        elif within:
            cues[-1][2].append(line)
        before = line
    if not cues:
        raise DataError(f"{path} has no cue of subtitles, as 00:00:01,000 --> 00:00:02,500; name another file")
    whole = (Cue(start, min(max(start, end), start + LONGEST), _plain("\n".join(lines))) for start, end, lines in cues)
    found = sorted((cue for cue in whole if cue.text), key=lambda cue: (cue.start, cue.end))
    if any(last.start < first.start + LONGEST for first, last in zip(found, found[MOST_AT_ONCE:], strict=False)):
        raise DataError(f"{path} has more than {MOST_AT_ONCE} cues within a minute; name the subtitles of a film")
    return found


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")


def _plain(text: str) -> str:
    """The text on one line, without tags, entities and dashes before speakers."""
    return " ".join(html.unescape(_DASH.sub("", _TAG.sub("", text).strip())).split())


def passages(src: Sequence[Cue], tgt: Sequence[Cue]) -> list[Passage]:
    """The cues of both languages, in the order of time; cues that overlap are in one passage."""
    groups = [[side, number] for side, cues in enumerate((src, tgt)) for number in range(len(cues))]
    parent = list(range(len(groups)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in _overlapping(src, tgt):
        parent[root(len(src) + right)] = root(left)
    members: dict[int, tuple[list[Cue], list[Cue]]] = {}
    for node, (side, number) in enumerate(groups):
        members.setdefault(root(node), ([], []))[side].append((src, tgt)[side][number])
    found = [Passage(*sides) for sides in members.values()]
    return sorted(found, key=lambda passage: min(cue.start for cues in passage for cue in cues))


def _overlapping(src: Sequence[Cue], tgt: Sequence[Cue]) -> Iterator[tuple[int, int]]:
    """The numbers of the cues that overlap for more than SHARE of the shorter one."""
    first = 0
    for left, one in enumerate(src):
        while first < len(tgt) and tgt[first].start + LONGEST <= one.start:
            first += 1
        for right in range(first, len(tgt)):
            other = tgt[right]
            if other.start >= one.end:
                break
            overlap = min(one.end, other.end) - max(one.start, other.start)
            if overlap > SHARE * min(one.end - one.start, other.end - other.start):
                yield left, right


def joined_sentences(found: Sequence[Passage]) -> list[Passage]:
    """The passages, each with those after it that go on with its sentence in either language."""
    whole: list[Passage] = []
    for passage in found:
        if whole and _goes_on(whole[-1], passage):
            last = whole[-1]
            whole[-1] = Passage([*last.src, *passage.src], [*last.tgt, *passage.tgt])
        else:
            whole.append(passage)
    return whole


def _goes_on(before: Passage, after: Passage) -> bool:
    """Does a sentence of `before`, which has no end, go on in `after` with a small letter?"""
    if not all((*before, *after)):
        return False
    sides = [(first[-1], second[0], len(first) + len(second)) for first, second in zip(before, after, strict=True)]
    if any(second.start - first.end > LONGEST_GAP or count > MOST_CUES for first, second, count in sides):
        return False
    return any(not _SENTENCE_END.search(first.text) and second.text[:1].islower() for first, second, _ in sides)
