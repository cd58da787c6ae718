"""JSON arrays beside JSON lines, Excel workbooks, Arrow files beside Parquet: pairs, or one clear line."""

import gzip
import io
import json
import struct
import sys
import tracemalloc
import zipfile
from contextlib import suppress

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.small_corpora import data_config, make_pairs
from helpers.workbooks import workbook
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data import json_files, xlsx_files
from nmt.data.json_files import read_json
from nmt.data.readers import find_split
from nmt.errors import ConfigError, DataError

PAIRS = [*make_pairs(300), ("None", "NA"), ("a\u2028b", 'c "d", [e]'), ("[{", "}]")]


def read(folder, kind, **changes):
    """Pairs and notes of the file f."""
    data = data_config(kind, root=str(folder), train=SplitConfig(None, None, "f"), **changes)
    split = find_split(data, "train", folder)
    return list(split.pairs()), split.notes


def refused(folder, kind, **changes):
    with pytest.raises((DataError, ConfigError)) as error:
        read(folder, kind, **changes)
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_an_array_gives_the_pairs_of_its_objects(tmp_path, monkeypatch, layout, chunk):
    monkeypatch.setattr(json_files, "CHUNK", chunk)
    content = json.dumps([{"id": 1, "src": src, "tgt": tgt} for src, tgt in PAIRS], **layout).encode()
    for whole in (content, b"\xef\xbb\xbf\r\n " + content + b"\n\n", gzip.compress(content)):
        (tmp_path / "f").write_bytes(whole)
        assert read(tmp_path, "jsonl")[0] == PAIRS
    (tmp_path / "f").write_text("[]")
    assert read(tmp_path, "jsonl")[0] == []


@pytest.mark.slow
def test_an_array_on_one_line_is_read_in_bounded_memory(tmp_path):
    item = json.dumps({"src": "x" * 1000, "tgt": "y" * 1000})
    with gzip.open(tmp_path / "f", "wt", compresslevel=1) as file:
        file.write("[" + item)
        for _ in range(50_000):
            file.write("," + item)
        file.write("]")
    tracemalloc.start()
    assert sum(1 for _ in read_json(tmp_path / "f", "src", "tgt")) == 50_001  # 100 MB
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"src": "a", "tgt": "b"}', r"item 2: not valid JSON (the array has no end); correct"),
        ('[{"src": "a", "tgt": "b"} {"src"', r"item 2: not valid JSON (there is no comma before it); correct"),
        ('[{"src": "a", "tgt": "b"}, {"src": "a"', r"item 2: not valid JSON (Expecting"),
        ('[{"src": "a", "tgt": "b"}] x', r"there is more after the array; put all objects into it"),
        ('[{"src": "a", "tgt": 3}]', r"item 1: column 'tgt' is 3, not text; correct"),
        ('[{"src": "a", "trg": "b"}]', r"item 1: no column 'tgt'; did you mean 'trg'?"),
        ("[" * 100_000, r"item 1: not valid JSON (nested too deeply); correct"),
        ('["a', r"item 1: not valid JSON (Unterminated string starting at); correct"),
        ('["a"', r"item 1: the row is text, not an object; "),
        (b'[{"src": "\xff"', r"byte 0xff is not valid UTF-8; convert the file"),
    ],
)
def test_damaged_arrays_name_the_item(tmp_path, content, said):
    (tmp_path / "f").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in refused(tmp_path, "jsonl")


values = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=5), max_size=3)
objects = st.dictionaries(st.sampled_from(["src", "tgt", "x"]), values, max_size=3)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(objects, max_size=5),
    st.lists(st.tuples(st.integers(0, 999), st.integers(0, 255)), max_size=3),
    st.sampled_from([None, 1]),
)
def test_any_array_gives_pairs_or_one_clear_line(tmp_path_factory, given, changes, indent):
    content = bytearray(json.dumps(given, indent=indent).encode())
    for place, byte in changes:
        content[place % len(content)] = byte
    folder = tmp_path_factory.getbasetemp()
    (folder / "f").write_bytes(bytes(content))
    try:
        found, said = read(folder, "jsonl")[0], ";"
    except DataError as error:
        found, said = None, str(error)
    assert ";" in said
    assert "\n" not in said
    whole = all(isinstance(each.get(side, 0), str | None) for each in given for side in ("src", "tgt"))
    if not changes:
        expected = [(each.get("src") or "", each.get("tgt") or "") for each in given] if whole else None
        assert found == expected


