"""Glossaries in tables: several terms in a cell, and columns that say which terms nobody should use."""

from pathlib import Path

import pytest
from helpers.segment_files import SegmentFiles
from helpers.workbooks import workbook

from nmt.config.sections import SplitConfig
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


FORMS = {mark: in_text(ROWS, mark) for mark in ",;\t|"} | {"xlsx": workbook(ROWS)}


@pytest.mark.parametrize("form", FORMS)
def test_each_term_of_a_cell_is_paired_and_the_report_says_how(tmp_path: Path, form: str) -> None:
    split = TABLE.split(tmp_path, FORMS[form])
    assert list(split.pairs()) == PAIRS
    assert split.notes[0] == "train: terms: data=glossary"
    assert split.notes[1].endswith("source is column 'English', target 'German'; status is column 'Status'")
    assert str(split.tallies[0]) == "terms: 9 term pairs, 6 pairs; left out: 2 obsolete, 1 empty"


@pytest.mark.parametrize(
    "name",
    [
        "usage",
        "Status DE",
        "term status (en)",
        "Status de-CH",
        "StatusGerman",
        "termStatus",
        "Usage_status",
        "Status en-US",
    ],
)
def test_a_column_of_a_status_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    content = in_text([["en", "de", name], ["cat", "Katze", ""], ["handy", "Handy", "do not use"]], ",")
    split = TABLE.split(tmp_path, content)
    assert list(split.pairs()) == [("cat", "Katze")]
    assert split.notes[1].endswith(f"status is column '{name}'")


@pytest.mark.parametrize("name", ["Status FR", "Note", "Usage example", "Example of usage", "Status pt-BR", "", "the"])
def test_another_column_is_none(tmp_path: Path, name: str) -> None:
    content = in_text([["en", "de", name], ["rejected", "abgelehnt", "Rejected goods are returned."]], ",")
    split = TABLE.split(tmp_path, content)
    assert list(split.pairs()) == [("rejected", "abgelehnt")]
    assert split.notes[1].endswith("no column of a status")


def test_a_region_of_the_corpus_counts_as_its_language(tmp_path: Path) -> None:
    content = in_text([["en", "pt", "Status pt-BR"], ["a", "b", "forbidden"], ["c", "d", ""]], ",")
    assert TABLE.pairs(tmp_path, content, tgt_lang="pt-BR", src_column="en", tgt_column="pt") == [("c", "d")]


def test_columns_of_terms_are_never_columns_of_a_status(tmp_path: Path) -> None:
    content = in_text([["Usage (en)", "Usage (de)"], ["rejected", "abgelehnt"]], ",")
    found = TABLE.pairs(tmp_path, content, src_column="Usage (en)", tgt_column="Usage (de)")
    assert found == [("rejected", "abgelehnt")]


def test_a_status_of_a_language_is_about_its_terms(tmp_path: Path) -> None:
    rows = [["en", "Status EN", "de", "Status DE"], ["a|b", "rejected|ok", "c;d", "ok|forbidden"], ["e", "", "f", ""]]
    split = TABLE.split(tmp_path, in_text(rows, ","))
    assert list(split.pairs()) == [("b", "c"), ("e", "f")]
    assert split.notes[1].endswith("status is column 'Status EN', 'Status DE'")


def test_one_status_is_about_all_terms_of_a_cell_and_as_many_about_one_each(tmp_path: Path) -> None:
    rows = [["en", "de", "Status"], ["a|b", "c|d", "preferred|deprecated"], ["e|f", "g", "preferred; forbidden"]]
    assert TABLE.pairs(tmp_path, in_text([*rows, ["h", "i", "(deprecated)"]], ",")) == [("a", "c")]


def test_of_columns_with_the_same_name_those_beside_the_terms_count(tmp_path: Path) -> None:
    rows = [["English", "Status", "German", "Status", "French", "Status"], ["a", "", "b", "", "c", "forbidden"]]
    content = in_text([*rows, ["d", "forbidden", "e", "", "f", ""], ["g", "", "h", "forbidden", "", ""]], ",")
    assert TABLE.pairs(tmp_path, content) == [("a", "b")]


