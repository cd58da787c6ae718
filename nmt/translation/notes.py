"""Cautions about single lines: the line is too long for one search, or the model cannot read it."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from nmt.data.text import Cleaning
from nmt.data.tokenizer import Tokenizer
from nmt.scoring.cautions import HARDLY, MOSTLY, letters_of_vocabulary, script_name, scripts_of
from nmt.translation import long_lines
from nmt.translation.translations import Translation

SHOWN = 5  # lines of a kind that are named; the others are counted
FEWEST_LETTERS = 4  # of a line whose language can be told
OTHERS = {
    "long": f"lines with more than {long_lines.LONGEST_PART:,} pieces besides these",
    "unread": "lines that the model can hardly read besides these",
}


class Notes:
    """Of translations by a model with this source tokenizer, which reads sources so cleaned."""

    def __init__(self, tokenizer: Tokenizer, cleaning: Cleaning) -> None:
        self.tokenizer = tokenizer
        self.cleaning = cleaning
        self.known = letters_of_vocabulary(tokenizer)
        self.looked_up: dict[str, bool] = {}  # letters
        self.easy: set[str] = set()  # characters of which nothing is to be said, however many there are

    def of(self, translation: Translation) -> dict[str, str]:
        """What is to be said of it, by kind: "long" and "unread"."""
        said = {"long": long_lines.note(translation), "unread": self.unread(translation.source)}
        return {kind: line for kind, line in said.items() if line is not None}

    def unread(self, text: str) -> str | None:
        """Why the model can hardly read the text; None: it can, or the text has too few letters to tell."""
        cleaned = self.cleaning.source(text)
        if self.easy.issuperset(cleaned):
            return None
        self.easy.update(filter(self.is_easy, set(cleaned)))
        letters = Counter(character for character in cleaned if character.isalpha())
        if letters.total() < FEWEST_LETTERS:
            return None
        [(script, count)] = scripts_of(letters).most_common(1)
        if count > MOSTLY * letters.total() and self.hardly_known(script):
            return f"is in {script_name(script)} letters, which the model hardly knows: its translation is a guess"
        if sum(letters[each] for each in letters if self.spelled(each)) > MOSTLY * letters.total():
            return "has mostly letters that the model does not know: its translation is a guess"
        return None

    def is_easy(self, character: str) -> bool:
        """Is it no letter, or one that has a piece, in a script that the model knows?"""
        return not any(self.hardly_known(script) for script in scripts_of({character: 1})) and not (
            character.isalpha() and self.spelled(character)
        )

    def hardly_known(self, script: str) -> bool:
        """Are few letters of the vocabulary in it?"""
        return self.known[script] < HARDLY * self.known.total()

    def spelled(self, letter: str) -> bool:
        """Has the vocabulary no piece for it?"""
        if letter not in self.looked_up:
            self.looked_up[letter] = self.tokenizer.spelled(self.tokenizer.encode(letter)) > 0
        return self.looked_up[letter]

    def noted(self, translations: Iterable[Translation], say: Callable[[str], None]) -> Iterator[Translation]:
        """The same translations; the first few lines of each kind are named, the others counted."""
        found = dict.fromkeys(OTHERS, 0)
        for number, translation in enumerate(translations, start=1):
            yield translation  # it may be refused: what is wrong is then said alone
            for kind, said in self.of(translation).items():
                found[kind] += 1
                if found[kind] <= SHOWN:
                    say(f"line {number:,} {said}")
        for kind, count in found.items():
            if count > SHOWN:
                say(f"{OTHERS[kind]}: {count - SHOWN:,}")


def caution(line: str) -> None:
    """On standard error."""
    print(f"caution: {line}", file=sys.stderr)
