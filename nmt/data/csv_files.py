"""Sentence pairs of CSV and TSV files; detects encoding, delimiter, quotes, header and columns that are not set."""

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from nmt.config.languages import OTHER_NAMES, language_of
from nmt.config.sections import DataConfig
from nmt.data.encodings import WESTERN_LANGUAGES, is_one_byte, is_utf8, is_western, utf16_or_32
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.tally import Tally
from nmt.data.json_files import EXAMPLE
from nmt.data.kinds import refuse_other_formats
from nmt.data.packed import unpacked
from nmt.data.paths import LONGEST_LINE, NotUtf8Error, read_lines
from nmt.data.row_rules import (
    SIDES,
    Columns,
    Row,
    RowRules,
    checked_pairs,
    find_rules,
    fit,
    names_languages,
    wanted_languages,
)
from nmt.errors import ConfigError, DataError, counted, nearest

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
SAMPLE_BYTES, SAMPLE_LINES = 1 << 20, 5000  # size of the sample from which the form is detected
QUOTED_ROWS = 2  # fewest rows after the first with quotes around every cell that show that quotes are not text
SENTENCE_WORDS = 4  # a cell with this many words is not a column name
_SEPARATOR_LINE = re.compile("sep=(.)", re.IGNORECASE)  # the first line of some files that Excel writes
# A number or an attribution beside the text: Tatoeba has "1276<tab>Let's go.<tab>77<tab>Gehen wir.", and Anki decks
# name the authors in a third column.
# Web pages and keys of one word with digits, such as doc1-s1 or c1.mp3, are no text either.
_BESIDE_TEXT = re.compile(r"\s*([-+]?[0-9.,]+\s*$|CC-BY|\w+://\S*\s*$|(?=\S*[0-9])[\w.:/#-]*[._:/#-][\w.:/#-]*\s*$)")
LONGEST_KEY = 1000  # characters; a longer cell is text
OF_SIDES = {"sentence1", "sentence2", "sentence_1", "sentence_2", "text1", "text2"}  # in headers of data sets
KEY_COLUMNS = {"id", "key", "path", "url", "score", "client_id"}  # names in a header beside those of texts
_SENTENCE_END = re.compile(r"[.?!…。？！]['\"”’»)]*$")


@dataclass(frozen=True)
class Form:
    """The form of a file."""

    encoding: str  # name of a Python codec
    skipped: int  # lines before the first row
    delimiter: str
    quotes: bool
    header: bool
    src: int
    tgt: int
    rules: RowRules


def find_form(path: Path, data: DataConfig) -> tuple[Form, str]:
    """The form of a file, and its description. If the form is unclear, the error names the key that decides it."""
    encoding = data.encoding or _found_encoding(path, data)
    _refuse_wrong_encoding(path, encoding)
    lines = _sample(path, encoding)
    separator = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    skipped = 1 if separator else 0
    lines = [line for line in lines[skipped:] if line.strip()]
    if not lines:
        usual = "tab" if data.format == "tsv" else "comma"
        return Form(encoding, skipped, DELIMITERS[data.delimiter or usual], True, False, 0, 1, RowRules()), "no rows"
    if data.delimiter is not None:
        delimiter = DELIMITERS[data.delimiter]
    elif separator is not None:
        delimiter = separator[1]
    else:
        delimiter = _found_delimiter(lines, path, data)
    quotes = data.quotes
    if quotes is None:
        quotes = data.format == "csv" or _has_quotes(lines, delimiter, path)
    rows = _sample_rows(lines, delimiter) if quotes else [line.split(delimiter) for line in lines]
    (src, tgt), header = find_columns(rows, path, data)
    rules = find_rules(rows, (src, tgt), header, path, data)
    form = Form(encoding, skipped, delimiter, quotes, header, src, tgt, rules)
    return form, _described(form, rows[0])


def find_columns(rows: list[Row], path: Path, data: DataConfig) -> tuple[Columns, bool]:
    """The source and target columns of a table with these first rows, and whether its first row is a header."""
    first, names = rows[0], _names(rows, data)
    header = _has_header(first, names, path, data)
    columns = _columns(first, names, header, path, data)
    refuse_one_column(*columns, path)
    return columns, header


