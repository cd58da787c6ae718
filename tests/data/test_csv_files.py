"""CSV and TSV: form and columns are found out or as typed; anything unclear is refused."""

import csv
import io
import re

import pytest
from helpers.small_corpora import data_config
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data import csv_files
from nmt.data.corpus import read_corpus
from nmt.data.encodings import is_utf8
from nmt.data.readers import find_split
from nmt.errors import ConfigError, DataError

PAIRS = [
    ("Emil needs the bag.", "Emil braucht die Tasche."),
    ("The key is clean.", "Der Schlüssel ist sauber."),
    ("A bag; a coat, and a key.", "Eine Tasche; ein Mantel, und ein Schlüssel."),
    ('She said "Stop!" twice.', "Sie sagte zweimal „Halt!“."),
    ("None", "Nichts"),
]
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
PLAIN = {"dev_size": 0, "test_size": 0}


def written(rows, delimiter=",", **changes):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, **changes).writerows(rows)
    return file.getvalue()


def read(folder, kind, content, **changes):
    """Pairs and the note on the file."""
    (folder / "f").write_bytes(content if isinstance(content, bytes) else content.encode())
    data = data_config(kind, root=str(folder), train=SplitConfig(None, None, "f"), **changes)
    split = find_split(data, "train", folder)
    [note] = split.notes
    return list(split.pairs()), note.removeprefix("train: f: ")


def refused(folder, kind, content, **changes):
    with pytest.raises((DataError, ConfigError)) as error:
        read(folder, kind, content, **changes)
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("word", DELIMITERS)
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("header", [("English", "German"), ("en-US", "de_DE"), ("source", "target"), None])
def test_what_spreadsheets_write_is_read(tmp_path, word, quoting, encoding, header):
    rows = [*([header] if header else []), *PAIRS]
    content = written(rows, DELIMITERS[word], quoting=quoting).encode(encoding)
    found, note = read(tmp_path, "csv", content, src_lang="en", tgt_lang="de")
    assert found == PAIRS
    assert f"delimiter {word}, {'with' if header else 'no'} header" in note
    shown = {"utf-8-sig": "utf-8"}.get(encoding, encoding).replace("-", "").upper()
    assert note.replace("-", "").startswith(f"{shown}, ")
    columns = header or (0, 1)
    assert note.endswith(f"source is column {columns[0]!r}, target {columns[1]!r}")


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_columns_are_found_by_language_wherever_they_stand(tmp_path, kind):
    rows = [("Nr", "German", "Note", "English (US)"), *(("1", tgt, "x", src) for src, tgt in PAIRS)]
    content = written(rows, "," if kind == "csv" else "\t")
    assert read(tmp_path, kind, content, src_lang="en", tgt_lang="de")[0] == PAIRS
    assert read(tmp_path, kind, content, src_lang="de", tgt_lang="en-GB")[0] == [(tgt, src) for src, tgt in PAIRS]
    assert read(tmp_path, kind, content, src_column="English (US)", tgt_column=1)[0] == PAIRS
    assert "line 1 has 'Nr', 'German', 'Note', 'English (US)'; set data.src_column and data.tgt_column" in refused(
        tmp_path, kind, content, src_lang="fr", tgt_lang="de"
    )


def test_a_number_is_a_column_of_a_table_with_or_without_header(tmp_path):
    rows = [("a b", "c d", "e f"), *((src, "x", tgt) for src, tgt in PAIRS)]
    for header, expected in ((True, PAIRS), (False, [("a b", "e f"), *PAIRS])):
        assert read(tmp_path, "csv", written(rows), src_column=0, tgt_column=2, header=header)[0] == expected
    assert read(tmp_path, "csv", written(rows[1:]), src_column=0, tgt_column=2)[0] == PAIRS
    assert "the target is in column 7, counted from 0" in refused(
        tmp_path, "csv", written(rows[1:]), src_column=0, tgt_column=7
    )


