"""Sentence pairs of Excel workbooks (.xlsx), row by row; a formula gives its stored value, nothing is computed."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from nmt.config.sections import DataConfig
from nmt.data.csv_files import Columns, Row, find_columns
from nmt.errors import ConfigError, DataError, counted, printable

MOST_TEXT = 1 << 30  # bytes, at most, of each file in a workbook; memory holds the file with the text
DECLARATIONS = b"<!DOCTYPE"
HEAD = 1 << 10
ERRORS = {"#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#GETTING_DATA"}
ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


def find_sheet(path: Path, data: DataConfig) -> tuple[Columns, bool, str]:
    """The columns of the only sheet with text, whether its first row is a header, and a description."""
    first = next(_rows(path), None)
    if first is None:
        return (0, 1), False, "no rows"
    (src, tgt), header = find_columns(first[1], path, data)
    names = [repr(first[1][at]) if header and at < len(first[1]) else str(at) for at in (src, tgt)]
    said = f"{'with' if header else 'no'} header; source is column {names[0]}, target {names[1]}"
    return (src, tgt), header, said


def read_sheet(path: Path, columns: Columns, header: bool) -> Iterator[tuple[str, str]]:
    """Source and target of every row that is not empty, but the header."""
    for cells in islice(read_rows(path, columns), 1 if header else 0, None):
        yield cells[columns[0]], cells[columns[1]]


def read_rows(path: Path, columns: Columns) -> Iterator[Row]:
    """The cells of every row that is not empty, the header too; cells that a row lacks at its end count as empty."""
    width = None
    for number, cells in _rows(path):
        if width is None:
            width = len(cells)
            if max(columns) >= width:
                raise DataError(
                    f"{path}, row {number}: {counted(width, 'column')}, but column {max(columns)} is asked for; "
                    "correct the file"
                )
        yield cells + [""] * (max(columns) + 1 - len(cells))


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The number (from 1) and the cells of each row that is not empty."""
    try:
        import openpyxl
    except ImportError:
        raise ConfigError("data.format=xlsx needs the package openpyxl; type: pip install 'nmt[xlsx]'") from None
    _refuse_unsafe(path)
    try:
        with open(path, "rb") as file:  # openpyxl would refuse a path with another suffix
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # some programs write wrong ones
            if not book.worksheets:
                raise DataError(
                    f"{path} has no sheet that can be read; if it is a Strict Open XML Spreadsheet, save it as an "
                    "Excel "
                    "workbook, or as CSV"
                )
            shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            sheets = [sheet for sheet in shown if any(map(_is_filled, sheet.iter_rows(values_only=True)))]
            if len(sheets) > 1:
                names = ", ".join(printable(sheet.title) for sheet in sheets)
                raise DataError(f"{path} has {len(sheets)} sheets with text ({names}); save the one to read as CSV")
            for sheet in sheets:
                for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
                    if _is_filled(values):
                        yield number, list(map(_text, values))
    except DataError:
        raise
    except Exception as error:  # any error of openpyxl, its XML parser or zipfile
        said = printable(f"{type(error).__name__}: {error}".splitlines()[0][:200])
        raise DataError(f"{path} is not an Excel workbook that can be read: {said}; save it as CSV") from error


def _text(value: Any) -> str:
    """A cell's text; empty for an error. Excel writes a character that XML cannot hold as _x000D_, and _ as _x005F_."""
    text = "" if value is None or value in ERRORS else str(value)
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _is_filled(values: tuple[Any, ...]) -> bool:
    return any(value is not None and str(value).strip() for value in values)


def _refuse_unsafe(path: Path) -> None:
    """Refuses a workbook that declares XML entities, or that has more text than memory should hold."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith((".xml", ".rels")):
                    with archive.open(entry) as part:
                        head = part.read(HEAD)
                    if DECLARATIONS in head.replace(b"\0", b""):
                        raise DataError(f"{path} declares XML entities, which Excel never writes; save it as CSV")
                if entry.file_size > MOST_TEXT:
                    raise DataError(f"{path} holds more than {MOST_TEXT >> 30} GB in one part; save it as CSV")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        said = printable(str(error))
        raise DataError(f"{path} is not an Excel workbook that can be read: {said}; save it as CSV") from error
