"""Tables with named columns (JSON, Parquet, Arrow) in which other columns name the languages of each row."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.arrow_files import ColumnKey
from nmt.data.formats.tally import Tally
from nmt.data.row_rules import Row, RowRules, checked_pairs, find_rules, may_name_languages
from nmt.data.split import Pair
from nmt.errors import DataError

SAMPLE = 5000  # rows of a file from which the rules are found

Read = Callable[[Path, ColumnKey, ColumnKey], Iterator[Pair]]  # two columns of a file


class NamedTable:
    """The pairs in two `columns` of a file; columns whose `names` say that they are of languages give the rules."""

    def __init__(
        self, path: Path, read: Read, columns: tuple[ColumnKey, ColumnKey], names: Sequence[str], data: DataConfig
    ) -> None:
        self._path, self._read, self._columns = path, read, columns
        self._beside = [each for each in names if may_name_languages(each) and each not in columns]
        self.rules = self._found_rules(data) if self._beside else RowRules()

    def described(self) -> str:
        """Words for the report."""
        shown = (*self._columns, *self._beside)
        return self.rules.described(lambda at: f"'{shown[at]}'").removeprefix("; ")

    def pairs(self, tally: Tally | None = None) -> Iterator[Pair]:
        """Source and target of every row that is a pair; counts in the tally, if there is one."""
        if tally is None and not self.rules.checks:
            return self._read(self._path, *self._columns)
        return checked_pairs(self._rows(), (0, 1), self.rules, tally or Tally(self._path.name, "row"))

    def _found_rules(self, data: DataConfig) -> RowRules:
        header = [str(each).rpartition(".")[2] for each in (*self._columns, *self._beside)]
        try:
            rows = list(islice(self._rows(), SAMPLE))
        except DataError:  # numbers, or objects without such a column: reading the texts alone will say what is wrong
            return RowRules()
        return find_rules([header, *rows], (0, 1), True, self._path, data) if rows else RowRules()

    def _rows(self) -> Iterator[Row]:
        """The texts and languages of every row; the file is read once for every two columns, side by side."""
        all_columns = [*self._columns, *self._beside]
        halves = [all_columns[at : at + 2] for at in range(0, len(all_columns), 2)]
        reads = [self._read(self._path, half[0], half[-1]) for half in halves]
        for cells in zip(*reads, strict=True):
            yield [cell for own in cells for cell in own][: len(all_columns)]
