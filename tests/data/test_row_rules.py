"""Tables whose rows are in several languages: each row is turned, or left out, as it says itself."""

import csv
import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.segment_files import SegmentFiles
from helpers.small_corpora import data_config
from helpers.workbooks import workbook

from nmt.config.sections import SplitConfig
from nmt.data.readers import find_split
from nmt.data.row_rules import RowRules, names_languages, wanted_languages
from nmt.data.split import Split
from nmt.errors import ConfigError

HEADER = ["source", "target", "source_lang", "target_lang"]
EN, DE = "The dog sees house {}.", "Der Hund sieht Haus {}."


def rows_in(*languages: tuple[str, str], count: int = 24) -> list[list[str]]:
    """Rows in these pairs of languages, one pair after the other."""
    texts = {"en": EN, "de": DE, "fr": "Le chien voit la maison {}."}
    found = []
    for number in range(count):
        pair = languages[number % len(languages)]
        found.append([*(texts[each.lower()[:2]].format(number) for each in pair), *pair])
    return found


def in_csv(rows: list[list[str]], delimiter: str = ",") -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue().encode()


def in_json(rows: list[list[str]], names: Sequence[str] = HEADER) -> bytes:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def in_arrow(kind: str, rows: list[list[str]]) -> bytes:
    """Parquet, or a file of Arrow."""
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(HEADER)})
    out = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, out)
    else:
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


NAMED = {
    "jsonl": in_json,
    "parquet": partial(in_arrow, "parquet"),
    "arrow": partial(in_arrow, "arrow"),
}


def split_of(folder: Path, kind: str, content: bytes, src: str | None = "en", tgt: str | None = "de") -> Split:
    (folder / "f").write_bytes(content)
    data = data_config(kind, root=str(folder), train=SplitConfig(None, None, "f"), src_lang=src, tgt_lang=tgt)
    split = find_split(data, "train", folder)
    assert split is not None
    return split


BOTH = [("en", "de"), ("de", "en"), ("en", "de")]
EXPECTED = [(EN.format(number), DE.format(number)) for number in range(24)]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])
def test_rows_of_both_directions_are_turned(tmp_path: Path, kind: str, header: bool) -> None:
    rows = [HEADER] * header + rows_in(*BOTH)
    content = workbook(rows) if kind == "xlsx" else in_csv(rows, "\t" if kind == "tsv" else ",")
    split = split_of(tmp_path, kind, content)
    for _ in range(2):
        assert list(split.pairs()) == EXPECTED
        assert [str(tally) for tally in split.tallies] == ["f: 24 rows, 24 pairs"]
    columns = "'source_lang' and 'target_lang'" if header else "2 and 3"
    assert split.notes[-1].endswith(f"; columns {columns} name the languages of each row")


def test_all_rows_may_be_the_other_way_round(tmp_path: Path) -> None:
    assert list(split_of(tmp_path, "csv", in_csv([HEADER, *rows_in(("DE", "EN-GB"))])).pairs()) == EXPECTED


def test_rows_in_other_languages_are_left_out_and_counted(tmp_path: Path) -> None:
    split = split_of(tmp_path, "csv", in_csv([HEADER, *rows_in(("en", "de"), ("fr", "de"), ("fr", "en"))]))
    assert list(split.pairs()) == EXPECTED[::3]
    assert [str(tally) for tally in split.tallies] == ["f: 24 rows, 8 pairs; left out: 16 in other languages"]


def test_one_column_names_the_language_of_the_target(tmp_path: Path) -> None:
    rows = [[source, target, language] for source, target, _, language in rows_in(("en", "de"), ("en", "fr"))]
    for name, side in (("locale", "target"), ("tgtLang", "target")):
        split = split_of(tmp_path, "csv", in_csv([["source", "target", name], *rows]))
        assert list(split.pairs()) == EXPECTED[::2]
        assert split.notes[-1].endswith(f"; column '{name}' names the language of each row's {side}")
    split = split_of(tmp_path, "csv", in_csv([["source", "target", "source language"], *rows]))
    assert list(split.pairs()) == []
    assert split.notes[-1].endswith("; column 'source language' names the language of each row's source")


def test_columns_belong_to_the_texts_that_their_names_say_or_else_to_those_in_their_order(tmp_path: Path) -> None:
    rows = [[target, source, tgt, src] for source, target, src, tgt in rows_in(*BOTH)]
    for header in (["target", "source", "l1", "l2"], ["target", "source", "lang_target", "lang_source"]):
        assert list(split_of(tmp_path, "csv", in_csv([header, *rows])).pairs()) == EXPECTED
    rows = [[target, source, src, tgt] for source, target, src, tgt in rows_in(*BOTH)]
    header = ["target", "source", "sourceLang", "targetLang"]
    assert list(split_of(tmp_path, "csv", in_csv([header, *rows])).pairs()) == EXPECTED


