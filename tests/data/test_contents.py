"""Files of any kind in one list: each is read by what it holds."""

import gzip
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.small_corpora import data_config
from helpers.workbooks import workbook

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.readers import find_split
from nmt.errors import ConfigError, DataError

PAIRS = [("A dog.", "Ein Hund."), ("Two dogs, one cat.", "Zwei Hunde, eine Katze.")]
HEADER = [("en", "de"), *PAIRS]


def tmx():
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{src}</seg></tuv><tuv xml:lang="de"><seg>{tgt}</seg></tuv></tu>'
        for src, tgt in PAIRS
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'.encode()


def xliff():
    units = "".join(f"<trans-unit><source>{src}</source><target>{tgt}</target></trans-unit>" for src, tgt in PAIRS)
    languages = 'source-language="en" target-language="de"'
    return f'<xliff version="1.2"><file {languages} original="x"><body>{units}</body></file></xliff>'.encode()


def po():
    head = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n\n'
    return (head + "".join(f'msgid "{src}"\nmsgstr "{tgt}"\n\n' for src, tgt in PAIRS)).encode()


def rows(delimiter):
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in HEADER).encode()


def parquet():
    out = io.BytesIO()
    pq.write_table(pa.table({"src": [src for src, _ in PAIRS], "tgt": [tgt for _, tgt in PAIRS]}), out)
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def lines(side):
    return "".join(f"{pair[side]}\n" for pair in PAIRS)


MOSES = {"b.de-en.de": lines(1), "b.de-en.en": lines(0), "LICENSE": "CC", "b.de-en.ids": "1\n2\n"}
KINDS = {
    "tmx": tmx(),
    "tmx in UTF-16": tmx().decode().encode("utf-16"),
    "tmx in gzip": gzip.compress(tmx()),
    "tmx in zip": zipped({"LICENSE": "CC", "memory.tmx": tmx()}),
    "xliff": xliff(),
    "po": po(),
    "tsv": "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS).encode(),
    "xlsx": workbook(HEADER),
    "jsonl": "".join(json.dumps({"src": src, "tgt": tgt}) + "\n" for src, tgt in PAIRS).encode(),
    "jsonl as an array": json.dumps([{"src": src, "tgt": tgt} for src, tgt in PAIRS]).encode(),
    "parquet": parquet(),
    "moses_zip": zipped(MOSES),
}


def auto(folder, files, **changes):
    data = data_config("auto", root=str(folder), src_lang="en", tgt_lang="de", dev_size=0, test_size=0)
    return replace(data, **({"train": SplitConfig(None, None, files)} | changes))


def pairs(data):
    return list(find_split(data, "train", Path("cache")).pairs())


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_known_by_its_content_whatever_its_name(tmp_path, kind):
    (tmp_path / "corpus.dat").write_bytes(KINDS[kind])
    split = find_split(auto(tmp_path, "corpus.dat"), "train", tmp_path)
    assert list(split.pairs()) == PAIRS
    assert split.notes[0] == f"train: corpus.dat: data={kind.split()[0]}"


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.csv.gz", ";"), ("a.tsv", "\t"), ("a.TAB", "\t")])
def test_tables_are_known_by_their_names_too(tmp_path, name, delimiter):
    content = rows(delimiter)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert pairs(auto(tmp_path, name)) == PAIRS


def test_all_kinds_stand_in_one_list(tmp_path):
    for name, content in KINDS.items():
        (tmp_path / name).write_bytes(content)
    found = pairs(auto(tmp_path, [*KINDS]))
    assert found == PAIRS * len(KINDS)


@pytest.mark.parametrize(
    ("src", "tgt"),
    [("my.en", "my.de"), ("news-en.txt", "news-de.txt.gz"), ("x.en-de.EN", "x.en-de.de"), ("eng.txt", "German.txt")],
)
def test_texts_are_told_apart_by_the_languages_in_their_names(tmp_path, src, tgt):
    for name, side in ((tgt, 1), (src, 0)):
        content = lines(side).encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    split = find_split(auto(tmp_path, [tgt, src]), "train", tmp_path)
    assert list(split.pairs()) == PAIRS
    assert split.notes == (f"train: {src} is read with {tgt}",)