def test_what_is_typed_wins(tmp_path):
    found, note = read(tmp_path, "csv", "a,b;c,d\ne,f;g,h\n", delimiter="semicolon", header=False)
    assert found == [("a,b", "c,d"), ("e,f", "g,h")]
    assert "delimiter semicolon, no header" in note
    assert read(tmp_path, "csv", 'a,"b\nc,d"\n', header=False, quotes=False)[0] == [("a", '"b'), ("c", 'd"')]
    assert read(tmp_path, "tsv", '"a"\tb\n', quotes=True)[0] == [("a", "b")]
    assert read(tmp_path, "tsv", "a|b\n", delimiter="pipe")[0] == [("a", "b")]
    text = "Привет, мир.\tHello.\n"
    assert read(tmp_path, "tsv", text.encode("koi8-r"), encoding="koi8-r")[0] == [("Привет, мир.", "Hello.")]


def test_the_line_that_excel_reads_the_delimiter_from_is_no_row(tmp_path):
    content = "sep=;\r\nen;de\r\na, b;c, d\r\n"
    assert read(tmp_path, "csv", content, src_lang="en", tgt_lang="de")[0] == [("a, b", "c, d")]


@pytest.mark.parametrize(
    ("kind", "content", "changes", "said"),
    [
        ("csv", "a,b;c\nd,e;f\n", {}, "the delimiter may be comma or semicolon; set it, for example data.d"),
        ("csv", "one column\nof text\n", {}, "line 1 is not cut into columns by a comma, semicolon, tab or pipe"),
        ("csv", "Quelle,Ziel\na,b\n", {}, "line 1 has 'Quelle', 'Ziel'; set data.src_column and data.tgt_column to"),
        ("csv", "English,German\na,b\n", {}, "set data.src_column and data.tgt_column, or data.src_lang and data.tgt"),
        ("csv", "en,de,en\na,b,c\n", {"src_lang": "en", "tgt_lang": "de"}, "line 1 has 'en', 'de', 'en'; set"),
        ("csv", "a,a\nb,c\n", {"src_column": "a", "tgt_column": "a"}, "column 'a' is in .*more than once; give"),
        ("csv", "a,b\nb,c\n", {"src_column": "a", "tgt_column": "x"}, "column 'x' is not in .*; choose from: a, b"),
        ("csv", "en,de\nb,c\n", {"src_column": "en"}, "line 1 has 'en', 'de'; set data.tgt_column"),
        ("csv", "a,b\n", {"src_column": "a", "tgt_column": 1, "header": False}, "'a' is a name, but data.header=false"),
        ("csv", "One two three four.,B.,C.\n", {}, "which columns hold the two languages"),
        ("csv", 'en,de\n"a"b,c\n', {"src_column": 0, "tgt_column": 1}, "line 2: not valid CSV .*data.quotes=false"),
        ("tsv", "en\tde\nb\tc\n", {}, "line 1 has 'en', 'de'; set .*or data.header=false if line 1 is a pair"),
        ("tsv", '"a ""b"""\tc\n"d\te\n', {}, "do quotes enclose cells, or are they text.*data.quotes=true or"),
        ("tsv", "Дом.\tДом.\n".encode("cp1251"), {}, "line 1: byte 0xc4 is not valid UTF-8"),
        ("csv", b"Schl\xfcssel.,key.\n", {"src_lang": "ru"}, "line 1: byte 0xfc is not valid UTF-8"),
        ("csv", b"Schl\xfcssel \xc3\xbc.,key.\n", {}, "line 1: byte 0xfc is not valid UTF-8"),
        ("csv", b"k\xf6z\xf5s.,key.\n", {}, "line 1: byte 0xf6 is not valid UTF-8"),
        ("csv", b"a\xff,b\n", {"encoding": "utf-16"}, "after line 0: not valid utf-16; set another data.encoding"),
        ("csv", b"<?xml version='1.0'?>\n<tmx>\n", {}, "f is TMX, a translation memory; read it with data=tmx"),
    ],
)  # fmt: skip
def test_what_is_not_clear_is_refused_with_what_to_set(tmp_path, kind, content, changes, said):
    assert re.search(said, refused(tmp_path, kind, content, **changes))


def test_quotes_of_a_tsv_file_are_text_unless_they_enclose_its_cells(tmp_path):
    for content, expected in (
        ('"Stop!"\t"Halt!"\nGo\tGeh\n', [('"Stop!"', '"Halt!"'), ("Go", "Geh")]),
        ('an "odd\tein "Rest\n"\t\'\n', [('an "odd', 'ein "Rest'), ('"', "'")]),
        ('"a"\t"b"\n"c"\t"d"\n"e"\t"f"\n', [("a", "b"), ("c", "d"), ("e", "f")]),
        ('a\tb\n"c ""d"""\te\n', [("a", "b"), ('c "d"', "e")]),
        ('a\tb\n"c\td"\te\n', [("a", "b"), ("c\td", "e")]),
        ('a\tb\n"c\nd"\te\n', [("a", "b"), ("c\nd", "e")]),
    ):
        assert read(tmp_path, "tsv", content)[0] == expected