def test_columns_of_countries_turn_nothing(tmp_path: Path) -> None:
    rows = [[EN.format(number), DE.format(number), "de", "en"] for number in range(24)]
    for header in (
        ["en", "de", "country", "ui"],
        ["en", "de", "lang", "locale"],
        ["source", "target", "country", "ui"],
    ):
        split = split_of(tmp_path, "csv", in_csv([header, *rows]))
        assert list(split.pairs()) == EXPECTED
        assert not split.tallies
    rows = [[*row[:2], "de" if number % 2 else "fr"] for number, row in enumerate(rows)]
    assert list(split_of(tmp_path, "csv", in_csv([["source", "target", "market"], *rows])).pairs()) == EXPECTED


def test_rows_in_several_languages_need_the_two_that_are_wanted(tmp_path: Path) -> None:
    for languages in ((None, None), ("en", None)):
        with pytest.raises(ConfigError) as caught:
            split_of(tmp_path, "csv", in_csv([HEADER, *rows_in(*BOTH)]), *languages)
        assert str(caught.value) == (
            f"{tmp_path / 'f'}: its rows are in several languages: de, en; set data.src_lang and data.tgt_lang"
        )
    assert list(split_of(tmp_path, "csv", in_csv([HEADER, *rows_in(("en", "de"))]), None, None).pairs()) == EXPECTED


@pytest.mark.parametrize(
    ("words", "are"),
    [
        (["it", "is", "so", "no", "am", "he", "be", "or"], False),
        (["en", "de_AT"] * 4, True),
        (["eng", "deu"] * 4, True),
        (["fra", "ita"] * 4, False),
        (["yes", "no"] * 4, False),
        (["German"] * 2, True),
        (["German", "English"] * 4, False),
        (["en", ""] * 4, False),
        ([], False),
    ],
)
def test_what_names_languages(words: list[str], are: bool) -> None:
    wanted = wanted_languages(data_config("csv", src_lang="en", tgt_lang="de"))
    assert names_languages([[word] if word else [] for word in words], wanted) is are


def test_a_column_of_yes_and_no_names_no_languages(tmp_path: Path) -> None:
    for answers in (("yes", "no"), ("si", "no")):
        rows = [[EN.format(number), DE.format(number), answers[number % 2]] for number in range(24)]
        for src in ("en", None):
            split = split_of(tmp_path, "csv", in_csv([["source", "target", "checked"], *rows]), src)
            assert list(split.pairs()) == EXPECTED
            assert not split.tallies


def test_a_row_that_ends_before_these_columns_is_in_no_language() -> None:
    rules = RowRules(fuzzy=4, languages=(2, 3), wanted=("en", "de"))
    assert rules.turned(["a", "b", "en"]) is None
    assert rules.turned(["a", "b", "de", "en"]) is True
    assert not rules.is_fuzzy(["a", "b"])


def test_terms_of_both_directions_are_turned(tmp_path: Path) -> None:
    table = SegmentFiles("glossary", "terms")
    rows = [[f"dog {number}", f"Hund {number}", "en", "de"] for number in range(8)]
    rows[1::2] = [[target, source, "de", "en"] for source, target, *_ in rows[1::2]]
    split = table.split(tmp_path, in_csv([HEADER, *rows, ["chien", "Hund", "fr", "de"]]).decode())
    assert list(split.pairs()) == [(f"dog {number}", f"Hund {number}") for number in range(8)]
    assert str(split.tallies[0]) == "terms: 9 term pairs, 8 pairs; left out: 1 without English"


def test_a_column_may_forbid_terms(tmp_path: Path) -> None:
    rows = [["English", "German", "Forbidden"], ["dog", "Hund", ""], ["dog", "Köter", "Yes"], ["cat", "Katze", "no"]]
    split = SegmentFiles("glossary", "terms").split(tmp_path, in_csv(rows).decode())
    assert list(split.pairs()) == [("dog", "Hund"), ("cat", "Katze")]
    assert split.notes[1].endswith("; status is column 'Forbidden'")


@pytest.mark.parametrize("kind", NAMED)
def test_named_columns_of_languages_turn_rows_too(tmp_path: Path, kind: str) -> None:
    content = NAMED[kind]([*rows_in(*BOTH), *rows_in(("en", "fr"), ("fr", "de"))])
    split = split_of(tmp_path, "auto", content)
    assert list(split.pairs()) == EXPECTED
    assert [str(tally) for tally in split.tallies] == ["f: 48 rows, 24 pairs; left out: 24 in other languages"]
    assert split.notes[-1] == "train: f: columns 'source_lang' and 'target_lang' name the languages of each row"
    with pytest.raises(ConfigError, match=r"/f: its rows are in several languages: de, en, fr; set data.src_lang"):
        split_of(tmp_path, "auto", content, src=None)