def refuse_one_column(src: str | int, tgt: str | int, path: Path) -> None:
    """Refuses the same column on both sides."""
    if src == tgt:
        raise ConfigError(
            f"data.src_column and data.tgt_column are both column {src!r} of {path}; set one to the column of the "
            "other language"
        )


def _names(rows: list[Row], data: DataConfig) -> Row:
    """The first row without cells that name a language as all cells below them do: such columns are of languages."""
    first, others, wanted = rows[0], rows[1:], wanted_languages(data)
    return [
        "" if others and names_languages([[cell], *(row[at : at + 1] for row in others)], wanted) else cell
        for at, cell in enumerate(first)
    ]


def find_named(names: list[str], path: Path, data: DataConfig) -> tuple[str, str]:
    """The source and target among column names, by the languages or sides that they name; nested names have dots."""
    if not names:
        raise DataError(f"{path} holds no rows with named texts; write rows such as {EXAMPLE}")
    last = [name.rpartition(".")[2] for name in names]
    found = _by_language(last, data) or _by_side(last)
    if found is None:
        raise DataError(
            f"{path}: which columns hold the two languages? it has {_shown(names)}; set data.src_column and "
            "data.tgt_column, or data.src_lang and data.tgt_lang if columns are named after them; strings of an app "
            "are named by data.train.src and .tgt"
        )
    return names[found[0]], names[found[1]]


def read_pairs(path: Path, form: Form, tally: Tally) -> Iterator[tuple[str, str]]:
    """Source and target of every row that is a pair; counts in the tally."""
    rows = islice(read_rows(path, form), 1 if form.header else 0, None)
    return checked_pairs(rows, (form.src, form.tgt), form.rules, tally)


def read_rows(path: Path, form: Form) -> Iterator[Row]:
    """The cells of every row, the header too; refuses rows of different lengths."""
    width = None
    for line, cells in _rows(path, form):
        if width is None:
            width = len(cells)
            if max(form.src, form.tgt) >= width:
                raise DataError(f"{path}, line {line}: {lacks(width, (form.src, form.tgt))}, or set data.delimiter")
        if len(cells) != width:
            wanted = "the header has" if form.header else "line 1 has"
            raise DataError(
                f"{path}, line {line}: {counted(len(cells), 'column')}, but {wanted} {width}; correct the file"
            )
        yield cells


def lacks(width: int, columns: Columns) -> str:
    """An error about a first row of fewer cells than one of these columns needs."""
    column, side, key = max(zip(columns, ("source", "target"), ("src_column", "tgt_column"), strict=True))
    where = f"in column {column}, counted from 0"
    return f"{counted(width, 'cell')}, but the {side} is {where}; correct the row, or set data.{key}"


def _rows(path: Path, form: Form) -> Iterator[tuple[int, Row]]:
    """Each row, after the number of its last line.

    If quotes enclose cells, a cell may hold line breaks, and blank lines are skipped. If not, every line is a row,
    except blank lines at the end.
    """
    lines = islice(_lines(path, form.encoding), form.skipped, None)
    if not form.quotes:
        blank = 0
        for number, line in enumerate(lines, start=form.skipped + 1):
            if not line:
                blank += 1
                continue
            if blank:
                yield number - blank, [""]
            blank = 0
            yield number, line.split(form.delimiter)
        return
    csv.field_size_limit(LONGEST_LINE)
    rows = csv.reader((line.replace("\r", " ") + "\n" for line in lines), delimiter=form.delimiter, strict=True)
    first = form.skipped + 1
    try:
        for row in rows:
            first = rows.line_num + form.skipped + 1
            if row:
                yield first - 1, row
    except csv.Error as error:
        last = rows.line_num + form.skipped
        begins = f", in the row that begins in line {first:,}" if first < last else ""
        raise DataError(
            f"{path}, line {last}: not valid CSV ({error}){begins}; correct the quotes, or set "
            "data.quotes=false if they are text"
        ) from error