@pytest.mark.parametrize(
    "status",
    [
        *("not preferred", "non-preferred", "do-not-use", "Banned", "Not approved", "X: rejected", "Don't use"),
        *("Veraltet", "NICHT VERWENDEN", "Ne pas utiliser", "Obsolète", "prohibida", "NÃO USAR", "禁用", "非推奨"),
    ],
)
def test_statuses_are_known_however_they_are_spelled(tmp_path: Path, status: str) -> None:
    content = in_text([["en", "de", "status"], ["a", "b", status], ["c", "d", "approved"]], ",")
    assert TABLE.pairs(tmp_path, content) == [("c", "d")]


@pytest.mark.parametrize(
    "status",
    ["not deprecated", "Not forbidden", "preferred", "admitted", "nicht verboten", "Vorzugsbenennung", "non obsolète"],
)
def test_other_statuses_are_no_reason(tmp_path: Path, status: str) -> None:
    content = in_text([["en", "de", "status"], ["a", "b", status]], ",")
    assert TABLE.pairs(tmp_path, content) == [("a", "b")]


@pytest.mark.parametrize(
    "header",
    [["en", "de", "Note", "Term status", "Usage"], ["Status", "en", "de", "Usage"], ["en", "de", "Status", "Usage"]],
)
def test_columns_of_a_status_with_several_names_are_about_both_sides(tmp_path: Path, header: list[str]) -> None:
    for number, name in enumerate(header):
        if name not in ("en", "de", "Note"):
            row = ["forbidden" if at == number else at_name for at, at_name in enumerate(header)]
            content = in_text([header, row, ["c" if name in ("en", "de") else "" for name in header]], ",")
            assert TABLE.pairs(tmp_path, content) == [("c", "c")]


def test_the_end_of_a_character_reference_separates_no_terms(tmp_path: Path) -> None:
    content = in_text([["en", "de"], ["R&amp;D", "F&amp;E"], ["R&D;RD", "F&E"], ["&Uuml; &#252;", "x&y;z"]], ",")
    found = [("R&amp;D", "F&amp;E"), ("R&D", "F&E"), ("RD", "F&E"), ("&Uuml; &#252;", "x&y"), ("&Uuml; &#252;", "z")]
    assert TABLE.pairs(tmp_path, content) == found


def test_quotes_of_a_tsv_are_text_as_with_data_tsv(tmp_path: Path) -> None:
    table = SegmentFiles("glossary", "terms.tsv")
    assert table.pairs(tmp_path, 'English\tGerman\n"cat\tKatze\ndog"\tHund\n') == [('"cat', "Katze"), ('dog"', "Hund")]


def test_other_files_are_read_beside_the_tables(tmp_path: Path) -> None:
    (tmp_path / "memory.tmx").write_text(
        '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>x; y</seg></tuv><tuv xml:lang="de"><seg>z</seg></tuv>'
        "</tu></body></tmx>"
    )
    (tmp_path / "more.csv").write_text(FORMS[","])
    files = SplitConfig(None, None, [str(tmp_path / "memory.tmx"), str(tmp_path / "more.csv")])
    split = TABLE.split(tmp_path, "", train=files)
    assert list(split.pairs()) == [("x; y", "z"), *PAIRS]
    assert "train: memory.tmx: data=tmx" in split.notes
    assert "train: more.csv: data=glossary" in split.notes


def test_a_line_break_in_the_header_does_not_break_the_report(tmp_path: Path) -> None:
    split = TABLE.split(tmp_path, workbook([["en", "de", "Status\nDE"], ["a", "b", ""]]))
    assert split.notes[-1].endswith("status is column 'Status\\nDE'")


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
    assert "1 empty" in TABLE.refusal(tmp_path, workbook([["en", "de"], ["a"]]))