@pytest.mark.parametrize(
    ("names", "changes", "said"),
    [
        (
            ["my.en"],
            {},
            "data.train.files names 1 file in English but 0 in German; name the sides: data.train.src=",
        ),
        (["my.txt"], {}, r"my.txt, data.train.files, is in one language: is it English or German\? name the sides"),
        (["my.en", "my.de"], {"src_lang": None}, "is in one language; name the sides: .* or set data.src_lang"),
    ],
)
def test_texts_that_cannot_be_told_apart_are_one_error(tmp_path, names, changes, said):
    for name in names:
        (tmp_path / name).write_text(lines(0))
    with pytest.raises(DataError, match=said):
        pairs(auto(tmp_path, names, **changes))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{\n "a": "b"\n}',
            "data.train.files, holds JSON, but not rows with both languages; write an array of objects",
        ),
        ('[["a", "b"],\n["c", "d"]]', "holds no rows with named texts; write rows such as {"),
        ('{"data": [{"en": "a", "de": "b"}]}', "which columns hold the two languages? it has 'data'"),
    ],
)
def test_json_without_rows_of_both_languages_is_named(tmp_path, text, said):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError, match=re.escape(said)):
        pairs(auto(tmp_path, "c.json"))


def test_sides_are_named_as_well(tmp_path):
    (tmp_path / "a").write_text(lines(0))
    (tmp_path / "b").write_text(lines(1))
    assert pairs(auto(tmp_path, None, train=SplitConfig("a", "b", None))) == PAIRS


@pytest.mark.parametrize(
    ("files", "changes", "said", "kind"),
    [
        (
            {"a.en": "x", "a.fr": "y"},
            {},
            r"2 files \(a.en, a.fr\); unpack it, and name the files in it, or set data.src_lang",
            DataError,
        ),
        ({"a.en": "x", "b.de": "y"}, {}, "no two files whose names differ only in en and de", DataError),
        ({"a.en": "x", "a.eng": "y", "a.de": "z"}, {}, "a.en and a.eng, both English", DataError),
        (MOSES, {"src_lang": None}, "data.src_lang is null, data.format=moses_zip", ConfigError),
        ({"a.en": "x\n", "a.de": "y\nz\n"}, {}, "a.zip, a.en has 1 line but .*a.zip, a.de has 2", DataError),
        ({"a.en": b"\xff\n", "a.de": b"y\n"}, {}, "a.zip, a.en, line 1: byte 0xff", DataError),
    ],
)
def test_a_zip_without_one_pair_of_files_for_each_name_is_one_error(tmp_path, files, changes, said, kind):
    (tmp_path / "a.zip").write_bytes(zipped(files))
    with pytest.raises(kind, match=said):
        pairs(auto(tmp_path, "a.zip", **changes))


def test_a_zip_names_what_is_not_read(tmp_path):
    files = {
        "legal.en": "x\n",
        "legal.de": "y\n",
        "notices.en": "v\n",
        "notices.de": "w\n",
        "extra.en": "z\n",
        "README": "",
    }
    (tmp_path / "a.zip").write_bytes(zipped(files))
    split = find_split(auto(tmp_path, "a.zip"), "train", tmp_path)
    assert list(split.pairs()) == [("x", "y"), ("v", "w")]
    (note,) = [each for each in split.notes if "legal" in each]
    assert note.endswith("legal.en with legal.de, notices.en with notices.de; not read: 1 file (extra.en)")


