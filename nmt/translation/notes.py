"""Cautions about single lines: the line is too long for one search, or the model can hardly read it."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from nmt.data.letter_case import LetterCase
from nmt.data.sentences import sentence_spans
from nmt.data.tokenizer import Tokenizer
from nmt.scoring.cautions import HARDLY, MOSTLY, letters_of_vocabulary, script_name, scripts_of
from nmt.translation import long_lines
from nmt.translation.translations import Translation

SHOWN = 5  # lines of a kind that are named; the others are counted
FEWEST_LETTERS = 4  # letters that a line must have to be judged
FEWEST_OF_ONE_SCRIPT = 2  # if all its letters are of one script that the model hardly knows
FEWEST_UNKNOWN = 2  # words that the model does not know; one alone is as likely a name
OTHERS = {
    "long": f"lines with more than {long_lines.LONGEST_PART:,} pieces besides these",
    "unread": "lines that the model can hardly read besides these",
}


class Notes:
    """Finds cautions about translations; `tokenizer` and `words` belong to the model's source side.

    `as_read` gives a text as the model reads it. If nobody noted the `words`, as in older runs, none is looked up.
    """

    def __init__(self, tokenizer: Tokenizer, as_read: Callable[[str], str], words: LetterCase) -> None:
        self.tokenizer = tokenizer
        self.as_read = as_read
        self.words = words
        self.known = letters_of_vocabulary(tokenizer)
        self.looked_up: dict[str, bool] = {}  # letter -> has the vocabulary no piece for it?
        self.easy: set[str] = set()  # characters that need no caution, however many there are

    def of(self, translation: Translation) -> dict[str, str]:
        """The cautions about a translation, by kind: "long" and "unread"."""
        said = {"long": long_lines.note(translation), "unread": self.unread_sentence(translation.source)}
        return {kind: line for kind, line in said.items() if line is not None}

    def unread_sentence(self, text: str) -> str | None:
        """Why the model can hardly read the text or, where it reads the rest, one of its sentences."""
        whole, is_easy = self.judged(text)
        if whole is not None or is_easy:
            return whole
        for span in sentence_spans(text):
            if (part := self.unread(text[span.start : span.end])) is not None:
                return f"has a sentence that {part}"
        return None

    def unread(self, text: str) -> str | None:
        """Why the model can hardly read the text; None: it can, or the text is too short to tell."""
        return self.judged(text)[0]

    def judged(self, text: str) -> tuple[str | None, bool]:
        """Why the model can hardly read the text, if so, and whether it can read any part of it."""
        read = self.as_read(text)
        said = self.unread_letters(read)
        unknown, count = self.words.unknown_words(read)
        if said is None and unknown >= FEWEST_UNKNOWN and unknown > MOSTLY * count and self.are_cased(read):
            said = "has mostly words that the model does not know: its translation is a guess"
        return said, unknown < FEWEST_UNKNOWN and self.easy.issuperset(read)

    def unread_letters(self, read: str) -> str | None:
        """Which letters of a text as it is read the model hardly knows, if it has enough letters to tell."""
        if self.easy.issuperset(read):
            return None
        self.easy.update(filter(self.is_easy, set(read)))
        letters = Counter(character for character in read if character.isalpha())
        if not letters:
            return None
        [(script, count)] = scripts_of(letters).most_common(1)
        if letters.total() < (FEWEST_OF_ONE_SCRIPT if count == letters.total() else FEWEST_LETTERS):
            return None
        if count > MOSTLY * letters.total() and self.hardly_known(script):
            return f"is in {script_name(script)} letters, which the model hardly knows: its translation is a guess"
        if letters.total() < FEWEST_LETTERS:
            return None
        if sum(letters[each] for each in letters if self.spelled(each)) > MOSTLY * letters.total():
            return "has mostly letters that the model does not know: its translation is a guess"
        return None

    @staticmethod
    def are_cased(text: str) -> bool:
        """Have most letters of the text two cases?"""
        letters = [character for character in text if character.isalpha()]
        return sum(letter.lower() != letter.upper() for letter in letters) > MOSTLY * len(letters)

    def is_easy(self, character: str) -> bool:
        """Is the character not a letter, or a letter that has a piece and whose script the model knows?"""
        return not any(self.hardly_known(script) for script in scripts_of({character: 1})) and not (
            character.isalpha() and self.spelled(character)
        )

    def hardly_known(self, script: str) -> bool:
        """Does the vocabulary have few letters of this script?"""
        return self.known[script] < HARDLY * self.known.total()

    def spelled(self, letter: str) -> bool:
        """Does the vocabulary lack a piece for the letter?"""
        if letter not in self.looked_up:
            self.looked_up[letter] = self.tokenizer.spelled(self.tokenizer.encode(letter)) > 0
        return self.looked_up[letter]

    def noted(
        self, translations: Iterable[Translation], say: Callable[[str], None], places: Iterable[str] | None = None
    ) -> Iterator[Translation]:
        """Passes the translations on; `say` gets the first few cautions of each kind, then the number of the others.

        `places` name the line of each translation; None: by their numbers.
        """
        found = dict.fromkeys(OTHERS, 0)
        numbered = (f"line {number:,}" for number in count(1))
        for translation, place in zip(translations, numbered if places is None else places, strict=False):
            yield translation  # before its caution: if the caller refuses it, only that error is shown
            for kind, said in self.of(translation).items():
                found[kind] += 1
                if found[kind] <= SHOWN:
                    say(f"{place} {said}")
        for kind, lines in found.items():
            if lines > SHOWN:
                say(f"{OTHERS[kind]}: {lines - SHOWN:,}")


def caution(line: str) -> None:
    """Prints a caution on stderr."""
    print(f"caution: {line}", file=sys.stderr)
