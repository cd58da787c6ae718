"""Which rows of a table are pairs, and in which direction, by what other columns say of them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from nmt.config.languages import language_of
from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.tally import Tally
from nmt.errors import ConfigError, printable

Row = list[str]
Columns = tuple[int, int]
SideColumns = tuple[int | None, int | None]

SIDES = ({"src", "source"}, {"tgt", "trg", "target"})  # column names of the source and of the target
NAMES = {"lang", "language", "languages", "locale", "from", "to"} | SIDES[0] | SIDES[1]  # in names of such columns
MARKED = {"true", "1", "yes", "x", "fuzzy"}  # cells of a fuzzy row
CODE = re.compile("[A-Za-z]{2,3}([-_][A-Za-z]{2,4})?")
REPEATED = 2  # how often a language occurs in its column, on average, at least: many short words are codes, too


@dataclass(frozen=True)
class RowRules:
    """What the columns beside the texts say."""

    fuzzy: int | None = None  # column that says which translations nobody has checked
    languages: SideColumns = (None, None)  # columns that name the language of each row's source and target
    wanted: tuple[str, str] = ("", "")  # data.src_lang and data.tgt_lang, where `languages` has a column
    only: tuple[str, ...] = field(default=(), repr=False)  # what `languages` has in every row; no other is wanted

    @property
    def leave_out(self) -> bool:
        """May any row be left out?"""
        return self.fuzzy is not None or (self.languages != (None, None) and not self.only)

    @property
    def checks(self) -> bool:
        """Must each row be looked at?"""
        return self.leave_out or bool(self.only)

    def turned(self, row: Row) -> bool | None:
        """Is the source in the column of the target, and the reverse? None: the row is in other languages."""
        if self.only:
            return False
        src, tgt = (None if at is None else _cell(row, at) for at in self.languages)
        return _turned(self.wanted, src, tgt)

    def languages_of(self, row: Row) -> tuple[str, ...]:
        """The languages that the row names."""
        return tuple(_cell(row, at) for at in self.languages if at is not None)

    def is_fuzzy(self, row: Row) -> bool:
        """Has nobody checked the row's translation?"""
        return self.fuzzy is not None and _cell(row, self.fuzzy).lower() in MARKED

    def described(self, shown: Callable[[int], str]) -> str:
        """Words for the report; `shown`: how the report calls a column."""
        if self.only:
            return ""
        match [shown(at) for at in self.languages if at is not None]:
            case [src, tgt]:
                return f"; columns {src} and {tgt} name the languages of each row"
            case [only]:
                side = "target" if self.languages[0] is None else "source"
                return f"; column {only} names the language of each row's {side}"
        return ""


def _cell(row: Row, at: int) -> str:
    """A cell's text; empty where the row ends before it, as it may in a workbook."""
    return row[at].strip() if at < len(row) else ""


@lru_cache(maxsize=1000)
def _turned(wanted: tuple[str, str], src: str | None, tgt: str | None) -> bool | None:
    def fits(name: str | None, side: int) -> bool:
        return name is None or fit(WantedLanguage(wanted[side]), name) > 0

    if fits(src, 0) and fits(tgt, 1):
        return False
    return True if src is not None and tgt is not None and fits(src, 1) and fits(tgt, 0) else None


def fit(wanted: WantedLanguage, name: str) -> int:
    """How well a column's or a cell's name of a language fits; a name without a region fits every region."""
    return wanted.fit(name) or (1 if WantedLanguage(name).fit(wanted.code) else 0)


def checked_pairs(rows: Iterable[Row], columns: Columns, rules: RowRules, tally: Tally) -> Iterator[tuple[str, str]]:
    """Source and target of the rows that are pairs by the rules; counts in the tally."""
    src, tgt = columns
    for row in rows:
        tally.units += 1
        if rules.only and rules.languages_of(row) != rules.only:
            raise _several_languages(tally.name, (rules.only, rules.languages_of(row)))
        if rules.is_fuzzy(row):
            tally.left_out["fuzzy"] += 1
            continue
        turned = rules.turned(row)
        if turned is None:
            tally.left_out["in other languages"] += 1
            continue
        tally.pairs += 1
        yield (row[tgt], row[src]) if turned else (row[src], row[tgt])


def find_rules(rows: list[Row], columns: Columns, header: bool, path: Path, data: DataConfig) -> RowRules:
    """The rules of a table with these first rows. Refuses rows in several languages where none is wanted."""
    names = rows[0] if header else None
    fuzzy = next((at for at, name in enumerate(names or []) if name.strip().lower() == "fuzzy"), None)
    wanted = wanted_languages(data)
    languages = _language_columns(rows[1:] if header else rows, names, columns, wanted, path)
    if languages == (None, None):
        return RowRules(fuzzy)
    rules = RowRules(fuzzy, languages, (data.src_lang or "", data.tgt_lang or ""))
    if not wanted:
        there = {rules.languages_of(row) for row in rows[1 if header else 0 :]}
        if len(there) > 1:
            raise _several_languages(str(path), there)
        return replace(rules, only=there.pop())
    return rules


