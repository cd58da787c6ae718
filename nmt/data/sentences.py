"""Cuts text into sentences by script and punctuation, without a model or a language code.

Its time grows only with the length of the text. A mark ends a sentence if the text after it may begin another. Line
ends separate sentences. If a sentence has no capitals at all, as in text typed in haste, the next one may begin with a
lower-case letter, too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low

from nmt.data.abbreviations import (
    BEFORE_NUMBERS,
    BEFORE_ORDINALS,
    BEFORE_SMALL,
    BEHIND_ORDINALS,
    FIRST_WORDS,
    NEVER_LAST,
    SELDOM_LAST,
    SPEECH,
)
from nmt.data.text import INVISIBLE

LONGEST_UNMARKED = 400  # characters, at most, of a part of Thai or Lao, which do not mark the end of a sentence
LOOKED_BACK = 40  # characters before a full stop that are examined
LONGEST_PART = 3  # letters, at most, in one part of an acronym: Ph.D.
LONGEST_INITIAL = 3  # characters, at most, of an initial: a letter and its marks


@dataclass(frozen=True)
class Span:
    """A stretch of a text: text[start:end]."""

    start: int
    end: int


# For use inside the brackets of a pattern:
_HARD = "。！？｡︒﹖﹗።፧፨।॥។៕။།༎༏༐༑։"  # these end a sentence even without white space after them
_SOFT = ".!?…‥‼⁇⁈⁉‽؟۔܀܁܂᠃᠉߹׃⸮﹒．;\u037e"  # these end a sentence only before white space
_QUOTES = "\"'”’»›」』＂＇"  # closing quotes
_OTHER_QUOTES = "“‘«‹"  # these close in some languages, but never before a word
_CLOSING = rf"{_QUOTES})\]}}）］｝】》〉〕〗｠｣¹²³⁰⁴-⁹"
_CLOSING_APART = r"»”’›)\]"  # these close an open quote or bracket after white space, too
_OPENING = r"\"'“‘„‚”’«»‹›(\[{¿¡「『（《〈【〔［｛*_•‣◦·–—―-"
_OPENS = "\"'“‘„‚”’«»‹›([{¿¡*•·–—-"  # characters before a word
_EMOJI = "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff\ufe0f\u200d\U000e0020-\U000e007f"
_IDEOGRAPHS = "\u3005-\u3007\u3021-\u318f\u31a0-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # kana included
_UNMARKED = "\u0e00-\u0eff"  # Thai and Lao

_LINE = re.compile("[^\n-\r\x1c-\x1e\x85\u2028\u2029]+")
_GAP = re.compile(f"[{INVISIBLE}]*+")
_VISIBLE = re.compile(f"[^{INVISIBLE}]")
_SPACE = re.compile("[\\s\u200b]")
_MARK = re.compile(
    rf"[{_HARD}{_SOFT}](?:[{_HARD}{_SOFT}{_CLOSING}]++|[{_OTHER_QUOTES}](?!\w))*+"
    r"(?:\[[0-9]{1,3}\])*+"  # numbers of notes
    rf"(?:\s[{_CLOSING_APART}]++(?=[\s{_HARD}{_SOFT},]|$)[{_HARD}{_SOFT}]*+)?"
    rf"(?:\s*+(?:[{_EMOJI}]++|[:;]-?[)(DP]++(?!\w)))*+"
)
_STOPS = re.compile(f"[{_HARD}{_SOFT}]+")
_HARD_STOP = re.compile(f"[{_HARD}]")
_QUOTE = re.compile(f"[{_QUOTES}{_OTHER_QUOTES}]")
_OPENINGS = re.compile(rf"(?:[{_OPENING}]\s?)*+")
_PARTICLE = re.compile("[とってなのはがをにもへや的地得]")  # a sentence continues with these after quoted speech
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_THAI = re.compile(f"[{_UNMARKED}]")
_WORD = re.compile(r"[^\W_][\w'’-]{0,30}")
_NUMBER = re.compile(r"(?:(I\s)?(?<!\w)([^\W\d_]+)\s)?(?<![\w.,:/])([0-9]{1,3})$|:\s[0-9]{1,2}$")
_LABEL = re.compile(r"[-–—*•·\s]*[(\[]?(?:[0-9]{1,2}(?:\.[0-9]{1,2})*|[^\W\d_]|[IVXLC]{1,5}|[ivx]{1,4})$")
_NUMERAL = re.compile(r"[(\[]?(?:\d|[IVXLC]{2,}\b)")
_SAYS = re.compile(rf"(?:[A-Z][\w'’.-]{{0,30}}\s){{1,3}}(?:{SPEECH})\b")


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, in order. Each begins and ends with a visible character.

    Together they cover all visible characters: between two sentences is white space, a line end, or nothing.
    """
    return sentence_groups(text, 1)