@pytest.mark.parametrize("first", ["Dansk\tDanish", "Haus\tMandarin", "Thai\tfood", "id\tEnglish"])
def test_words_that_are_names_of_one_language_are_a_pair(tmp_path, first):
    assert read(tmp_path, "tsv", f"{first}\na b.\tc d.\n")[0][0] == tuple(first.split("\t"))


@pytest.mark.parametrize("first", ["English\tΕλληνικά", "sentence1\tsentence2"])
def test_a_tsv_header_with_other_names_is_asked_about(tmp_path, first):
    said = refused(tmp_path, "tsv", f"{first}\na b.\tc d.\n")
    assert "which columns hold the two languages? line 1 has " in said
    assert "or data.header=false if line 1 is a pair" in said


def test_a_first_row_without_a_target_names_the_cell(tmp_path):
    said = refused(tmp_path, "tsv", "a b.\nc d.\te f.\n")
    assert (
        "line 1: 1 cell, but the target is in column 1, counted from 0; correct the row, or set data.tgt_column" in said
    )


def test_another_encoding_is_named_with_the_key_for_it(tmp_path):
    text = "source,target\n" + "Good morning,Καλημέρα σας\nThe house,Το σπίτι είναι μεγάλο\n" * 50
    said = refused(tmp_path, "csv", text.encode("cp1253"))
    assert f"convert the file: iconv -f CP1253 -t UTF-8 < {tmp_path}/f > utf8.txt, or name its encoding:" in said
    assert "data.encoding=cp1253, for example" in said
    found, _ = read(tmp_path, "csv", text.encode("cp1253"), encoding="cp1253")
    assert found[0] == ("Good morning", "Καλημέρα σας")


def test_a_tsv_file_without_header_keeps_its_first_row(tmp_path):
    for first in ("English\tEnglisch", "no\tnein", "day\tTag", "a\tb\tc"):
        content = f"{first}\n" * 3
        assert read(tmp_path, "tsv", content)[0] == [tuple(first.split("\t")[:2])] * 3


def test_files_of_one_form_are_one_line_of_the_report(tmp_path):
    for name in ("b1", "b2", "b10"):
        (tmp_path / name).write_text("en,de\na,b\n")
    (tmp_path / "b3").write_text("de;en\nb;a\n")
    options = {"src_lang": "en", "tgt_lang": "de", **PLAIN}
    data = data_config("csv", root=str(tmp_path), train=SplitConfig(None, None, "b*"), **options)
    corpus = read_corpus(data, tmp_path)
    assert list(zip(corpus.train["src"], corpus.train["tgt"], strict=True)) == [("a", "b")] * 4
    assert corpus.report[0].startswith("train: b1 and 2 more: UTF-8, delimiter comma, with header")
    assert corpus.report[1].startswith("train: b3: UTF-8, delimiter semicolon, with header")


def test_another_form_is_another_corpus(tmp_path):
    (tmp_path / "f").write_text("Hello there.,Hallo da.\nA b.,C d.\n")
    data = {"root": str(tmp_path), "train": SplitConfig(None, None, "f"), **PLAIN}
    data |= {"src_column": 0, "tgt_column": 1}
    one, two = (read_corpus(data_config("csv", header=header, **data), tmp_path / "c") for header in (None, True))
    assert (len(one.train), len(two.train)) == (2, 1)
    assert one.fingerprint != two.fingerprint