def _several_languages(name: str, there: Collection[tuple[str, ...]]) -> ConfigError:
    shown = ", ".join(sorted({printable(language) for own in there for language in own})[:10])
    return ConfigError(f"{name}: its rows are in several languages: {shown}; set data.src_lang and data.tgt_lang")


def _language_columns(
    rows: list[Row], names: Row | None, columns: Columns, wanted: Sequence[WantedLanguage], path: Path
) -> SideColumns:
    """The columns that name the language of each row's source and target; `names`: the header, if there is one.

    A header that names the texts by language leaves no need for them. Otherwise two such columns belong to the texts in
    their order, unless their names say otherwise. Where they are the same in all rows, or there is one alone, its name
    must say that it is of languages: countries have codes, too. One alone belongs to the source if its name or its
    languages say so, else to the target. A wanted language must occur: yes and no are codes of languages.
    """
    if names is not None and all(language_of(names[at]) for at in columns if at < len(names)):
        return None, None
    width = min(len(row) for row in (*rows[:1], *([] if names is None else [names])))
    found = [
        at for at in range(width) if at not in columns and names_languages([row[at : at + 1] for row in rows], wanted)
    ]
    if wanted and not _any_fits({_cell(row, at) for row in rows for at in found}, wanted):
        return None, None
    if names is not None and len(found) > len(columns):
        found = _of_texts(found, names, path)
    values = {tuple(_cell(row, at) for at in found) for row in rows}
    differ = len(values) > 1
    words = [set() if names is None else _words(names[at]) for at in found]
    are_named = names is not None and all(own & NAMES for own in words)
    sides = [next((side for side, known in enumerate(SIDES) if own & known), None) for own in words]
    match found:
        case [only] if are_named:
            there = {value for (value,) in values}
            is_source = _any_fits(there, wanted[:1]) and not _any_fits(there, wanted[1:])
            return (only, None) if sides == [0] or (sides == [None] and is_source) else (None, only)
        case [first, second] if differ or are_named or names is None:
            in_order = columns[0] < columns[1] if None in sides or sides[0] == sides[1] else sides[0] == 0
            return (first, second) if in_order else (second, first)
    return None, None


def _of_texts(found: list[int], names: Row, path: Path) -> list[int]:
    """Of several columns of languages, those of the texts: their names say source and target, or languages at all."""
    sides = [at for at in found if _words(names[at]) & (SIDES[0] | SIDES[1])]
    named = sides if len(sides) == len(SIDES) else [at for at in found if _words(names[at]) & NAMES]
    if len(named) > len(SIDES):
        raise ConfigError(
            f"{path}: more than two columns name languages ({', '.join(repr(names[at]) for at in named)}); keep the "
            "two that belong to the texts, and delete the others"
        )
    return named


def may_name_languages(name: str) -> bool:
    """Is this the name of a column of languages: src_lang, sourceLanguage, locale?"""
    return not {"lang", "language", "locale"}.isdisjoint(_words(name.rpartition(".")[2]))


def _words(name: str) -> set[str]:
    """The words of a column's name, such as source and lang in sourceLang."""
    return set(re.split("[^a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def names_languages(cells: Sequence[Row], wanted: Sequence[WantedLanguage]) -> bool:
    """Do these cells, each in a list that is empty where a row has none, name languages, again and again?

    Codes of three letters count only beside a wanted language: most words of three letters are codes.
    """
    values = {cell[0].strip() if cell else "" for cell in cells}
    if len(values) == 1:
        return language_of(*values) is not None
    if not 0 < len(values) * REPEATED <= len(cells):
        return False
    if not all(CODE.fullmatch(value) and language_of(value) for value in values):
        return False
    return all(len(re.split("[-_]", value)[0]) == 2 for value in values) or _any_fits(values, wanted)


def wanted_languages(data: DataConfig) -> list[WantedLanguage]:
    """Both languages of the corpus; none unless both are set."""
    codes = (data.src_lang, data.tgt_lang)
    return [] if None in codes else [WantedLanguage(code) for code in codes if code is not None]


def _any_fits(values: Iterable[str], wanted: Sequence[WantedLanguage]) -> bool:
    """Does any of these names or codes fit any of the languages?"""
    return any(fit(each, value) > 0 for each in wanted for value in values)
