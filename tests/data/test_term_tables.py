"""Glossaries in tables: several terms in a cell, and columns that say which terms nobody should use."""

import io
from pathlib import Path

import openpyxl
import pytest
from helpers.segment_files import SegmentFiles

from nmt.errors import ConfigError, DataError

TABLE = SegmentFiles("glossary", "terms")
ROWS = [
    ["English", "Status", "German", "Note"],
    ["car|automobile", "preferred", "Auto; Wagen ", "x"],
    ["handy", "Deprecated", "Handy", "not English"],
    ["cell phone", "", "Handy\nMobiltelefon", ""],
    ["", "", "leer", ""],
    ["cat; | ", None, "Katze", "a|b"],
]
PAIRS = [
    ("car", "Auto"),
    ("car", "Wagen"),
    ("automobile", "Auto"),
    ("cell phone", "Handy"),
    ("cell phone", "Mobiltelefon"),
    ("cat", "Katze"),
]


def in_text(rows: list[list[str | None]], delimiter: str) -> str:
    """As spreadsheets write it."""
    return "".join(
        delimiter.join(f'"{cell}"' if set(cell or "").intersection("\n;|") else cell or "" for cell in row) + "\r\n"
        for row in rows
    )


def in_excel(rows: list[list[str | None]]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


FORMS = {mark: in_text(ROWS, mark) for mark in ",;\t|"} | {"xlsx": in_excel(ROWS)}


@pytest.mark.parametrize("form", FORMS)
def test_each_term_of_a_cell_is_paired_and_the_report_says_how(tmp_path: Path, form: str) -> None:
    split = TABLE.split(tmp_path, FORMS[form])
    assert list(split.pairs()) == PAIRS
    assert split.notes[0].endswith("source is column 'English', target 'German'; status is column 'Status'")
    assert str(split.tallies[0]) == "terms: 9 term pairs, 6 pairs; left out: 2 obsolete, 1 empty"


@pytest.mark.parametrize(
    ("name", "counts"),
    [("usage", True), ("Status DE", True), ("term status (en)", True), ("Status FR", False), ("Note", False)],
)
def test_the_name_of_a_column_says_whether_it_counts(tmp_path: Path, name: str, counts: bool) -> None:
    content = in_text([["en", "de", name], ["cat", "Katze", ""], ["handy", "Handy", "do not use"]], ",")
    split = TABLE.split(tmp_path, content)
    assert len(list(split.pairs())) == (1 if counts else 2)
    assert split.notes[0].endswith(f"status is column '{name}'" if counts else "no column of a status")


def test_several_columns_of_a_status_count_together(tmp_path: Path) -> None:
    rows = [["en", "Status EN", "de", "Status DE"], ["a", "", "b", "forbidden"], ["c", "rejected", "d", ""]]
    split = TABLE.split(tmp_path, in_text([*rows, ["e", "", "f", ""]], ","))
    assert list(split.pairs()) == [("e", "f")]
    assert split.notes[0].endswith("status is column 'Status EN', 'Status DE'")


def test_columns_and_form_are_as_in_other_tables(tmp_path: Path) -> None:
    content = "cat|Katze\ndog|Hund;Köter\n".encode("cp1252")
    found = TABLE.pairs(tmp_path, content, delimiter="pipe", header=False, src_column=1, tgt_column=0, quotes=False)
    assert found == [("Katze", "cat"), ("Hund", "dog"), ("Köter", "dog")]


def test_the_form_is_part_of_what_was_read(tmp_path: Path) -> None:
    content = in_text([["en", "de"], ["a", "b"]], ",")
    first, second = (TABLE.split(tmp_path, content, header=header) for header in (True, False))
    assert first.content != second.content


def test_what_it_cannot_read_is_named(tmp_path: Path) -> None:
    assert "data.tgt_lang is null, data.format=glossary; set data.src_lang and" in TABLE.refusal(
        tmp_path, FORMS[","], ConfigError, tgt_lang=None
    )
    assert "which columns hold the two languages? line 1 has 'Wort', 'Status'" in TABLE.refusal(
        tmp_path, in_text([["Wort", "Status", "Sprache"], ["a", "b", "c"]], ","), DataError
    )
    assert "no pair is left" in TABLE.refusal(tmp_path, in_text([["en", "de"], ["a", ""]], ","))
    assert "1 empty" in TABLE.refusal(tmp_path, in_excel([["en", "de"], ["a"]]))