def _lines(path: Path, encoding: str) -> Iterator[str]:
    if codecs.lookup(encoding).name == "utf-8":
        try:
            yield from read_lines(path)
        except NotUtf8Error as error:
            usual = (error.encoding or "cp1252").lower()
            raise DataError(f"{error}, or name its encoding: data.encoding={usual}, for example") from error
        return
    number = 0
    try:
        with unpacked(path) as stream:
            refuse_other_formats(stream, str(path))
            with io.TextIOWrapper(stream, encoding, newline="\n") as text:
                for number, line in enumerate(iter(partial(text.readline, LONGEST_LINE + 1), ""), start=1):
                    if len(line) > LONGEST_LINE:
                        raise DataError(
                            f"{path}, line {number}: longer than {LONGEST_LINE >> 20} M; is it really a table?"
                        )
                    yield line.removesuffix("\n").removesuffix("\r").removeprefix("\ufeff" if number == 1 else "")
    except UnicodeError as error:
        raise DataError(
            f"{path}, after line {number}: not valid {encoding}; set another data.encoding, or convert it to UTF-8"
        ) from error


def _sample(path: Path, encoding: str) -> list[str]:
    """The first SAMPLE_LINES lines; fewer if these have more than SAMPLE_BYTES characters."""
    lines, characters = [], 0
    for line in islice(_lines(path, encoding), SAMPLE_LINES):
        lines.append(line)
        characters += len(line)
        if characters > SAMPLE_BYTES:
            break
    return lines