def test_what_is_no_zip_holds_no_pair(tmp_path):
    (tmp_path / "a.zip").write_text("text")
    with pytest.raises(DataError, match=r"it has no text file"):
        pairs(replace(auto(tmp_path, "a.zip"), format="moses_zip"))
    (tmp_path / "a.zip").write_bytes(zipped(MOSES)[:60])
    with pytest.raises(DataError, match="a damaged zip file"):
        pairs(replace(auto(tmp_path, "a.zip"), format="moses_zip"))


def test_several_pairs_in_a_zip_are_read_in_the_order_of_their_names(tmp_path):
    files = {f"p{n}.{lang}": f"{lang} {n}\n" for n in (10, 2) for lang in ("de", "en")}
    (tmp_path / "a.zip").write_bytes(zipped(files))
    split = find_split(auto(tmp_path, "a.zip"), "train", tmp_path)
    assert list(split.pairs()) == [("en 2", "de 2"), ("en 10", "de 10")]
    assert split.notes[1] == "train: a.zip: p2.en with p2.de, p10.en with p10.de"


def test_the_report_counts_each_file_of_units_by_itself(tmp_path):
    (tmp_path / "a").write_bytes(tmx())
    (tmp_path / "b").write_bytes(po())
    report = read_corpus(auto(tmp_path, ["a", "b"]), tmp_path / "cache").report
    assert "train: a: 2 units, 2 pairs" in report
    assert "train: b: 2 segments, 2 pairs" in report


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n", "a PDF document; save its text as plain text"),
        (b"<html>\n</html>\n", "HTML; "),
    ],
)
def test_a_known_kind_that_nothing_reads_is_named(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError) as error:
        pairs(auto(tmp_path, ["a"]))
    assert f"a is {kind}" in str(error.value)


@pytest.mark.parametrize("part", ["word/document.xml", "META-INF/manifest.xml", "xl/workbook.bin"])
def test_a_document_in_a_zip_is_named(tmp_path: Path, part: str) -> None:
    (tmp_path / "a").write_bytes(zipped({part: "x", "b": "y"}))
    with pytest.raises(DataError, match=r"a is an? .*; .*save"):
        pairs(auto(tmp_path, ["a"]))


def test_files_in_a_zip_are_paired_by_a_language_anywhere_in_the_name(tmp_path: Path) -> None:
    texts = {"en": "A dog.\n", "de": "Ein Hund.\n"}
    for name in ("train.{}.txt", "{}/train.txt", "x/train.en-de.{}"):
        (tmp_path / "a").write_bytes(zipped({name.format(code): text for code, text in texts.items()}))
        assert pairs(auto(tmp_path, ["a"])) == PAIRS[:1]
    (tmp_path / "a").write_bytes(zipped({f"{code}/train.txt": text for code, text in texts.items()}))
    assert "en/train.txt with de/train.txt" in find_split(auto(tmp_path, ["a"]), "train", tmp_path).notes[1]


def test_a_table_beside_its_notes_in_a_zip_is_read(tmp_path: Path) -> None:
    table = "".join(f"{src}\t{tgt}\tCC-BY 2.0\n" for src, tgt in PAIRS)
    (tmp_path / "a").write_bytes(zipped({"deu.txt": table, "_about.txt": "about"}))
    assert pairs(auto(tmp_path, ["a"])) == PAIRS


def test_a_po_file_that_begins_with_many_comments_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_bytes(b"# a comment\n" * 1000 + po())
    assert pairs(auto(tmp_path, ["a.po"])) == PAIRS


def test_a_line_break_between_quotes_leaves_a_table_a_table(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('en\tde\n"A\ndog."\t"Ein\nHund."\nNo.\tNein.\n')
    assert pairs(auto(tmp_path, ["a"])) == [("A\ndog.", "Ein\nHund."), ("No.", "Nein.")]


def test_an_array_in_utf16_is_known(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(json.dumps([{"en": "a", "de": "b"}]).encode("utf-16"))
    with pytest.raises(DataError, match=r"a is UTF-16 text, not UTF-8; convert it: iconv"):
        pairs(auto(tmp_path, ["a"]))