SOME = [("Hello there.", "Hallo da."), ("A & B < C", "„D“ 你好"), ("007", "7"), ("", "x"), ("=1", "y")]


def test_a_workbook_gives_the_pairs_of_its_sheet(tmp_path):
    rows = [("Nr", "German", "English"), *((1, tgt, src) for src, tgt in SOME[:4]), (None, None, None)]
    (tmp_path / "f").write_bytes(workbook(rows, Sheet2=[]))
    found, notes = read(tmp_path, "xlsx", src_lang="en", tgt_lang="de")
    assert found == SOME[:4]
    assert notes == ("train: f: with header; source is column 'English', target 'German'",)
    assert read(tmp_path, "xlsx", src_column="English", tgt_column="German")[0] == SOME[:4]
    assert read(tmp_path, "xlsx", src_column=2, tgt_column=1, header=False)[0] == [("English", "German"), *SOME[:4]]
    (tmp_path / "f").write_bytes(workbook(SOME[:3]))
    assert read(tmp_path, "xlsx") == (SOME[:3], ("train: f: no header; source is column 0, target 1",))


def test_rows_of_one_cell_above_a_table_are_no_part_of_it(tmp_path):
    rows = [("My glossary", None), (None, None), ("Stand: 2026", ""), ("Source", "Target"), *SOME[:3]]
    (tmp_path / "f").write_bytes(workbook(rows))
    found, notes = read(tmp_path, "xlsx")
    assert found == SOME[:3]
    said = "with header; source is column 'Source', target 'Target'; skipped 2 rows above the table"
    assert notes == (f"train: f: {said}",)
    (tmp_path / "f").write_bytes(workbook([("one",), ("two",)]))
    assert "set data.src_column and data.tgt_column" in refused(tmp_path, "xlsx")


@pytest.mark.parametrize(
    ("content", "column", "said"),
    [
        ('["a", "b"]\n', "0", "f, item 1: the row is text, not an object; write rows such as {"),
        ('[["a", "b"]]', "0", "f, item 1: the row is a list, not an object; write rows such as {"),
        (
            '{"m": [{"c": "a"}]}\n',
            "m.0.c",
            "line 1: what 'm.0.c' is asked of is a list, not an object; write rows such",
        ),
        ('{"m": "a"}\n', "m.c", "line 1: what 'm.c' is asked of is text, not an object; write rows such as"),
        ('{\n"src": "a"}', "src", "line 1: not valid JSON on one line (Expecting property name"),
    ],
)
def test_json_that_holds_no_rows_says_how_to_write_them(tmp_path, content, column, said):
    (tmp_path / "f").write_text(content)
    assert said in refused(tmp_path, "jsonl", src_column=column, tgt_column=f"{column}.x")


def test_workbooks_that_are_not_clear_or_not_safe_are_refused(tmp_path):
    (tmp_path / "f").write_bytes(workbook(SOME, Two=SOME))
    assert "has 2 sheets with text (Sheet, Two); save the one to read as CSV" in refused(tmp_path, "xlsx")
    (tmp_path / "f").write_bytes(workbook([("Quelle", "Ziel"), *SOME]))
    assert "line 1 has 'Quelle', 'Ziel'; set data.src_column and data.tgt_column" in refused(tmp_path, "xlsx")
    assert (
        "row 1: 2 cells, but the target is in column 5, counted from 0; correct the row, or set data.tgt_column"
        in refused(tmp_path, "xlsx", src_column=0, tgt_column=5, header=False)
    )
    for content in (b"", b"a;b\n", workbook(SOME)[:3000]):
        (tmp_path / "f").write_bytes(content)
        assert "is not an Excel workbook that can be read: " in refused(tmp_path, "xlsx")
    with zipfile.ZipFile(io.BytesIO(workbook(SOME))) as good, zipfile.ZipFile(tmp_path / "f", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name.endswith("sheet1.xml"):
                comment = b"<!--" + b"x" * 5000 + b"-->"
                content = comment + b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + content
            bad.writestr(name, content)
    assert "declares XML entities, which Excel never writes; save it as CSV" in refused(tmp_path, "xlsx")


def test_a_row_with_a_number_beyond_all_sheets_is_refused(tmp_path):
    with zipfile.ZipFile(io.BytesIO(workbook(SOME))) as good, zipfile.ZipFile(tmp_path / "f", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name).replace(b'<row r="3"', b'<row r="400000000000"'))
    assert "names a row above 1,048,576, which Excel never writes; save it as CSV" in refused(tmp_path, "xlsx")


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx_files, "MOST_TEXT", 2000)
    (tmp_path / "f").write_bytes(workbook([("a" * 5000, "b.")]))
    assert "holds more than 0 GB in one part; save it as CSV" in refused(tmp_path, "xlsx")