def _found_encoding(path: Path, data: DataConfig) -> str:
    """The encoding of a file: UTF-8 unless another is clear, since the reader of UTF-8 refuses other text."""
    with unpacked(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
    wide = utf16_or_32(sample[:4096])
    if wide is not None:
        return wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        languages = {code.split("-")[0] for code in (data.src_lang, data.tgt_lang) if code}
        if languages <= WESTERN_LANGUAGES and is_western(sample):
            return "cp1252"
    return "utf-8"


def _refuse_wrong_encoding(path: Path, encoding: str) -> None:
    """Refuses UTF-8 text as text of a charset with one byte per character, which any text would be."""
    if is_one_byte(codecs.lookup(encoding).name):
        with unpacked(path) as stream:
            if is_utf8(iter(partial(stream.read, SAMPLE_BYTES), b"")):
                raise DataError(f"{path} is UTF-8, not data.encoding={encoding}; leave data.encoding out")


def _found_delimiter(lines: list[str], path: Path, data: DataConfig) -> str:
    """The only delimiter that splits the first row; in a TSV file, a tab.

    If several split it, the choice is the only one that gives both column names and rows of equal length, else the only
    one that gives names, else the only one that gives such rows.
    """
    if data.format == "tsv":
        return "\t"
    tables = {mark: _sample_rows(lines, mark) for mark in DELIMITERS.values()}
    cutting = {mark: rows for mark, rows in tables.items() if len(rows[0]) > 1}
    if not cutting:
        raise DataError(
            f"{path}: line 1 is not cut into columns by a comma, semicolon, tab or pipe; is it really a table? one "
            "column of text is for data=text"
        )
    named = {mark for mark, rows in cutting.items() if _names_columns(_names(rows, data), data)}
    alike = {mark for mark, rows in cutting.items() if len({len(row) for row in rows}) == 1}
    for marks in (set(cutting), named & alike, named, alike):
        if len(marks) == 1:
            return marks.pop()
    words = [word for word, mark in DELIMITERS.items() if mark in cutting]
    raise DataError(f"{path}: the delimiter may be {' or '.join(words)}; set it, for example data.delimiter={words[0]}")


def _sample_rows(lines: list[str], delimiter: str) -> list[Row]:
    """The rows of the sample. The last of many is left out: the sample may end within it."""
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader((line.replace("\r", " ") + "\n" for line in lines), delimiter=delimiter)
    found = [row for row in rows if row]
    is_whole = len(lines) < SAMPLE_LINES // 2 and sum(map(len, lines)) < SAMPLE_BYTES // 2
    return found if is_whole or len(found) < 2 else found[:-1]


def _has_quotes(lines: list[str], delimiter: str, path: Path) -> bool:
    """Do quotes enclose cells?

    Yes if only then all rows have the same length. If they have the same length either way, yes if some quotes are
    doubled, or if quotes enclose all cells, or exactly those with a comma.
    """
    apart = [line.split(delimiter) for line in lines]
    if not _is_even(apart):
        return _is_even(_strict_rows(lines, delimiter))
    rows = [[cell for cell in row if cell] for row in apart]
    cells = [cell for row in rows for cell in row if '"' in cell]
    enclosed = [cell for cell in cells if _is_enclosed(cell)]
    everywhere = len(rows) > QUOTED_ROWS and all(_is_enclosed(cell) for row in rows[1:] for cell in row)
    doubled = any('""' in cell[1:-1] for cell in enclosed)
    with_commas = [cell for row in rows for cell in row if "," in cell]  # Excel encloses these even between tabs
    excel = len(enclosed) > 1 and sorted(enclosed) == sorted(with_commas)
    if not everywhere and not doubled and not excel:
        return False
    if len(enclosed) < len(cells):
        raise DataError(
            f"{path}: do quotes enclose cells, or are they text? both occur; set data.quotes=true or data.quotes=false"
        )
    return True


def _is_even(rows: list[Row]) -> bool:
    return len({len(row) for row in rows}) == 1


def _strict_rows(lines: list[str], delimiter: str) -> list[Row]:
    """The rows if quotes enclose cells, or [] if they cannot. A row that the end of the sample cuts off is left out."""
    found: list[Row] = []
    rows = csv.reader((line.replace("\r", " ") + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        found.extend(row for row in rows if row)
    except csv.Error:
        if rows.line_num < len(lines) or len(lines) < SAMPLE_LINES:
            return []
    return found


def _is_enclosed(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "")


def _has_header(first: Row, names: Row, path: Path, data: DataConfig) -> bool:
    """Is the first row a header? `names`: see `_names`."""
    if data.header is not None:
        return data.header
    given = [column for column in (data.src_column, data.tgt_column) if column is not None]
    if any(isinstance(column, str) for column in given) or _names_columns(names, data):
        return True
    chosen = [first[column] for column in given if isinstance(column, int) and 0 <= column < len(first)] or first
    if any(len(cell.split()) >= SENTENCE_WORDS or _SENTENCE_END.search(cell.strip()) for cell in chosen):
        return False
    if data.format == "tsv":
        if len(first) > 1 and (all(map(_is_code, first)) or _has_names(names)):
            raise _unclear(first, path)
        if len(first) > 2 and any(cell.strip().lower() in KEY_COLUMNS for cell in first):
            raise _unclear(first, path)
        return False
    raise _unclear(first, path)


def _is_code(cell: str) -> bool:
    return len(cell.strip()) == 2 and cell.islower() and language_of(cell) is not None


def _has_names(first: Row) -> bool:
    """Do two of the cells name different languages, or the two sides of a data set?"""
    words = [cell.strip().lower() for cell in first]
    named = {
        word if word in OF_SIDES else OTHER_NAMES.get(word) or language_of(word) for word in words if len(word) > 3
    }
    return len(named - {None}) > 1


def _unclear(first: Row, path: Path) -> DataError:
    return DataError(
        f"{path}: which columns hold the two languages? line 1 has {_shown(first)}; set data.src_column and "
        "data.tgt_column to names of these, or data.header=false if line 1 is a pair"
    )


def _names_columns(first: Row, data: DataConfig) -> bool:
    """Does the row clearly name columns? It may have a configured name, or names of languages or sides."""
    if any(isinstance(column, str) and column in first for column in (data.src_column, data.tgt_column)):
        return True
    if _by_language(first, data) is not None or _by_side(first) is not None:
        return True
    languages = [language_of(cell) for cell in first if len(cell.strip()) > 3 or data.format != "tsv"]
    return len({language for language in languages if language is not None}) > 1


def _by_language(first: Row, data: DataConfig) -> Columns | None:
    """The columns named after the languages of the corpus; None unless there is exactly one for each language."""
    if data.src_lang is None or data.tgt_lang is None:
        return None
    return _only(*(_best(WantedLanguage(code), first) for code in (data.src_lang, data.tgt_lang)))


def _best(wanted: WantedLanguage, names: Row) -> list[int]:
    """The columns whose names fit the language best; a name without a region fits every region."""
    fits = [0 if language_of(name) is None else fit(wanted, name) for name in names]
    return [at for at, own in enumerate(fits) if own and own == max(fits)]


def _by_side(first: Row) -> Columns | None:
    names = [cell.strip().lower() for cell in first]
    return _only(*([at for at, name in enumerate(names) if name in words] for words in SIDES))


def _only(sources: list[int], targets: list[int]) -> Columns | None:
    return (sources[0], targets[0]) if len(sources) == len(targets) == 1 and sources != targets else None


def _columns(first: Row, names: Row, header: bool, path: Path, data: DataConfig) -> Columns:
    """Source and target: as configured, by language or by side; else the only two columns of text, or the first two.

    The first two must be text if there are more. The last two apply only to TSV files, and to tables of at most two
    columns without a header; the first two of a header only if there are no others.
    """
    given = [data.src_column, data.tgt_column]
    if None not in given:
        src, tgt = (_column(column, first, header, path) for column in given if column is not None)
        return src, tgt
    found = (_by_language(names, data) or _by_side(names)) if header else None
    beside = [at for at, cell in enumerate(first) if cell == names[at]]  # columns that name no languages
    if found is None and not header and (len(beside) <= 2 or data.format == "tsv"):
        texts = [at for at in beside if len(first[at]) > LONGEST_KEY or not _BESIDE_TEXT.match(first[at])]
        if len(texts) == 2:
            found = texts[0], texts[1]
        elif len(first) <= 2 or texts[:2] == [0, 1]:
            found = 0, 1
    if found is None and header and len(first) == 2 and data.format == "tsv" and not (data.src_lang or data.tgt_lang):
        found = (0, 1)
    if found is None or given != [None, None]:
        missing = "data.tgt_column" if data.src_column is not None else "data.src_column"
        wanted = "data.src_column and data.tgt_column" if given == [None, None] else missing
        languages = ", or data.src_lang and data.tgt_lang if columns are named after them" if header else ""
        raise DataError(
            f"{path}: which columns hold the two languages? line 1 has {_shown(first)}; set {wanted}{languages}"
        )
    return found


def _column(column: str | int, first: Row, header: bool, path: Path) -> int:
    if isinstance(column, int):
        if column < 0:
            raise ConfigError(f"column {column} is less than 0, data.src_column or data.tgt_column; count from 0")
        return column
    if not header:
        raise ConfigError(f"column '{column}' is a name, but data.header=false; give its number, counted from 0")
    names = [cell.strip() for cell in first]
    if names.count(column.strip()) != 1:
        if column.strip() in names:
            raise DataError(f"column '{column}' is in {path} more than once; give its number, counted from 0")
        raise DataError(f"column '{column}' is not in {path}; {nearest(column, names)}")
    return names.index(column.strip())


def _described(form: Form, first: Row) -> str:
    word = next((word for word, mark in DELIMITERS.items() if mark == form.delimiter), repr(form.delimiter))
    shown = partial(shown_column, first, form.header)
    header = "with" if form.header else "no"
    quotes = "quotes enclose cells" if form.quotes else "quotes are text"
    return (
        f"{form.encoding.upper()}, delimiter {word}, {header} header, {quotes}; source is column {shown(form.src)}, "
        f"target {shown(form.tgt)}{form.rules.described(shown)}"
    )


def shown_column(first: Row, header: bool, at: int) -> str:
    """How the report calls a column: by its name in the header, else by its number."""
    return repr(first[at]) if header and at < len(first) else str(at)


def _shown(first: Row) -> str:
    cells = ", ".join(repr(cell[:30]) for cell in first[:10])
    return f"{cells} and {len(first) - 10} more" if len(first) > 10 else cells
