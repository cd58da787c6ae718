"""Excel workbooks of a few rows."""

import io
from collections.abc import Sequence
from typing import Any

import openpyxl

Rows = Sequence[Sequence[Any]]


def workbook(rows: Rows, **sheets: Rows) -> bytes:
    """A workbook with these rows in the first sheet, and others in further sheets."""
    book = openpyxl.Workbook()
    for sheet, content in ((book.active, rows), *((book.create_sheet(name), more) for name, more in sheets.items())):
        assert sheet is not None
        for row in content:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
