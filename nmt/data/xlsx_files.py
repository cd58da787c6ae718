"""Sentence pairs of Excel workbooks (.xlsx), row by row; a formula gives its stored value, nothing is computed."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from nmt.config.sections import DataConfig
from nmt.data.csv_files import find_columns, lacks, shown_column
from nmt.data.formats.tally import Tally
from nmt.data.row_rules import Columns, Row, RowRules, checked_pairs, find_rules
from nmt.errors import ConfigError, DataError, counted, printable

MOST_TEXT = 1 << 30  # bytes, at most, of each file in a workbook; memory holds the file with the text
MOST_ROWS = 1 << 20  # of a sheet, as in Excel
LOOKED_AT = 100  # rows from which the columns are found
ERRORS = {"#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#GETTING_DATA"}
ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


class Sheet(NamedTuple):
    """The form of the only sheet with text."""

    columns: Columns
    header: bool
    rules: RowRules
    skipped: int = 0  # rows with one cell above the table, such as a title


def find_sheet(path: Path, data: DataConfig) -> tuple[Sheet, str]:
    """The form of the only sheet with text, and a description."""
    rows = [cells for _, cells in islice(_rows(path), LOOKED_AT)]
    if not rows:
        return Sheet((0, 1), False, RowRules()), "no rows"
    skipped = next((above for above, row in enumerate(rows) if sum(map(bool, map(str.strip, row))) > 1), 0)
    rows = rows[skipped:]
    (src, tgt), header = find_columns(rows, path, data)
    rules = find_rules(rows, (src, tgt), header, path, data)
    shown = partial(shown_column, rows[0], header)
    said = f"{'with' if header else 'no'} header; source is column {shown(src)}, target {shown(tgt)}"
    above = f"; skipped {counted(skipped, 'row')} above the table" if skipped else ""
    return Sheet((src, tgt), header, rules, skipped), said + rules.described(shown) + above


def read_sheet(path: Path, sheet: Sheet, tally: Tally) -> Iterator[tuple[str, str]]:
    """Source and target of every row that is a pair; counts in the tally."""
    rows = islice(read_rows(path, sheet.columns, sheet.skipped), 1 if sheet.header else 0, None)
    return checked_pairs(rows, sheet.columns, sheet.rules, tally)


def read_rows(path: Path, columns: Columns, skipped: int) -> Iterator[Row]:
    """The cells of every row of the table that is not empty, the header too; cells that it lacks at its end are empty.

    `skipped`: rows above the table that are not empty.
    """
    width = None
    for number, cells in islice(_rows(path), skipped, None):
        if width is None:
            width = len(cells)
            if max(columns) >= width:
                raise DataError(f"{path}, row {number}: {lacks(width, columns)}")
        yield cells + [""] * (max(columns) + 1 - len(cells))


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The number (from 1) and the cells of each row that is not empty."""
    try:
        import openpyxl
        from defusedxml import DefusedXmlException  # openpyxl reads XML with it if it is there
    except ImportError as error:
        raise ConfigError(f"data.format=xlsx needs the package {error.name}; type: pip install 'nmt[xlsx]'") from None
    _refuse_too_large(path)
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
            sheets = [sheet for sheet in shown if any(_is_filled(values) for _, values in _numbered(path, sheet))]
            if len(sheets) > 1:
                names = ", ".join(printable(sheet.title) for sheet in sheets)
                raise DataError(f"{path} has {len(sheets)} sheets with text ({names}); save the one to read as CSV")
            for sheet in sheets:
                for number, values in _numbered(path, sheet):
                    if _is_filled(values):
                        yield number, list(map(_text, values))
    except DataError:
        raise
    except Exception as error:  # any error of openpyxl, its XML parser or zipfile
        if any(isinstance(each, DefusedXmlException) for each in (error, error.__cause__)):
            raise DataError(f"{path} declares XML entities, which Excel never writes; save it as CSV") from error
        said = printable(f"{type(error).__name__}: {error}".splitlines()[0][:200])
        raise DataError(f"{path} is not an Excel workbook that can be read: {said}; save it as CSV") from error


def _numbered(path: Path, sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a sheet with their numbers, from 1; empty ones are among them, so a wrong number might not end."""
    for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise DataError(f"{path} names a row above {MOST_ROWS:,}, which Excel never writes; save it as CSV")
        yield number, values


def _text(value: Any) -> str:
    """A cell's text; empty for an error. Excel writes a character that XML cannot hold as _x000D_, and _ as _x005F_."""
    text = "" if value is None or value in ERRORS else str(value)
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _is_filled(values: tuple[Any, ...]) -> bool:
    return any(value is not None and str(value).strip() for value in values)


def _refuse_too_large(path: Path) -> None:
    """Refuses a workbook that has more text than memory should hold."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.file_size > MOST_TEXT:
                    raise DataError(f"{path} holds more than {MOST_TEXT >> 30} GB in one part; save it as CSV")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        said = printable(str(error))
        raise DataError(f"{path} is not an Excel workbook that can be read: {said}; save it as CSV") from error
