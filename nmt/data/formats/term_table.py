"""Glossaries in a table (CSV, TSV, Excel): several terms in a cell, and columns that say which may be used."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.entities import html5
from pathlib import Path
from typing import ClassVar

from nmt.config.languages import language_of
from nmt.config.sections import DataConfig
from nmt.data import csv_files, xlsx_files
from nmt.data.contents import found_format
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.segment import Segment
from nmt.data.formats.segment_file import SegmentFile
from nmt.data.formats.terms import Term, is_usable, segments_of
from nmt.data.row_rules import MARKED, Columns, Row
from nmt.errors import ConfigError

REFERENCE = re.compile(r"&(#\w+|\w+);")  # to a character; its ; separates no terms
NAMES = {"status", "usage"}  # one of them is in the name of a column of a status
BESIDE = {"term", "approval", "administrative"}  # and may be in it, too
Sides = frozenset[int]  # 0: source, 1: target


class TermTable(SegmentFile):
    """A table with a concept in each row, and its terms in a column for each language."""

    noun: ClassVar[str] = "term pair"

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage, data: DataConfig) -> None:
        super().__init__(path, src, tgt)
        if data.src_lang is None or data.tgt_lang is None:
            key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
            raise ConfigError(f"{key} is null, data.format=glossary; set data.src_lang and data.tgt_lang")
        self._languages = data.src_lang, data.tgt_lang
        self._skipped = 0  # rows above the table
        found = found_format(path)
        if found == "xlsx":
            self._form = None
            sheet, self._found = xlsx_files.find_sheet(path, data)
            self._columns, header, self._rules, self._skipped = sheet
        else:
            self._form, self._found = csv_files.find_form(
                path, replace(data, format="tsv" if found == "tsv" else "csv")
            )
            self._columns, header = (self._form.src, self._form.tgt), self._form.header
            self._rules = self._form.rules
        self._header = next(self._rows(), []) if header else None
        self._statuses = {} if self._header is None else status_columns(self._header, self._columns, self._languages)
        self._forbidding = [  # columns such as "Forbidden", which mark terms that nobody should use
            at for at, name in enumerate(self._header or []) if at not in self._columns and not is_usable([name])
        ]

    @classmethod
    def of(cls, data: DataConfig, paths: Sequence[Path], src: WantedLanguage, tgt: WantedLanguage) -> "TermTable":
        """Its columns and the form of the table may be configured."""
        return cls(paths[0], src, tgt, data)

    def segments(self) -> Iterator[Segment]:
        """The file's pairs of terms, row by row."""
        rows = self._rows()
        if self._header is not None:
            next(rows)
        for row in rows:
            turned = self._rules.turned(row)
            if turned is None:
                yield Segment(None, None, None, self._rules.languages_of(row), None, None)
                continue
            if self._rules.is_fuzzy(row):
                src, tgt = (row[at] for at in (reversed(self._columns) if turned else self._columns))
                yield Segment(None, (src,), (tgt,), (), None, "fuzzy")
                continue
            terms = {each: self._terms(row, 1 - side if turned else side) for side, each in enumerate(self._languages)}
            yield from segments_of(None, terms, self._wanted)

    def _terms(self, row: Row, side: int) -> list[Term]:
        """The terms in the column of one side; an empty one if the cell has none."""
        texts = parts(row[self._columns[side]]) or [""]
        statuses = [parts(row[at]) for at, sides in self._statuses.items() if side in sides and at < len(row)]
        forbidden = any(row[at].strip().lower() in MARKED for at in self._forbidding if at < len(row))
        return [
            Term(
                (text,),
                not forbidden
                and all(is_usable(own[at : at + 1] if len(own) == len(texts) else own) for own in statuses),
            )
            for at, text in enumerate(texts)
        ]

    def described(self) -> str:
        """What was found out of the table, for the report."""
        columns = [*self._statuses, *(at for at in self._forbidding if at not in self._statuses)]
        if not columns:
            return f"{self._found}; no column of a status"
        assert self._header is not None
        return f"{self._found}; status is column {', '.join(repr(self._header[at]) for at in columns)}"

    def _rows(self) -> Iterator[Row]:
        if self._form is None:
            return xlsx_files.read_rows(self.path, self._columns, self._skipped)
        return csv_files.read_rows(self.path, self._form)


def parts(cell: str) -> list[str]:
    """What is in a cell, between | and ; and line breaks."""

    def kept(found: re.Match[str]) -> str:
        return f"&{found[1]}\0" if found[1].startswith("#") or f"{found[1]};" in html5 else found[0]

    found = (part.replace("\0", ";").strip() for part in re.split("[|;\n]", REFERENCE.sub(kept, cell)))
    return [part for part in found if part]


def status_columns(header: Row, columns: Columns, languages: tuple[str, str]) -> dict[int, Sides]:
    """The columns whose names are made of status or usage and a language, if any, and the sides that each is about.

    Columns with the same name speak of the columns to their left, if one of these holds terms.
    """
    codes = [language_of(code) for code in languages]
    found: dict[int, Sides] = {}
    for number, name in enumerate(header):
        of = None if number in columns else _languages_in(name)
        if of is not None:
            found[number] = frozenset(side for side, code in enumerate(codes) if not of or code in of)
    named: dict[str, list[int]] = defaultdict(list)
    for number in found:
        named[header[number].strip().lower()].append(number)
    for numbers in named.values():
        beside = {number: frozenset(side for side, at in enumerate(columns) if at == number - 1) for number in numbers}
        if len(numbers) > 1 and any(beside.values()):
            found |= beside
    return {number: sides for number, sides in found.items() if sides}


def _languages_in(name: str) -> set[str] | None:
    """The languages in the name of a column of a status; None for the name of another column."""
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    if NAMES.isdisjoint(map(str.lower, words)):
        return None
    languages: set[str] = set()
    for word in words:
        if word.lower() not in NAMES | BESIDE:
            if (code := language_of(word)) is None:
                return None
            languages.add(code)
    return languages
