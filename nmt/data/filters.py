"""Decides which sentence pairs are dropped. Each filter tests one pair; duplicates are found among all pairs.

A test is a pure function of the two sides; it returns True if the pair is to be dropped. Its time grows only with the
length of the text.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt.config.sections import DataConfig
from nmt.data import language_filter
from nmt.data.text import is_visible

HASH = np.dtype("<u8")  # of a text
PairTest = Callable[[str, str], bool]
OLDEST = ("empty", "identical", "duplicates")  # filters in the key of every cached corpus, even if they are off
SMOOTHING = 10  # letters added to the length of both sides: short sentences differ more in length
WIDE = (
    "\u1100-\u11ff\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
)
NO_SPACES = WIDE + "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
WORD = re.compile(rf"[^\s{NO_SPACES}]+")
WIDE_LETTER = re.compile(f"[{WIDE}]")
NO_LETTER = re.compile("[^A-Za-z]+")  # in ASCII text
DIGIT = re.compile(r"\d")
ADDRESS = re.compile(
    r"(?:https?://|www\.)[!-~]+"
    r"|(?<![A-Za-z0-9.+_-])[A-Za-z0-9.+_-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
    re.IGNORECASE,
)
AFTER_ADDRESS = ".,;:!?)]}>'\"*"
MARKUP = re.compile(
    r"(</?[A-Za-z][A-Za-z0-9:_-]{0,30})(?:[\s/][^<>]{0,500})?>|(&(?:[A-Za-z]{2,31}|#x?[0-9A-Fa-f]{1,7});)"
)
AS_WINDOWS = bytes(byte for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)).decode("cp1252")
SECOND = f"[\u0080-\u00bf{AS_WINDOWS}]"  # the second and later bytes of UTF-8, read as Latin-1 or Windows-1252
CLOSING = "[\u00a0«»“”’…–—]"  # of these, the marks that may follow a letter
BROKEN = re.compile(
    "[\ufffd\ufffe\uffff\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff]"
    f"|[ÂÃ](?!(?<=[A-Z][ÂÃ]){CLOSING}(?!\\w)){SECOND}"
    f"|(?<=[a-z])[Ä-Þ](?!{CLOSING}){SECOND}|[Ä-Þ](?!{CLOSING}){SECOND}(?=[a-z])"  # Polish, Czech, Turkish
    f"|(?:[Î-Ñ]{SECOND}){{2}}"  # Greek, Russian
    f"|[à-ï](?!{CLOSING}{{2}}){SECOND}{{2}}"  # Chinese
)


def has_empty_side(src: str, tgt: str) -> bool:
    """Does a side have no visible character?"""
    return not (is_visible(src) and is_visible(tgt))


def is_identical(src: str, tgt: str) -> bool:
    """Is the source its own translation? (Khayrallah and Koehn 2018: copies do the most harm.)"""
    return src == tgt


def has_more_characters(src: str, tgt: str, most: int) -> bool:
    """Does a side have more than `most` characters?"""
    return max(len(src), len(tgt)) > most


def differs_in_length(src: str, tgt: str, most: float) -> bool:
    """Is one side more than `most` times as long as the other? Counts letters, so that no script needs spaces."""
    lengths = letter_length(src) + SMOOTHING, letter_length(tgt) + SMOOTHING
    return max(lengths) > most * min(lengths)


def letter_length(text: str) -> int:
    """The length in letters; a Chinese, Japanese or Korean character counts as 3 letters of an alphabet."""
    return len(text) if text.isascii() else len(text) + 2 * len(WIDE_LETTER.findall(text))


def has_longer_word(src: str, tgt: str, most: int) -> bool:
    """Does a side have a word of more than `most` characters? Skips addresses and text in scripts without spaces."""
    words = (word for side in (src, tgt) if len(side) > most for word in WORD.findall(ADDRESS.sub(" ", side)))
    return any(len(word) > most for word in words)


def has_few_letters(src: str, tgt: str, least: float) -> bool:
    """Is the share of letters among the visible characters of a side below `least`? An empty side passes."""
    for side in (src, tgt):
        visible = len("".join(side.split()))
        if len(letters(side)) < least * visible:
            return True
    return False


def letters(text: str) -> str:
    """The letters of the text, with their marks."""
    if text.isascii():
        return NO_LETTER.sub("", text)
    return "".join(character for character in text if unicodedata.category(character)[0] in "LM")


def differs_in_numbers(src: str, tgt: str) -> bool:
    """Do the sides have different digits? Order does not count: elsewhere, 3.5 is 3,5 and 5/7/2026 is 7.5.2026."""
    return digits(src) != digits(tgt)


def digits(text: str) -> list[int]:
    """All decimal digits of the text, in any script, the smallest first."""
    return sorted(map(int, DIGIT.findall(text)))


def differs_in_addresses(src: str, tgt: str) -> bool:
    """Do the sides have different web or mail addresses?"""
    return addresses(src) != addresses(tgt)


def addresses(text: str) -> list[str]:
    """The web and mail addresses of the text in lower case, sorted, without the punctuation after them."""
    if "@" not in text and "//" not in text and "." not in text:
        return []
    return sorted(found.rstrip(AFTER_ADDRESS).lower() for found in ADDRESS.findall(text))


def differs_in_markup(src: str, tgt: str) -> bool:
    """Do the sides have different tags or character references? Attributes do not count."""
    return markup(src) != markup(tgt)


def markup(text: str) -> list[str]:
    """The names of the tags ("<b", "</b") and the character references of the text, sorted."""
    return sorted((tag or reference).lower() for tag, reference in MARKUP.findall(text))


def is_broken(src: str, tgt: str) -> bool:
    """Does a side have characters that come from a wrong encoding?"""
    return BROKEN.search(src) is not None or BROKEN.search(tgt) is not None


def pair_tests(data: DataConfig) -> dict[str, PairTest]:
    """The test of each active filter except duplicates; a pair counts for the first filter that drops it."""
    filters = data.filters
    tests: dict[str, PairTest] = {}
    if filters.empty:
        tests["empty"] = has_empty_side
    if filters.identical:
        tests["identical"] = is_identical
    if filters.max_characters is not None:
        tests["max_characters"] = partial(has_more_characters, most=filters.max_characters)
    if filters.broken:
        tests["broken"] = is_broken
    if filters.markup:
        tests["markup"] = differs_in_markup
    if filters.addresses:
        tests["addresses"] = differs_in_addresses
    if filters.numbers:
        tests["numbers"] = differs_in_numbers
    if filters.max_word is not None:
        tests["max_word"] = partial(has_longer_word, most=filters.max_word)
    if filters.min_letters is not None:
        tests["min_letters"] = partial(has_few_letters, least=filters.min_letters)
    if filters.min_language is not None:
        tests["min_language"] = language_filter.in_other_language(data, filters.min_language)
    if filters.max_length_ratio is not None:
        tests["max_length_ratio"] = partial(differs_in_length, most=filters.max_length_ratio)
    return tests


@dataclass(frozen=True)
class Sifted:
    """The verdict of the filters on every pair."""

    names: list[str]  # names of the active filters
    dropped_by: npt.NDArray[np.uint8]  # number in `names`, from 1, of the filter that dropped the pair; 0: it stays

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        """Which pairs stay."""
        return np.equal(self.dropped_by, 0)

    @property
    def counts(self) -> dict[str, int]:
        """The number of pairs that each filter has dropped."""
        found = np.bincount(self.dropped_by, minlength=len(self.names) + 1)[1:]
        return dict(zip(self.names, map(int, found), strict=True))


class Sieve:
    """Judges the pairs of a split one after another; takes 9 bytes of memory for each."""

    def __init__(self, data: DataConfig) -> None:
        self._tests = pair_tests(data)
        self._duplicates = data.filters.duplicates
        self._dropped_by, self._hashes = bytearray(), bytearray()

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Judges the next pairs, which are already cleaned."""
        self._dropped_by.extend(map(self._verdict, sources, targets))
        if self._duplicates:
            text_of = loose if self._duplicates == "loose" else "{}\n{}".format
            self._hashes += hashes_of(map(text_of, sources, targets))

    def _verdict(self, src: str, tgt: str) -> int:
        """The number of the first filter that drops the pair, from 1; 0 if it stays."""
        for number, test in enumerate(self._tests.values(), 1):
            if test(src, tgt):
                return number
        return 0

    def result(self) -> Sifted:
        """The verdict on all pairs. If several equal pairs pass all other filters, the first of them stays."""
        names = list(self._tests)
        dropped_by = np.array(np.frombuffer(self._dropped_by, np.uint8))
        if self._duplicates:
            names.append("duplicates")
            left = np.flatnonzero(dropped_by == 0)
            first = np.unique(np.frombuffer(self._hashes, HASH)[left], return_index=True)[1]
            dropped_by[np.delete(left, first)] = len(names)
        return Sifted(names, dropped_by)


def loose(src: str, tgt: str) -> str:
    """A text that is the same for pairs that differ only in case, digits, spaces and punctuation.

    If a side has no letters, only exact copies of the pair have the same text.
    """
    left, right = letters(src.casefold()), letters(tgt.casefold())
    return f"{left}\n{right}" if left and right else f"{src}\n{tgt}\n"


def hashes_of(texts: Iterable[str]) -> bytes:
    """64 bits of BLAKE2b for each text, as `HASH` has them."""
    size = HASH.itemsize
    return b"".join([hashlib.blake2b(text.encode(), digest_size=size).digest() for text in texts])


def cache_key(data: DataConfig) -> dict[str, Any]:
    """The settings that decide which pairs the filters drop, for the key of a cached corpus."""
    filters = data.filters
    off = (None, False)
    names = (name for name in vars(filters) if name not in ("max_tokens", "max_ratio"))  # these act later, on pieces
    key = {name: getattr(filters, name) for name in names if name in OLDEST or getattr(filters, name) not in off}
    if filters.min_language is not None:
        key["languages"] = [data.src_lang, data.tgt_lang, language_filter.version()]
    return key
