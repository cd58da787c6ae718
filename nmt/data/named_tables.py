"""Tables with named columns (JSON, Parquet, Arrow) in which other columns name the languages of each row."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.arrow_files import ColumnKey
from nmt.data.row_rules import Row, RowRules, find_rules
from nmt.data.split import Pair
from nmt.errors import DataError

SAMPLE = 5000  # rows of a file from which the rules are found

Read = Callable[[Path, ColumnKey, ColumnKey], Iterator[Pair]]  # two columns of a file


class NamedTable:
    """The rows of a table: the texts in `columns`, then the cells of the one or two columns `beside` them."""

    def __init__(self, read: Read, columns: tuple[ColumnKey, ColumnKey], beside: Sequence[str]) -> None:
        self._read, self._columns = read, columns
        self._beside = tuple(beside) if len(beside) <= len(columns) else ()

    def rules(self, path: Path, data: DataConfig) -> tuple[RowRules, str]:
        """Which rows are pairs, by the first rows of a file, and words for the report."""
        if not self._beside:
            return RowRules(), ""
        header = [str(each).rpartition(".")[2] for each in (*self._columns, *self._beside)]
        try:
            rows = list(islice(self.rows(path), SAMPLE))
        except DataError:  # numbers, or objects without such a column: reading the texts alone will say what is wrong
            return RowRules(), ""
        if not rows:
            return RowRules(), ""
        found = find_rules([header, *rows], (0, 1), True, path, data)
        shown = (*self._columns, *self._beside)
        return found, found.described(lambda at: f"'{shown[at]}'").removeprefix("; ")

    def rows(self, path: Path) -> Iterator[Row]:
        """The texts and languages of every row; the file is read twice, side by side."""
        texts, languages = self._read(path, *self._columns), self._read(path, self._beside[0], self._beside[-1])
        return ([*pair, *own[: len(self._beside)]] for pair, own in zip(texts, languages, strict=True))