def sentence_groups(text: str, at_once: int) -> list[Span]:
    """Groups of at most `at_once` sentences of one line, in order; all groups of a line have about the same size."""
    groups = []
    for line in _LINE.finditer(text):
        spans = list(_spans_of_line(text, *line.span()))
        count = -(-len(spans) // at_once)
        bounds = [number * len(spans) // count for number in range(count + 1)] if count else []
        groups += [Span(spans[first].start, spans[end - 1].end) for first, end in pairwise(bounds)]
    return groups


def _spans_of_line(text: str, line_start: int, line_end: int) -> Iterator[Span]:
    for start, end in _cut(text, line_start, line_end, capitals=True):
        bare = _without_capitals(text[start:end])
        for sentence in _cut(text, start, end, capitals=False) if bare else [(start, end)]:
            for part in _cut_unmarked(text, *sentence):
                yield Span(*part)


def usual_sentences(lines: Iterable[str]) -> int:
    """The lower median of the numbers of sentences per line, at least 1; 1 if there are no lines."""
    counts = [len(sentence_spans(line)) for line in lines]
    return max(1, median_low(counts)) if counts else 1


def _cut(text: str, start: int, end: int, capitals: bool) -> Iterator[tuple[int, int]]:
    """The sentences of text[start:end], part of one line; with `capitals`, none begins with a lower-case letter."""
    start = _after_gap(text, start, end)
    for mark in _MARK.finditer(text, start, end):
        following = _after_gap(text, mark.end(), end)
        if following < end and _is_end(text, start, mark, following, capitals):
            yield start, _trimmed(text, start, mark.end())
            start = following
    if start < end:
        yield start, _trimmed(text, start, end)


def _after_gap(text: str, start: int, end: int) -> int:
    """The position of the next visible character, or `end`."""
    gap = _GAP.match(text, start, end)
    assert gap is not None
    return gap.end()


def _trimmed(text: str, start: int, end: int) -> int:
    """The position after the last visible character."""
    while end > start and not _VISIBLE.match(text[end - 1]):
        end -= 1
    return end


def _without_capitals(text: str) -> bool:
    """Does the text have letters that could be capitals, but no capital?"""
    return text == text.lower() and text != text.upper()


def _is_end(text: str, start: int, mark: re.Match[str], following: int, capitals: bool) -> bool:
    """Does the sentence that begins at `start` end with this mark? The next visible character is at `following`."""
    marks, end = mark[0], mark.endpos
    openings = _OPENINGS.match(text, following, end)
    assert openings is not None
    first = openings.end()  # the position of the first character of the next word
    if first == end or not _may_begin(text[first]):
        return False
    apart = mark.end() < following and _SPACE.search(text, mark.end(), following) is not None
    if _HARD_STOP.search(marks):
        return apart or _ends_without_space(text, mark, following)
    word = _WORD.match(text, first, end)
    small = word is not None and _is_small(word[0]) and text[first - 1] not in "¿¡"
    if small and capitals:
        return False
    stops = marks if marks == "." else "".join(_STOPS.findall(marks))
    before = text[max(start, mark.start() - 2) : mark.start()].strip()[-1:]
    if not stops.strip(";") and not _is_greek(before):
        return False
    if not apart:
        ideographs = _IDEOGRAPH.match(before) and (_IDEOGRAPH.match(text[first]) or stops == "．")
        return text[following] in "¿¡" or bool(ideographs)
    if stops == "." and _THAI.match(before):
        return False  # the full stop of an abbreviation
    if _QUOTE.search(marks) and (small or _SAYS.match(text, following, end)):
        return False
    if small and (stops == "…" or stops.startswith("..")):
        return False
    return stops != "." or not _goes_on(text, start, mark.start(), first, word[0] if word else "", small)


def _may_begin(char: str) -> bool:
    """Can a sentence begin with this character, apart from quotes and brackets?"""
    return char.isalnum() or char in "#@<§" or unicodedata.category(char) in ("Sc", "So")


def _ends_without_space(text: str, mark: re.Match[str], following: int) -> bool:
    """Does the sentence end with this mark, of a script that needs no white space after it?"""
    last = mark[0][-1]
    if text.startswith("ល។", following):  # Khmer: and so on
        return False
    if last in "》〉":  # the end of a title
        return False
    if last in ")）" and "。" not in mark[0]:  # the end of a remark
        return False
    return not (last in _QUOTES and _PARTICLE.match(text, following))


def _is_greek(char: str) -> bool:
    return char != "" and unicodedata.name(char, "").startswith("GREEK")


def _is_small(word: str) -> bool:
    """Does the word begin with a lower-case letter that could be a capital? Not if it is a name such as iPhone."""
    return word[0].islower() and word[0].title() != word[0] and not (word[1:2].isupper() or word[2:3].isupper())


def _goes_on(text: str, start: int, stop: int, first: int, word: str, small: bool) -> bool:
    """Does the full stop at `stop` belong to an abbreviation, initial, ordinal or label? The next word is `word`."""
    tail = text[max(start, stop - LOOKED_BACK) : stop]
    if tail[-1:].isspace():  # tokenised text: the full stop is a token of its own
        return False
    if stop - start <= LOOKED_BACK and _LABEL.fullmatch(tail):
        return True
    begins = not small and _is_first_word(word) and text[first + len(word) : first + len(word) + 1] != "."
    if number := _NUMBER.search(tail):
        ordinal = (number[2] or "").lower() in BEFORE_ORDINALS and not number[1]
        label = number[3] is None
        return label or small or word.lower() in BEHIND_ORDINALS or (ordinal and not begins and word[:1].isalpha())
    *earlier, token = tail.rsplit(maxsplit=4) or [""]
    elided, _, token = token.replace("’", "'").rpartition("'")
    token = token.lstrip(_OPENS)
    if elided.strip(_OPENS) and len(token) == 1:  # as in: my brother's
        return False
    initial = _is_initial(token)
    if initial and not begins:
        return True
    whole = token
    for part in reversed(earlier):
        if not part.endswith(".") or len(part) > LONGEST_PART:
            break
        whole = part + whole
    *others, last = token.split(".")
    if _is_in(NEVER_LAST, whole, last) or (_is_in(BEFORE_NUMBERS, last) and _NUMERAL.match(text, first)):
        return True
    acronym = bool(others) and all(part.isalpha() and len(part) <= LONGEST_PART for part in (*others, last))
    if initial or acronym or _is_in(SELDOM_LAST, whole, last):
        return not begins
    return small and _is_in(BEFORE_SMALL, whole, last)


def _is_in(table: frozenset[str], *words: str) -> bool:
    return not table.isdisjoint((*words, *map(str.lower, words)))


def _is_first_word(word: str) -> bool:
    """Is this a word that often begins a sentence, or one that begins with an elided word (L', Qu')?"""
    bare = word.replace("’", "'").partition("'")[0]
    return bare in FIRST_WORDS or bare.capitalize() in FIRST_WORDS or (len(bare) <= 2 and bare != word)


def _is_initial(token: str) -> bool:
    """Is the token a single letter, with its marks? Not if the letter is a word: an ideograph, or one such as I."""
    if len(token) > LONGEST_INITIAL or token in ("I", "Я", "я"):
        return False
    marks = [char for char in token[1:] if unicodedata.category(char).startswith("M")]
    return token[:1].isalpha() and len(token) == 1 + len(marks) and not _IDEOGRAPH.match(token)


def _cut_unmarked(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentence whole; a long sentence of Thai or Lao, which have no sentence marks, in parts cut at spaces."""
    while end - start > LONGEST_UNMARKED and _THAI.search(text, start, start + LONGEST_UNMARKED):
        space = text.rfind(" ", start, start + LONGEST_UNMARKED)
        if space <= start:
            break
        yield start, _trimmed(text, start, space)
        start = _after_gap(text, space, end)
    yield start, end
