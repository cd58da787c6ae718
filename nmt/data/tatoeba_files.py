"""Pairs of Tatoeba exports: tab-separated files of sentences (number, language, text) and of links (number, number).

Memory holds the numbers of all sentences in either language, and the texts of linked sentences.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.tally import Tally
from nmt.data.packed import unpacked
from nmt.data.paths import read_lines
from nmt.errors import ConfigError, DataError, printable

_SENTENCE = re.compile(r"([0-9]{1,18})\t([a-z]{2,8}(?:[_-]\w+)?|\\N)\t([^\t]*)")  # more columns may follow
_LINK = re.compile(r"([0-9]{1,18})\t([0-9]{1,18})")
HEAD = 1 << 10
MOST_NAMED = 20  # languages that an error names


def is_export(head: bytes) -> bool:
    """Is this the beginning of a file of sentences or links?"""
    line = _first_line(head)
    sentence = _SENTENCE.match(line)
    return _LINK.fullmatch(line) is not None or (sentence is not None and not sentence[3].strip().isdecimal())


class TatoebaPairs:
    """The pairs of linked sentences in two languages, in the order of the links."""

    def __init__(self, data: DataConfig, files: Sequence[Path]) -> None:
        """Refuses a corpus without languages, without sentences or without links."""
        if data.src_lang is None or data.tgt_lang is None:
            key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
            raise ConfigError(
                f"{key} is null, data.format=tatoeba; set data.src_lang and data.tgt_lang, such as en, de"
            )
        self._wanted = WantedLanguage(data.src_lang), WantedLanguage(data.tgt_lang)
        self._links = [path for path in files if _has_links(path)]
        self._sentences = [path for path in files if path not in self._links]
        for found, what in ((self._sentences, "sentences"), (self._links, "links")):
            if not found:
                raise DataError(
                    f"{printable(', '.join(map(str, files)))}: no file of {what} is among them; name files "
                    "of both, such as data.train.files=[eng_sentences.tsv,deu_sentences.tsv,eng-deu_links.tsv]"
                )
        self.tally = Tally(f"{len(files):,} files", "link")
        self._languages: set[str] = set()  # codes in the files

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every pair once; counts links and pairs in the tally. Raises DataError if there is no pair."""
        self.tally.reset()
        known = self._numbers()
        chosen = self._linked(known)
        texts = self._texts(set(chosen))
        seen = set()
        for pair in zip(chosen[::2], chosen[1::2], strict=True):
            self.tally.units += 1
            if pair in seen:
                self.tally.left_out["repeated"] += 1
                continue
            seen.add(pair)
            self.tally.pairs += 1
            yield texts[pair[0]], texts[pair[1]]
        if not self.tally.pairs:
            raise DataError(
                f"{self._links[0]}: no link joins a sentence in {self._wanted[0].name} with one in "
                f"{self._wanted[1].name}; name other files, or other languages: the files have "
                f"{', '.join(sorted(self._languages)[:MOST_NAMED])}"
            )

    def _numbers(self) -> dict[int, int]:
        """The side, 0 or 1, of each sentence, by the sentence's number."""
        sides: dict[int, int] = {}
        for number, language, _ in self._rows():
            if len(self._languages) < MOST_NAMED:
                self._languages.add(language)
            for side, wanted in enumerate(self._wanted):
                if wanted.fit(language):
                    sides[number] = side
        return sides

    def _linked(self, sides: dict[int, int]) -> list[int]:
        """The numbers of linked sentences, source and target in turn; a link may name either first."""
        chosen: list[int] = []
        for path in self._links:
            for at, line in enumerate(read_lines(path), start=1):
                if not line:
                    continue
                found = _LINK.fullmatch(line)
                if found is None:
                    raise DataError(f"{path}, line {at}: not two numbers and a tab between; correct the file")
                first, second = int(found[1]), int(found[2])
                if (sides.get(first), sides.get(second)) == (0, 1):
                    chosen.extend((first, second))
                elif (sides.get(first), sides.get(second)) == (1, 0):
                    chosen.extend((second, first))
        return chosen

    def _texts(self, wanted: set[int]) -> dict[int, str]:
        return {number: text for number, _, text in self._rows() if number in wanted}

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        for path in self._sentences:
            for at, line in enumerate(read_lines(path), start=1):
                if line:
                    found = _SENTENCE.match(line)
                    if found is None:
                        raise DataError(f"{path}, line {at}: not number, language and text with tabs; correct the file")
                    yield int(found[1]), found[2], found[3]


def _has_links(path: Path) -> bool:
    with unpacked(path) as stream:
        return _LINK.fullmatch(_first_line(stream.peek(HEAD)[:HEAD])) is not None


def _first_line(head: bytes) -> str:
    return head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")[0].removesuffix("\r")