@pytest.mark.parametrize("package", ["openpyxl", "defusedxml"])
def test_without_its_packages_the_extra_is_named(tmp_path, monkeypatch, package):
    (tmp_path / "f").write_bytes(workbook(SOME))
    monkeypatch.setitem(sys.modules, package, None)
    assert f"data.format=xlsx needs the package {package}; type: pip install 'nmt[xlsx]'" in refused(tmp_path, "xlsx")


@pytest.mark.slow
@settings(max_examples=75, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**5), st.integers(0, 255)), min_size=1, max_size=5))
def test_damaged_workbooks_give_pairs_or_one_clear_line(tmp_path_factory, changes):
    content = bytearray(workbook(SOME))
    for place, byte in changes:
        content[place % len(content)] = byte
    folder = tmp_path_factory.getbasetemp()
    (folder / "f").write_bytes(bytes(content))
    said = ";"
    try:
        read(folder, "xlsx")
    except (DataError, ConfigError) as error:
        said = str(error)
    assert ";" in said
    assert "\n" not in said


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_files_are_read_as_parquet_is(tmp_path, kind):
    table = pa.table({"translation": [{"en": src, "de": tgt} for src, tgt in PAIRS]})
    options = {"src_column": "translation.en", "tgt_column": "translation.de"}
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(str(tmp_path / "f"), table.schema) as writer:
        writer.write_table(table, max_chunksize=50)
    whole = (tmp_path / "f").read_bytes()
    assert read(tmp_path, "parquet", **options)[0] == PAIRS
    wrong = options | {"tgt_column": "translation.fr"}
    assert "column 'translation.fr' is not in" in refused(tmp_path, "parquet", **wrong)
    (tmp_path / "f").write_bytes(whole[: len(whole) // 2])
    assert "is not an Arrow file that can be read: " in refused(tmp_path, "parquet", **options)
    pq.write_table(table, tmp_path / "f")
    assert read(tmp_path, "parquet", **options)[0] == PAIRS


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_whatever_damage_arrow_finds_is_one_line(tmp_path, kind):
    texts = pa.array(["a", "b"]).dictionary_encode()
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    table = pa.table({"src": texts, "tgt": texts})
    with new(str(tmp_path / "f"), table.schema) as writer:
        writer.write_table(table)
    content = (tmp_path / "f").read_bytes()
    for columns in ((None, None), ("src", "tgt")):  # found by their names, or typed
        options = dict(zip(("src_column", "tgt_column"), columns, strict=True))
        (tmp_path / "f").write_bytes(content.replace(b"src", b"s\xffc"))
        assert "is not a" in refused(tmp_path, "parquet", **options)
        for place in range(0, len(content), 7):
            (tmp_path / "f").write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
            with suppress(DataError, ConfigError):  # else it was no damage to what matters
                read(tmp_path, "parquet", **options)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_an_arrow_file_that_points_outside_of_itself_is_refused(tmp_path, kind):
    """Arrow itself would read whatever lies at such an offset, or crash."""
    texts = ["a", "bc", "def"]
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(str(tmp_path / "f"), pa.schema([("src", pa.string()), ("tgt", pa.string())])) as writer:
        writer.write_table(pa.table({"src": texts, "tgt": texts}))
    content = (tmp_path / "f").read_bytes()
    ends = struct.pack("<4i", 0, 1, 3, 6)
    assert content.count(ends) == 2
    options = {"src_column": "src", "tgt_column": "tgt"}
    for wrong in (2**31 - 1, -5, 10**6):
        (tmp_path / "f").write_bytes(content.replace(ends, struct.pack("<4i", 0, wrong, 3, 6)))
        assert "f is not an Arrow file that can be read: ArrowInvalid: " in refused(tmp_path, "parquet", **options)


def test_a_list_that_claims_to_be_longer_than_its_file_takes_no_memory(tmp_path):
    """Metadata of Parquet, in Thrift's compact protocol: version 1, and a schema of 900,000 elements, 300 MB."""
    metadata = bytes([0x15, 2, 0x19, 0xFC, 0xA0, 0xF7, 0x36])
    content = b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1"
    (tmp_path / "f").write_bytes(content)
    for columns in ({"src_column": "a", "tgt_column": "b"}, {"src_column": None, "tgt_column": None}):
        assert "Exceeded size limit; check it" in refused(tmp_path, "parquet", **columns)


@pytest.mark.parametrize("length", [0, 1, 8])
def test_a_parquet_file_that_has_hardly_begun_is_refused(tmp_path, length):
    (tmp_path / "f").write_bytes(b"PAR1PAR1"[:length])
    for columns in ({"src_column": "a", "tgt_column": "b"}, {"src_column": None, "tgt_column": None}):
        assert "is not a Parquet file that can be read" in refused(tmp_path, "parquet", **columns)


def test_escapes_are_characters_and_errors_are_empty(tmp_path):
    book = openpyxl.Workbook()
    for row in (["en", "de"], ["a_x000D_\nb", "c_x005F_d_x0041_"], ["e", "#NAME?"], ["#1", "_xyz_"]):
        book.active.append(row)
    book.create_sheet("values").append(["hidden"])
    book["values"].sheet_state = "hidden"
    book.save(tmp_path / "f")
    found, _ = read(tmp_path, "xlsx", src_lang="en", tgt_lang="de")
    assert found == [("a\r\nb", "c_dA"), ("e", ""), ("#1", "_xyz_")]


def test_a_workbook_without_a_sheet_that_can_be_read_is_named(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["en", "de"])
    book.save(tmp_path / "f")
    with zipfile.ZipFile(tmp_path / "f") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    usual, strict = b"schemas.openxmlformats.org/officeDocument/2006/", b"purl.oclc.org/ooxml/officeDocument/"
    with zipfile.ZipFile(tmp_path / "f", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content if name == "_rels/.rels" else content.replace(usual, strict))
    assert "Strict Open XML Spreadsheet, save it as an Excel workbook" in refused(tmp_path, "xlsx")


@pytest.mark.parametrize(
    "kind",
    [pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary(), pa.large_binary()],
    ids=["view", "dictionary", "binary", "large_binary"],
)
def test_texts_are_read_however_arrow_keeps_them(tmp_path, kind):
    table = pa.table({"src": pa.array(["a", "a"]).cast(kind), "tgt": pa.array(["b", "ü"])})
    with pa.OSFile(str(tmp_path / "f"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path, "parquet", src_column="src", tgt_column="tgt")[0] == [("a", "b"), ("a", "ü")]


def test_bytes_in_parquet_are_text_if_they_are_utf_8(tmp_path):
    columns = {"src_column": "src", "tgt_column": "tgt"}
    table = pa.table({"src": pa.array(["ü", None], pa.binary()), "tgt": pa.array(["b", "c"])})
    pq.write_table(table, tmp_path / "f")
    assert read(tmp_path, "parquet", **columns)[0] == [("ü", "b"), ("", "c")]
    pq.write_table(pa.table({"src": pa.array([b"\xff"]), "tgt": pa.array(["b"])}), tmp_path / "f")
    assert "column 'src' of " in (error := refused(tmp_path, "parquet", **columns))
    assert r"byte 0xff of b'\xff' is not valid UTF-8" in error
    wide = pa.array(["Good day".encode("utf-16-le")])
    pq.write_table(pa.table({"src": wide, "tgt": pa.array(["b"])}), tmp_path / "f")
    assert "has NUL bytes, as UTF-16 has; write the column as text" in refused(tmp_path, "parquet", **columns)
    pq.write_table(pa.table({"src": pa.array([b"\xef\xbb\xbfa"]), "tgt": pa.array(["b"])}), tmp_path / "f")
    assert read(tmp_path, "parquet", **columns)[0] == [("a", "b")]


def test_other_values_are_no_text_even_in_a_dictionary(tmp_path):
    for values in (pa.array([1]), pa.array([1]).dictionary_encode(), pa.array([b"12"], pa.binary(2))):
        pq.write_table(pa.table({"src": values, "tgt": pa.array(["b"])}), tmp_path / "f")
        assert "not text" in refused(tmp_path, "parquet", src_column="src", tgt_column="tgt")


def test_one_column_on_both_sides_is_refused(tmp_path):
    pq.write_table(pa.table({"src": pa.array(["a"]), "tgt": pa.array(["b"])}), tmp_path / "f")
    assert "are both column 'src' of" in refused(tmp_path, "parquet", src_column="src", tgt_column="src")
