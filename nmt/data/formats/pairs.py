"""Training pairs from segments; segments that are not translations are left out and counted."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.multiterm import MultiTerm
from nmt.data.formats.po import Po
from nmt.data.formats.qt import Qt
from nmt.data.formats.segment import Segment, State, has_marks, with_placeholders, without_codes
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.strings import StringsFiles
from nmt.data.formats.subtitles import Subtitles
from nmt.data.formats.tally import Tally
from nmt.data.formats.tbx import Tbx
from nmt.data.formats.term_table import TermTable
from nmt.data.formats.tmx import Tmx
from nmt.data.formats.xliff import Xliff
from nmt.data.text import is_visible
from nmt.errors import ConfigError, DataError, printable

UNKNOWN = "und"  # ISO 639 for a language that nobody has named
LOOKED_AT = 1000  # units of a file in which to find the languages that an error names
MOST_COUNTED, MOST_NAMED = 1000, 20  # languages that are counted, and that an error names


FORMATS: dict[str, type[SegmentFile]] = {
    "tmx": Tmx,
    "xliff": Xliff,
    "po": Po,
    "qt": Qt,
    "tbx": Tbx,
    "multiterm": MultiTerm,
    "glossary": TermTable,
    "strings": StringsFiles,
    "subtitles": Subtitles,
}

NEVER: dict[State | None, str] = {  # reasons by state
    "obsolete": "obsolete",
    "exempt": "not to be translated",
    "unclear": "without a clear counterpart",
    "surplus": "in plural forms without a counterpart",
    "unreadable": "with a choice of forms that is not well-formed",
}


class SegmentPairs:
    """The pairs of a split whose files hold segments; each of `files` is a file, or one for each language."""

    def __init__(self, data: DataConfig, files: Sequence[tuple[Path, ...]]) -> None:
        self._data = data
        self._files = files
        self._keeps_codes = data.inline == "keep"
        self._format = FORMATS[data.format]
        self._src, self._tgt = self._languages(data)
        self._names = tuple(
            side if language.code == UNKNOWN else language.name
            for side, language in (("source", self._src), ("target", self._tgt))
        )
        self.tally = Tally(
            printable(" and ".join(_named_apart(files[0]))) if len(files) == 1 else f"{len(files):,} files",
            self._format.noun,
        )

    def open(self, paths: tuple[Path, ...]) -> SegmentFile:
        """One of the files."""
        return self._format.of(self._data, paths, self._src, self._tgt)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yields every pair and counts in the tally. Raises DataError if there is no pair."""
        tally = self.tally
        tally.reset()
        for paths in self._files:
            for segment in self.open(paths).segments():
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
            return f"without {self._names[0 if src_text is None else 1]}"
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
        if data.src_lang is not None and data.src_lang == data.tgt_lang:
            raise ConfigError(f"data.src_lang and data.tgt_lang are both {data.src_lang}; set one to another language")
        if self._format.has_sides:
            return WantedLanguage(data.src_lang or UNKNOWN), WantedLanguage(data.tgt_lang or UNKNOWN)
        if data.src_lang is None or data.tgt_lang is None:
            key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
            nothing = WantedLanguage(UNKNOWN)
            units = islice(self._format.of(data, self._files[0], nothing, nothing).segments(), LOOKED_AT)
            there = dict.fromkeys(language for unit in units for language in unit.languages)
            raise ConfigError(
                f"{key} is null, data.format={data.format}; set data.src_lang and data.tgt_lang:"
                f" {self._files[0][0]} has {_listed(list(there))}"
            )
        return WantedLanguage(data.src_lang), WantedLanguage(data.tgt_lang)

    def _refuse_no_pair(self) -> None:
        tally = self.tally
        if tally.pairs:
            return
        where = " and ".join(map(str, self._files[0])) if len(self._files) == 1 else tally.name
        there = [language for language, _ in tally.languages.most_common() if language]
        if (
            there
            and not self._format.has_sides
            and not all(any(map(side.fit, there)) for side in (self._src, self._tgt))
        ):
            raise DataError(
                f"{where}: {tally.counts()}; no {tally.noun} has both"
                f" data.src_lang={self._src.code} and data.tgt_lang={self._tgt.code};"
                f" set them to languages that are there: {_listed(there)}"
            )
        raise DataError(f"{where}: {tally.counts()}; no pair is left; name other files")


def _named_apart(paths: Sequence[Path]) -> list[str]:
    """The names of the files, with their folders if they have one name: values-de/strings.xml."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [f"{path.parent.name}/{path.name}" for path in paths]


def _is_copy(src: str, tgt: str, even_without_letters: bool) -> bool:
    return src.strip() == tgt.strip() and (even_without_letters or any(map(str.isalpha, src)))


def _listed(languages: list[str]) -> str:
    named = [printable(language)[:40] for language in languages if language][:MOST_NAMED]
    return ", ".join(named) or "no language"