def test_one_named_column_says_the_language_of_the_target(tmp_path: Path) -> None:
    names = ["source", "target", "locale"]
    rows = [[src, tgt, own] for src, tgt, _, own in rows_in(("en", "de"), ("en", "fr"))]
    split = split_of(tmp_path, "auto", in_json(rows, names))
    assert list(split.pairs()) == EXPECTED[::2]
    assert split.notes[-1] == "train: f: column 'locale' names the language of each row's target"


@pytest.mark.parametrize(
    "more",
    [
        {"lang": 3},
        {"language": None},
        {"lang": "one"},
        {"lang_id": "q", "lang_b": "x", "lang_c": "y"},
        {"langue": "de"},
    ],
)
def test_other_named_columns_turn_nothing(tmp_path: Path, more: dict[str, object]) -> None:
    rows = [{"source": EN.format(number), "target": DE.format(number), **more} for number in range(24)]
    split = split_of(tmp_path, "auto", "".join(json.dumps(row) + "\n" for row in rows).encode())
    assert list(split.pairs()) == EXPECTED
    assert split.tallies == ()


@pytest.mark.parametrize("kind", ["csv", "xlsx", "auto"])
def test_languages_beyond_the_rows_that_are_looked_at_are_left_out_too(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.data.csv_files.SAMPLE_LINES", 9)
    monkeypatch.setattr("nmt.data.xlsx_files.LOOKED_AT", 9)
    monkeypatch.setattr("nmt.data.named_tables.SAMPLE", 9)
    names = ["source", "target", "language"]
    for languages in (("de", "fr"), ("en", "fr")):  # of the target, of the source
        rows = [[EN.format(n), DE.format(n), languages[n > 15]] for n in range(24)]
        whole = [names, *rows]
        content = in_json(rows, names) if kind == "auto" else workbook(whole) if kind == "xlsx" else in_csv(whole)
        split = split_of(tmp_path, kind, content)
        assert list(split.pairs()) == EXPECTED[:16]
        assert [str(tally) for tally in split.tallies] == ["f: 24 rows, 16 pairs; left out: 8 in other languages"]
        with pytest.raises(ConfigError, match=r"f: its rows are in several languages: .*fr; set data.src_lang and"):
            list(split_of(tmp_path, kind, content, None, None).pairs())


def test_each_file_has_its_own_columns_of_languages(tmp_path: Path) -> None:
    plain = [row[:2] for row in rows_in(("en", "de"))]
    (tmp_path / "a").write_bytes(in_json(plain, HEADER[:2]))
    (tmp_path / "b").write_bytes(in_json(rows_in(("en", "fr"), ("de", "en"))))
    train = SplitConfig(None, None, ["a", "b"])
    split = find_split(
        data_config("auto", root=str(tmp_path), train=train, src_lang="en", tgt_lang="de"), "train", tmp_path
    )
    assert split is not None
    assert list(split.pairs()) == [*EXPECTED, *EXPECTED[1::2]]
    assert [str(tally) for tally in split.tallies] == ["2 files: 48 rows, 36 pairs; left out: 12 in other languages"]
    assert split.notes[-1] == "train: b: columns 'source_lang' and 'target_lang' name the languages of each row"


@pytest.mark.parametrize("kind", ["csv", "auto"])
def test_of_several_columns_of_languages_those_of_the_texts_count(tmp_path: Path, kind: str) -> None:
    write = in_json if kind == "auto" else lambda rows, names: in_csv([names, *rows])
    rows = [[*row, "fr"] for row in rows_in(*BOTH)]
    assert list(split_of(tmp_path, kind, write(rows, [*HEADER, "ui_locale"])).pairs()) == EXPECTED
    unclear = ["source", "target", "locale", "lang", "ui_locale"]
    said = r"/f: more than two columns name languages \('locale', 'lang', 'ui_locale'\);"
    with pytest.raises(ConfigError, match=said):
        split_of(tmp_path, kind, write(rows, unclear))


def test_fuzzy_rows_of_a_glossary_are_left_out(tmp_path: Path) -> None:
    rows = [["English", "German", "fuzzy"], ["dog", "Katze", "1"], ["cat", "Katze", ""]]
    split = SegmentFiles("glossary", "terms").split(tmp_path, in_csv(rows).decode())
    assert list(split.pairs()) == [("cat", "Katze")]
    assert str(split.tallies[0]).endswith("left out: 1 fuzzy")
