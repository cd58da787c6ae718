"""Glossaries in a table (CSV, TSV, Excel): several terms in a cell, and columns that say which may be used."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from nmt.errors import ConfigError

BETWEEN_TERMS = re.compile(r"[|;\n\r]")  # of one cell


class TermTable(SegmentFile):
    """A table with a concept in each row, and its terms in a column for each language."""

    noun: ClassVar[str] = "term pair"

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage, data: DataConfig) -> None:
        super().__init__(path, src, tgt)
        if data.src_lang is None or data.tgt_lang is None:
            key = "data.src_lang" if data.src_lang is None else "data.tgt_lang"
            raise ConfigError(f"{key} is null, data.format=glossary; set data.src_lang and data.tgt_lang")
        self._languages = data.src_lang, data.tgt_lang
        self._sheet = found_format(path) == "xlsx"
        self._data = replace(data, format="xlsx" if self._sheet else "csv")
        if self._sheet:
            (self._src, self._tgt), self._header, self._found = xlsx_files.find_sheet(path, self._data)
        else:
            self._form, self._found = csv_files.find_form(path, self._data)
            self._src, self._tgt, self._header = self._form.src, self._form.tgt, self._form.header

    def segments(self) -> Iterator[Segment]:
        """The file's pairs of terms, row by row."""
        statuses: list[int] = []
        for number, cells in enumerate(self._rows()):
            if number == 0 and self._header:
                statuses = status_columns(cells, self._languages)
                continue
            usable = is_usable(cells[column] for column in statuses if column < len(cells))
            terms = {
                language: [Term((text.strip(),), usable) for text in BETWEEN_TERMS.split(cell) if text.strip()]
                for language, cell in zip(self._languages, (cells[self._src], cells[self._tgt]), strict=True)
            }
            yield from segments_of(
                None, {tag: own or [Term(("",), usable)] for tag, own in terms.items()}, self._wanted
            )

    def described(self) -> str:
        """What was found out of the table, for the report."""
        first = next(self._rows(), [])
        columns = status_columns(first, self._languages) if self._header else []
        named = ", ".join(f"'{first[column].strip()}'" for column in columns)
        return f"{self._found}; {f'status is column {named}' if columns else 'no column of a status'}"

    def _rows(self) -> Iterator[csv_files.Row]:
        if self._sheet:
            return xlsx_files.read_rows(self.path, (self._src, self._tgt))
        return csv_files.read_rows(self.path, self._form)


def status_columns(header: csv_files.Row, languages: Iterable[str]) -> list[int]:
    """The columns with the word status or usage in their names, and without the name of another language."""
    wanted = {language_of(code) for code in languages}
    found = []
    for number, name in enumerate(header):
        words = re.findall(r"[^\W\d_]+", name)
        named = {language for word in words if (language := language_of(word)) is not None}
        if {"status", "usage"}.intersection(word.lower() for word in words) and named <= wanted:
            found.append(number)
    return found