cells = st.text(st.characters(codec="cp1252", exclude_characters="\x00\r\n\x81\x8d\x8f\x90\x9d"), max_size=12)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    st.sampled_from(sorted(DELIMITERS)),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["\r\n", "\n"]),
)
def test_any_table_comes_back(tmp_path_factory, pairs, word, quoting, encoding, end):
    content = written([("source", "target"), *pairs], DELIMITERS[word], quoting=quoting, lineterminator=end)
    assume(encoding != "cp1252" or not is_utf8([content.encode("cp1252")]))  # "Â©", for example
    typed = {"encoding": "cp1252"} if encoding == "cp1252" else {}
    found, _ = read(tmp_path_factory.getbasetemp(), "csv", content.encode(encoding), **typed)
    assert found == pairs


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["csv", "tsv"]),
    st.sampled_from(sorted(DELIMITERS)),
    st.sampled_from(["utf-8", "utf-16", "cp1252"]),
    st.lists(st.tuples(st.integers(0, 999), st.sampled_from(b'\0\n\r\t",;|\xff\xfe\x80\xc3<P') | st.integers(0, 255))),
)
def test_damaged_tables_give_pairs_or_one_clear_line(tmp_path_factory, kind, word, encoding, changes):
    content = bytearray(written([("English", "German"), *PAIRS], DELIMITERS[word]).encode(encoding))
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        found, _ = read(tmp_path_factory.getbasetemp(), kind, bytes(content), src_lang="en", tgt_lang="de")
        said = "ok;"
    except (DataError, ConfigError) as error:
        found, said = [], str(error)
    assert all(isinstance(side, str) for pair in found for side in pair)
    assert ";" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("before", "after"),
    [("http://a.com/en\thttp://a.com/de\t", "\t0.9"), ("doc1-s1\t", ""), ("", "\tc1.mp3"), ("12\tc1.mp3\t", "")],
)
def test_keys_and_addresses_beside_the_texts_of_a_tsv_are_no_text(tmp_path, before, after):
    content = "".join(f"{before}{src}\t{tgt}{after}\n" for src, tgt in PAIRS)
    assert read(tmp_path, "tsv", content)[0] == PAIRS


@pytest.mark.parametrize(
    "rows",
    [
        ["path\tsentence\ttranslation\tclient_id", "c1.mp3\tGood morning.\tGuten Morgen.\tx"],
        ["id\tEnglish\tGerman", "1\tGood morning.\tGuten Morgen."],
        ["id\tEnglish text\tGerman text", "1\tGood morning.\tGuten Morgen."],
        ["3\tGood morning.\tGuten Morgen.\tby the river"],
    ],
)
def test_columns_of_a_tsv_that_are_not_clear_are_asked_for(tmp_path, rows):
    content = "\n".join(rows) + "\n"
    if "English\t" not in content:
        assert "which columns hold the two languages?" in refused(
            tmp_path, "tsv", content, src_lang="en", tgt_lang="de"
        )
    assert "which columns hold the two languages?" in refused(tmp_path, "tsv", content)
    header = len(rows) > 1
    found, _ = read(tmp_path, "tsv", content, src_column=1, tgt_column=2, header=header)
    assert found == [("Good morning.", "Guten Morgen.")]


def test_quotes_that_excel_puts_around_cells_with_commas_between_tabs_enclose_them(tmp_path):
    rows = ["English\tGerman", "Good morning.\tGuten Morgen.", '"Hello, you."\t"Hallo, du."', "No.\tNein."]
    content = "\r\n".join(rows) + "\r\n"
    for encoding in ("utf-16", "cp1252", "utf-8"):
        found, note = read(tmp_path, "tsv", content.encode(encoding), src_lang="en", tgt_lang="de")
        assert found == [("Good morning.", "Guten Morgen."), ("Hello, you.", "Hallo, du."), ("No.", "Nein.")]
        assert "quotes enclose cells" in note
    spoken = content + 'So, "yes".\tAlso, „ja“.\r\n'
    assert read(tmp_path, "tsv", spoken, src_lang="en", tgt_lang="de")[0][1] == ('"Hello, you."', '"Hallo, du."')


@pytest.mark.parametrize(
    ("header", "tgt_lang", "column"),
    [
        (("en", "zh-CN", "zh-TW"), "zh-TW", 2),
        (("en", "zh-CN", "zh-TW"), "zh-CN", 1),
        (("en", "pt", "pt-BR"), "pt-BR", 2),
        (("en", "pt", "pt-BR"), "pt-PT", 1),
        (("en", "pt", "x"), "pt-BR", 1),
        (("en", "x", "pt_br"), "pt", 2),
        (("en", "pt-BR", "x"), "pt-PT", None),
        (("en", "zh-CN", "zh-TW"), "zh", None),
    ],
)
def test_a_column_of_another_region_is_not_taken(tmp_path, header, tgt_lang, column):
    content = written([header, ("a dog runs there", "one", "two")])
    if column is None:
        assert "which columns hold the two languages?" in refused(
            tmp_path, "csv", content, src_lang="en", tgt_lang=tgt_lang
        )
    else:
        found, _ = read(tmp_path, "csv", content, src_lang="en", tgt_lang=tgt_lang)
        assert found == [("a dog runs there", ["", "one", "two"][column])]


