"""Text in capitals, in title case or in lower case, brought to the case that its words have in the training sources.

Truecasing (Lita et al. 2003), counted as Moses does (Koehn et al. 2007): a word's usual form is the most frequent one
where no sentence begins. A run keeps these forms in runs/NAME/letter_case.json.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from nmt.errors import CheckpointError

LETTER_CASE_FILE = "letter_case.json"
VERSION = 1  # of what is learned; part of the cache's key
LOOKED_AT = 500_000  # sentences
MOST_FORMS = 100_000  # the most frequent are kept
LONGEST_FORM = 50  # letters: what is longer is no word
FEWEST_SHOUTED = 2  # words; one is as likely an abbreviation
FEWEST_WORDS = 4  # in title case or lower case; fewer are as likely a name or a phrase, unless they end as a sentence
SMALL = 3  # letters of a word that titles leave in lower case
DOTTED = ("tr", "az")

_WORD = re.compile(r"[^\W\d_]+")
_EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_BREAK = re.compile(r"[.!?…:;\"“”„«»()\[\]¿¡]")  # what follows may begin a sentence, or a quotation
_END = re.compile(r"[.!?…][\"'”’)\]]*$")
_BEGIN = re.compile(r"(?:^|[.!?…][\"'”’)\]]{0,3}\s)\W{0,10}[^\W\d_]")  # up to the first letter of a sentence


@dataclass(frozen=True)
class LetterCase:
    """The usual forms of words, by the word in lower case; without any, capitals and title case become lower case."""

    forms: Mapping[str, str] = field(default_factory=dict)
    capital: bool = False  # do most sentences begin with one?
    rare_capital: bool = False  # do most words that are seen once? Unknown ones are taken for their like
    lang: str | None = None

    @classmethod
    def learned(cls, sentences: Iterable[str], lang: str | None) -> "LetterCase":
        """From the sources of a training split in the language of this code."""
        counts, others = Counter[str](), Counter[str]()  # others: in sentences that capitals or title case spoil
        first: Counter[bool] = Counter()  # does it begin with a capital?
        spoilt = 0
        for sentence in islice(sentences, LOOKED_AT):
            words = cased_words(sentence)
            is_spoilt = is_shouted(words) or is_titled(words)
            spoilt += is_spoilt
            if words:
                first[words[0][0].isupper()] += 1
            for part in _BREAK.split(sentence):
                (others if is_spoilt else counts).update(_WORD.findall(part)[1:])
        if 2 * spoilt > first.total():  # it is how this text is written
            counts.update(others)
        forms: dict[str, str] = {}
        empty = cls(lang=lang)
        for form, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if form.lower() != form.upper() and len(form) <= LONGEST_FORM and len(forms) < MOST_FORMS:
                forms.setdefault(empty._key(form), form)
        once = [form[0].isupper() for form in forms.values() if counts[form] == 1]
        return cls(forms, first[True] > first[False], 2 * sum(once) > len(once), lang)

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> "LetterCase":
        """Of a file of this content, which errors call `name`."""
        try:
            stored = json.loads(content)
            forms, lang = stored["forms"], stored["language"]
            capital, rare = stored["sentences_begin_with_capital"], stored["rare_words_begin_with_capital"]
            if not all(isinstance(each, str) for each in [*forms, lang or ""]):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CheckpointError(f"{name} is damaged; restore it from a copy") from None
        empty = cls(lang=lang)
        return cls({empty._key(form): form for form in forms}, capital is True, rare is True, lang)

    @property
    def dotted(self) -> bool:
        """Is it a language with a dotted and a dotless i?"""
        return (self.lang or "").replace("_", "-").split("-")[0] in DOTTED

    @property
    def bytes(self) -> bytes:
        """As a file: one form a line."""
        stored = {
            "language": self.lang,
            "sentences_begin_with_capital": self.capital,
            "rare_words_begin_with_capital": self.rare_capital,
            "forms": list(self.forms.values()),
        }
        return json.dumps(stored, ensure_ascii=False, indent=0).encode()

    def after(self, earlier: "LetterCase") -> "LetterCase":
        """Of a model that was trained on other text earlier."""
        return replace(self, forms={**earlier.forms, **self.forms})

    def usual(self, text: str) -> str:
        """The text in its usual case if it is in capitals, in title case or in lower case throughout; else as it is."""
        words = cased_words(text)
        fewest = 2 if _END.search(text) else FEWEST_WORDS
        if not (is_shouted(words) or is_titled(words, fewest) or is_small(words, fewest)):
            return text

        found = _WORD.sub(lambda word: self.form(word[0]), text)
        return _BEGIN.sub(lambda begin: self._with_capital(begin[0]), found) if self.capital else found

    def form(self, word: str) -> str:
        """The usual one of a word in any case."""
        if (known := self.forms.get(self._key(word))) is not None:
            return known
        lowered = self._lowered(word)
        return self._with_capital(lowered[0]) + lowered[1:] if self.rare_capital and len(word) > 1 else lowered

    def _key(self, word: str) -> str:
        """The same for a word in any case: STRASSE is Straße."""
        return self._lowered(word).casefold()

    def _lowered(self, word: str) -> str:
        if self.dotted:
            word = word.replace("I", "ı").replace("İ", "i")
        return word.lower()

    def _with_capital(self, begin: str) -> str:
        """With a capital as its last letter."""
        last = begin[-1]
        capital = "İ" if last == "i" and self.dotted else last.upper()
        return begin[:-1] + (capital if len(capital) == 1 else last)


def cased_words(text: str) -> list[str]:
    """The words, without signs and digits at their ends, whose letters have two cases."""
    stripped = (_EDGES.sub("", word) for word in text.split())
    return [word for word in stripped if word.lower() != word.upper()]


def is_shouted(words: list[str]) -> bool:
    """Are all of several words in capitals, and not each a letter or two?"""
    return len(words) >= FEWEST_SHOUTED and all(map(str.isupper, words)) and max(map(len, words)) > SMALL


def is_titled(words: list[str], fewest: int = FEWEST_WORDS) -> bool:
    """Do all words begin with a capital, so many at least, but for small ones?"""
    titled = sum(word[0].isupper() for word in words)
    small = sum(word[0].islower() and len(word) <= SMALL for word in words)
    return titled >= fewest and titled + small == len(words)


def is_small(words: list[str], fewest: int = FEWEST_WORDS) -> bool:
    """Has none of so many words a capital?"""
    return len(words) >= fewest and all(map(str.islower, words))
