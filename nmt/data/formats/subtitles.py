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
from nmt.errors import DataError, printable

SHARE = 0.5  # two cues belong together if they overlap for more than this share of the shorter one
MOST_CUES = 4  # of one language in a passage
LONGEST_GAP = 2.0  # seconds between cues of one sentence
LONGEST, MOST_AT_ONCE = 60.0, 300  # seconds that a cue counts, and most cues within them: all that overlap are compared
SHORTEST = 0.05  # seconds: captions that roll up have shorter cues, which repeat a line
MOST_APART, FEWEST_COMPARED = 0.8, 10  # seconds between cues that belong together, at most, by the median of so many
_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[,.:]\s?(\d{1,3}))?"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(\s.*)?")
_LIKE_TIMES = re.compile(r"\s*([\d:.,]+\s*-->|\d+:\d[\d:.,]*\s*-?>)")
_TAG = re.compile(  # HTML, times within a cue, codes of SubStation and MicroDVD, sounds, music
    r"</?[A-Za-z][^<>]*>|<[\d:.]+>|\{\\[^{}]*\}|\{[A-Za-z]:[^{}]*\}|\[[^\[\]]*\]|[♪♫]"
)
_DASH = re.compile(r"^\s*[-–—―]+\s*(?=[^\s\d])", re.MULTILINE)  # of a change of speakers, not of a number
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

    def described(self) -> str:
        """A caution if the times seem to be of two versions of the film."""
        src, tgt = self._cues()
        apart = sorted(abs(src[left].start - tgt[right].start) for left, right in _overlapping(src, tgt))
        half = apart[len(apart) // 2] if len(apart) >= FEWEST_COMPARED else 0.0
        if half <= MOST_APART:
            return ""
        return (
            f"caution: half of the cues that overlap begin more than {half:.1f} s apart; are both files of "
            "one version of the film?"
        )

    def _cues(self) -> tuple[list[Cue], list[Cue]]:
        return read_cues(self.path, self._encoding), read_cues(self._tgt_path, self._encoding)

    def segments(self) -> Iterator[Segment]:
        """A segment for each passage: cues that overlap, and following cues that go on with the sentence."""
        for passage in joined_sentences(passages(*self._cues())):
            sides = [(" ".join(cue.text for cue in cues),) if cues else None for cues in passage]
            state: State | None = "unclear" if max(map(len, passage)) > MOST_CUES else None
            yield Segment(None, sides[0], sides[1], (), None, state)


def read_cues(path: Path, encoding: str | None) -> list[Cue]:
    """The cues of a file that have a text, in the order of time. Comments and styles of WebVTT are no cues."""
    cues: list[tuple[float, float, list[str]]] = []
    text = read_whole(path, encoding, "name the file of one film")
    is_webvtt, within, before = text.startswith("WEBVTT"), False, ""
    for number, line in enumerate(text.split("\n"), 1):
        times = _TIMES.fullmatch(line)
        if times is not None:
            if within and before.strip().isdecimal() and cues[-1][2]:  # the next cue's number
                cues[-1][2].pop()
            cues.append((_seconds(*times.groups()[:4]), _seconds(*times.groups()[4:8]), []))
            within = True
        elif _LIKE_TIMES.match(line):
            raise DataError(
                f"{path}, line {number}: no times can be read in {printable(line.strip()[:40])}; correct it"
            )
        elif is_webvtt and not line.strip():
            within = False  # what follows may be a comment; in SubRip, it is the cue's
        elif within and line.strip():
            cues[-1][2].append(line)
        before = line
    if not cues:
        raise DataError(f"{path} has no cue of subtitles, as 00:00:01,000 --> 00:00:02,500; name another file")
    found = [Cue(start, min(end, start + LONGEST), _plain(lines)) for start, end, lines in _without_repeats(cues)]
    found = sorted((cue for cue in found if cue.text), key=lambda cue: (cue.start, cue.end))
    if any(last.start < first.start + LONGEST for first, last in zip(found, found[MOST_AT_ONCE:], strict=False)):
        raise DataError(f"{path} has more than {MOST_AT_ONCE} cues within a minute; name the subtitles of a film")
    return found


def _without_repeats(cues: list[tuple[float, float, list[str]]]) -> Iterator[tuple[float, float, list[str]]]:
    """The cues without those of a moment, and without first lines that the cue before ends with: captions roll up."""
    last = ""
    for start, end, lines in cues:
        if end - start < SHORTEST:
            continue
        yield start, end, lines[1:] if len(lines) > 1 and lines[0] == last else lines
        last = lines[-1] if lines else ""


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")


def _plain(lines: Sequence[str]) -> str:
    """The text on one line, without tags, entities, sounds in brackets and dashes before speakers."""
    text = _DASH.sub("", _TAG.sub("", "\n".join(lines).replace("\\N", "\n")))
    return " ".join(html.unescape(text).split())


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