def test_a_quote_without_end_names_the_row_where_it_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 200)
    content = "src,tgt\n" + 'a,b\n"Hello,c\n' + "d,e\n" * 100
    text = refused(tmp_path, "csv", content, delimiter="comma")
    assert "line 52: not valid CSV (field larger than field limit (200)), in the row that begins in line 3;" in text


def test_blank_lines_at_the_end_of_a_tsv_are_no_rows(tmp_path):
    content = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS[:2])
    assert read(tmp_path, "tsv", content + "\n\n")[0] == PAIRS[:2]
    assert "line 2: 1 column, but line 1 has 2" in refused(tmp_path, "tsv", content.replace("\n", "\n\n\n"))


@pytest.mark.parametrize("codes", [("en", "de"), ("EN", "DE"), ("English", "German")])
def test_cells_that_name_the_language_of_each_row_are_no_header(tmp_path, codes):
    words = [("car", "Auto"), ("dog", "Hund"), ("cat", "Katze")]
    languages = {"src_lang": "en", "tgt_lang": "de"}
    rows = [[*pair, *codes] for pair in words]
    assert "which columns hold the two languages?" in refused(tmp_path, "csv", written(rows), **languages)
    columns = {"header": False, "src_column": 0, "tgt_column": 1}
    assert read(tmp_path, "csv", written(rows), **languages, **columns)[0] == words
    rows = [[codes[0], src, codes[1], tgt] for src, tgt in words]
    assert read(tmp_path, "tsv", written(rows, "\t"), **languages)[0] == words
    header = [["source", "target", "from", "to"], *[[*pair, *codes] for pair in words]]
    assert read(tmp_path, "csv", written(header), **languages)[0] == words


def test_one_column_on_both_sides_is_refused(tmp_path):
    content = written([("English", "German"), *PAIRS])
    for column in (0, "English"):
        error = refused(tmp_path, "csv", content, src_column=column, tgt_column=column)
        assert error.startswith("data.src_column and data.tgt_column are both column 0 of ")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "windows-1250", "koi8-r"])
def test_utf_8_is_not_read_as_an_encoding_of_one_byte(tmp_path, encoding):
    error = refused(tmp_path, "csv", written(PAIRS), encoding=encoding, header=False)
    assert error.endswith(f"f is UTF-8, not data.encoding={encoding}; leave data.encoding out")
    plain = [("a", "b c d e."), ("f", "g")]
    assert read(tmp_path, "csv", written(plain), encoding=encoding, header=False)[0] == plain
    late = written(plain * 100_000 + [("für", "uns")])
    assert "f is UTF-8, not" in refused(tmp_path, "csv", late, encoding=encoding, header=False)


def test_rows_that_are_marked_as_fuzzy_are_left_out_and_counted(tmp_path):
    rows = [("source", "target", "fuzzy"), ("a", "b", ""), ("c", "d", "True"), ("e", "f", "False"), ("g", "h", "1")]
    for kind, delimiter in (("csv", ","), ("tsv", "\t")):
        (tmp_path / "f").write_text(written(rows, delimiter))
        split = find_split(data_config(kind, root=str(tmp_path), train=SplitConfig(None, None, "f")), "train", tmp_path)
        for _ in range(2):
            assert list(split.pairs()) == [("a", "b"), ("e", "f")]
            assert [str(tally) for tally in split.tallies] == ["f: 4 rows, 2 pairs; left out: 2 fuzzy"]


def test_a_tsv_of_empty_cells_has_two_columns(tmp_path):
    assert read(tmp_path, "tsv", "\t\n")[0] == [("", "")]


def test_a_column_that_is_not_there_names_the_keys(tmp_path):
    error = refused(tmp_path, "csv", written(PAIRS), src_column=0, tgt_column=5, header=False)
    assert "the target is in column 5, counted from 0; correct the row, or set data.tgt_column" in error
