"""Gives text in capitals, title case or lower case the case that its words have in the training sources.

Truecasing (Lita et al. 2003), with counts as in Moses (Koehn et al. 2007): the usual form of a word is its most
frequent form away from the beginning of a sentence. A run keeps these forms in runs/NAME/letter_case.json.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from nmt.errors import CheckpointError

LETTER_CASE_FILE = "letter_case.json"
VERSION = 2  # version of the method that learns forms; part of the cache key
LOOKED_AT = 500_000  # sentences to learn from, at most
MOST_FORMS = 100_000  # the most frequent forms are kept
LONGEST_FORM = 50  # letters; a longer string is not a word
FEWEST_SHOUTED = 2  # words in capitals; one alone is as likely an abbreviation
FEWEST_WORDS = 4  # words in title or lower case; fewer are as likely a name or a phrase, unless they end as a sentence
SMALL = 3  # letters, at most, of a word that titles leave in lower case
OFTEN = 100  # a word whose form is among so many of the most frequent may be small in a title, too: from, with, into
DOTTED = ("tr", "az")

_WORD = re.compile(r"[^\W\d_]+")
_EDGES = re.compile(r"^[\W\d_]++|(?<![\W\d_])[\W\d_]++$")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")  # anything else is an address, a key or a formula
_BREAK = re.compile(r"[.!?…:;\"“”„«»()\[\]¿¡]")  # the next word may begin a sentence or a quotation
_END = re.compile(r"[.!?…][\"'”’)\]]*$")
_BEGIN = re.compile(r"(?:^|[.!?…][\"'”’)\]]{0,3}\s)\W{0,10}[^\W\d_]")  # up to the first letter of a sentence


@dataclass(frozen=True)
class LetterCase:
    """The usual forms of words, by the word in lower case; without forms, capitals and title case become lower case."""

    forms: Mapping[str, str] = field(default_factory=dict)
    capital: bool = False  # do most sentences begin with a capital?
    rare_capital: bool = False  # do most words seen once begin with a capital? Unknown words are treated like them
    lang: str | None = None
    others: frozenset[str] | None = None  # words without a usual form, in lower case; None: nobody noted them

    @classmethod
    def learned(cls, sentences: Iterable[str], lang: str | None) -> "LetterCase":
        """Learns forms from the sources of a training split; `lang` is the code of their language."""
        counts, others = Counter[str](), Counter[str]()  # others: forms in sentences in capitals or title case
        begin = Counter[str]()  # forms where a sentence or a quotation may begin
        first: Counter[bool] = Counter()  # does a sentence begin with a capital?
        spoilt = 0
        for sentence in islice(sentences, LOOKED_AT):
            words = cased_words(sentence)
            is_spoilt = is_shouted(words) or is_titled(words)
            spoilt += is_spoilt
            if words:
                first[words[0][0].isupper()] += 1
            for part in _BREAK.split(sentence):
                found = _WORD.findall(part)
                begin.update(found[:1])
                (others if is_spoilt else counts).update(found[1:])
        if 2 * spoilt > first.total():  # the whole text is written so
            counts.update(others)
        empty = cls(lang=lang)
        forms = empty._by_key(counts)
        once = [form[0].isupper() for form in forms.values() if counts[form] == 1]
        without = frozenset(empty._by_key(begin + others)).difference(forms)
        return cls(forms, first[True] > first[False], 2 * sum(once) > len(once), lang, without)

    def _by_key(self, counts: Counter[str]) -> dict[str, str]:
        """The most frequent form of each of the most frequent words."""
        forms: dict[str, str] = {}
        for form, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if form.lower() != form.upper() and len(form) <= LONGEST_FORM and len(forms) < MOST_FORMS:
                forms.setdefault(self._key(form), form)
        return forms

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> "LetterCase":
        """Reads the content of a file; errors call the file `name`."""
        try:
            stored = json.loads(content)
            forms, lang = stored["forms"], stored["language"]
            capital, rare = stored["sentences_begin_with_capital"], stored["rare_words_begin_with_capital"]
            others = stored.get("words_without_form")
            if not all(isinstance(each, str) for each in [*forms, lang or "", *(others or [])]):
                raise TypeError
        except (AttributeError, ValueError, KeyError, TypeError, RecursionError):
            raise CheckpointError(f"{name} is damaged; restore it from a copy") from None
        without = None if others is None else frozenset(others)
        empty = cls(lang=lang)
        return cls({empty._key(form): form for form in forms}, capital is True, rare is True, lang, without)

    @property
    def dotted(self) -> bool:
        """Does the language have a dotted and a dotless i?"""
        return (self.lang or "").replace("_", "-").split("-")[0] in DOTTED

    @property
    def bytes(self) -> bytes:
        """The content of the file, with one form a line."""
        stored = {
            "language": self.lang,
            "sentences_begin_with_capital": self.capital,
            "rare_words_begin_with_capital": self.rare_capital,
            "forms": list(self.forms.values()),
        }
        if self.others is not None:
            stored["words_without_form"] = sorted(self.others)
        return json.dumps(stored, ensure_ascii=False, indent=0).encode()

    def after(self, earlier: "LetterCase") -> "LetterCase":
        """For a model that was trained further: these forms, and the `earlier` forms of all other words."""
        forms = {**earlier.forms, **self.forms}
        if self.others is None or earlier.others is None:
            return replace(self, forms=forms, others=None)
        return replace(self, forms=forms, others=(self.others | earlier.others).difference(forms))

    def usual(self, text: str) -> str:
        """The text in its usual case if all of it is in capitals, title case or lower case; else the text unchanged."""
        words = cased_words(text)
        fewest = 2 if _END.search(text) else FEWEST_WORDS
        if not (
            is_shouted(words)
            or self._are_small_words(words, fewest=1 if _END.search(text) else 2)
            or is_titled(words, fewest, lambda word: self._key(word) in self._often)
            or is_small(words, fewest)
        ):
            return text

        found = _WORD.sub(lambda word: self.form(word[0]), text)
        return _BEGIN.sub(lambda begin: self._with_capital(begin[0]), found) if self.capital else found

    def form(self, word: str) -> str:
        """The usual form of a word, which may be in any case."""
        if (known := self.forms.get(self._key(word))) is not None:
            return known
        lowered = self._lowered(word)
        return self._with_capital(lowered[0]) + lowered[1:] if self.rare_capital and len(word) > 1 else lowered

    def unknown_words(self, text: str) -> tuple[int, int]:
        """The number of words that no training source has, and of all words that count.

        Words of letters with two cases count, but not in addresses, keys and the like. An unknown word with a capital
        counts only as the first of the text: elsewhere, it is as likely a name. If nobody noted the words, none count.
        """
        if self.others is None:
            return 0, 0
        unknown = count = 0
        for number, part in enumerate(text.split()):
            stripped = _EDGES.sub("", part)
            for word in _WORD.findall(stripped) if _PLAIN_WORD.fullmatch(stripped) else ():
                if word.lower() == word.upper() or len(word) > LONGEST_FORM:
                    continue
                is_known = (key := self._key(word)) in self.forms or key in self.others
                counts = is_known or number == 0 or word[0].islower()
                count += counts
                unknown += counts and not is_known
        return unknown, count

    @cached_property
    def _often(self) -> set[str]:
        return set(islice(self.forms, OFTEN))

    def _are_small_words(self, words: list[str], fewest: int) -> bool:
        """Are these words in capitals that the training sources usually write in lower case, however short?"""
        if not all(map(str.isupper, words)):
            return False
        usual = [self.forms.get(self._key(word), "") for word in words if len(word) > 1]
        return len(usual) >= fewest and all(form[1:].islower() for form in usual)

    def _key(self, word: str) -> str:
        """A key that is the same for a word in any case: STRASSE and Straße have one key."""
        return self._lowered(word).casefold()

    def _lowered(self, word: str) -> str:
        if self.dotted:
            word = word.replace("I", "ı").replace("İ", "i")
        return word.lower()

    def _with_capital(self, begin: str) -> str:
        """The string with its last letter as a capital."""
        last = begin[-1]
        capital = "İ" if last == "i" and self.dotted else last.upper()
        return begin[:-1] + (capital if len(capital) == 1 else last)


def cased_words(text: str) -> list[str]:
    """The words with letters that have two cases, without signs and digits at either end."""
    stripped = (_EDGES.sub("", word) for word in text.split())
    return [word for word in stripped if word.lower() != word.upper()]


def is_shouted(words: list[str]) -> bool:
    """Are these several words, all in capitals, at least one of them with more than SMALL letters?"""
    return len(words) >= FEWEST_SHOUTED and all(map(str.isupper, words)) and max(map(len, words)) > SMALL


def is_titled(
    words: list[str], fewest: int = FEWEST_WORDS, is_often_small: Callable[[str], bool] = lambda word: False
) -> bool:
    """Do at least `fewest` words begin with a capital, and may all others be small in a title?

    Words of at most SMALL letters may, and those for which `is_often_small` is true.
    """
    others = [word for word in words if not word[0].isupper()]
    if len(words) - len(others) < fewest:
        return False
    return all(word[0].islower() and (len(word) <= SMALL or is_often_small(word)) for word in others)


def is_small(words: list[str], fewest: int = FEWEST_WORDS) -> bool:
    """Are these at least `fewest` words, all in lower case?"""
    return len(words) >= fewest and all(map(str.islower, words))
