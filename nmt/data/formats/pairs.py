"""Training pairs from segments; segments that are not translations are left out and counted."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.multiterm import MultiTerm
from nmt.data.formats.po import Po
from nmt.data.formats.segment import Segment, State, has_marks, with_placeholders, without_codes
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.tally import Tally
from nmt.data.formats.tbx import Tbx
from nmt.data.formats.term_table import TermTable
from nmt.data.formats.tmx import Tmx
from nmt.data.formats.xliff import Xliff
from nmt.data.text import is_visible
from nmt.errors import ConfigError, DataError, printable

LOOKED_AT = 1000  # units of a file in which to find the languages that an error names
MOST_COUNTED, MOST_NAMED = 1000, 20  # languages that are counted, and that an error names


FORMATS: dict[str, type[SegmentFile]] = {
    "tmx": Tmx,
    "xliff": Xliff,
    "po": Po,
    "tbx": Tbx,
    "multiterm": MultiTerm,
    "glossary": TermTable,
}

NEVER: dict[State | None, str] = {"obsolete": "obsolete", "exempt": "not to be translated"}  # reasons by state


class SegmentPairs:
    """The pairs of a split whose files hold segments."""

    def __init__(self, data: DataConfig, files: Sequence[Path]) -> None:
        self._data = data
        self._files = files
        self._keeps_codes = data.inline == "keep"
        self._src, self._tgt = self._languages(data)
        self.tally = Tally(
            printable(files[0].name) if len(files) == 1 else f"{len(files):,} files", FORMATS[data.format].noun
        )

    def open(self, path: Path) -> SegmentFile:
        """One of the files."""
        return self._opened(path, self._src, self._tgt)

    def _opened(self, path: Path, src: WantedLanguage, tgt: WantedLanguage) -> SegmentFile:
        return FORMATS[self._data.format].of(self._data, path, src, tgt)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yields every pair and counts in the tally. Raises DataError if there is no pair."""
        tally = self.tally
        tally.reset()
        for path in self._files:
            for segment in self.open(path).segments():
                tally.units += 1
                pair = self._pair(segment)
                if isinstance(pair, str):
                    tally.left_out[pair] += 1
                    if (segment.src is None or segment.tgt is None) and len(tally.languages) < MOST_COUNTED:
                        tally.languages.update(dict.fromkeys(segment.languages, 1))
                else:
                    tally.pairs += 1
                    yield pair
        self._refuse_no_pair()

    def _pair(self, segment: Segment) -> tuple[str, str] | str:
        """Both sides, or the reason why the segment gives no pair."""
        _, src_text, tgt_text, _, _, state = segment  # quicker than names, for every unit
        if src_text is None or tgt_text is None:
            return f"without {(self._src if src_text is None else self._tgt).name}"
        if state in NEVER:
            return NEVER[state]
        src, tgt = without_codes(src_text), without_codes(tgt_text)
        if not is_visible(src) or not is_visible(tgt):
            return "of tags alone" if has_marks(src_text) and not is_visible(src) else "empty"
        if state == "fuzzy":
            return "fuzzy"
        if state != "approved" and _is_copy(src, tgt, even_without_letters=state == "untranslated"):
            return "copied from the source"
        if self._keeps_codes:
            kept = with_placeholders(src_text, tgt_text)
            return kept[0], kept[1]
        return src, tgt

    def _languages(self, data: DataConfig) -> tuple[WantedLanguage, WantedLanguage]:
        if data.src_lang is None or data.tgt_lang is None:
            key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
            nothing = WantedLanguage("und")
            units = islice(self._opened(self._files[0], nothing, nothing).segments(), LOOKED_AT)
            there = dict.fromkeys(language for unit in units for language in unit.languages)
            raise ConfigError(
                f"{key} is null, data.format={data.format}; set data.src_lang and data.tgt_lang:"
                f" {self._files[0]} has {_listed(list(there))}"
            )
        if data.src_lang == data.tgt_lang:
            raise ConfigError(f"data.src_lang and data.tgt_lang are both {data.src_lang}; set one to another language")
        return WantedLanguage(data.src_lang), WantedLanguage(data.tgt_lang)

    def _refuse_no_pair(self) -> None:
        tally = self.tally
        if tally.pairs:
            return
        where = self._files[0] if len(self._files) == 1 else tally.name
        there = [language for language, _ in tally.languages.most_common() if language]
        if there and not all(any(map(side.fit, there)) for side in (self._src, self._tgt)):
            raise DataError(
                f"{where}: {tally.counts()}; no {tally.noun} has both"
                f" data.src_lang={self._src.code} and data.tgt_lang={self._tgt.code};"
                f" set them to languages that are there: {_listed(there)}"
            )
        raise DataError(f"{where}: {tally.counts()}; no pair is left; name other files")


def _is_copy(src: str, tgt: str, even_without_letters: bool) -> bool:
    return src.strip() == tgt.strip() and (even_without_letters or any(map(str.isalpha, src)))


def _listed(languages: list[str]) -> str:
    named = [printable(language)[:40] for language in languages if language][:MOST_NAMED]
    return ", ".join(named) or "no language"
