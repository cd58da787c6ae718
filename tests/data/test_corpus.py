"""Corpora: every format gives the same pairs, no line ever shifts, every bad input is one clear line."""

import csv
import gzip
import io
import json
import os
import re
import threading
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.small_corpora import NONE, data_config, make_pairs, text_data
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus, read_lines, resolve
from nmt.data.paths import decode_lines, find_files
from nmt.data.split import blocks
from nmt.data.tables import read_batches
from nmt.data.text import clean
from nmt.data.train_hashes import different_pairs, hashes
from nmt.errors import CheckpointError, ConfigError, DataError

NASTY = [
    ("plain", "einfach"),
    ("None", "NA"),
    ("null", "nan"),
    ('an "unbalanced quote', 'ein "Zitat'),
    ('"', "'"),
    ("a\u2028b", "c\u2029d"),
    ("a\x85b", "c\x0bd\x0ce"),
    ("a\rb", "c\x1cd\x1de"),
    ("  ends  ", "\u3000你好\u3000"),
    ("=1+2", "#comment"),
    ("a,b;c", "d|e"),
    ("e\u0301", "\u00e9"),
    ("🙂 \U0001f468\u200d\U0001f469", "\ufeffinside"),
    ("back\\slash \\n", "\\t"),
]


def write(data, folder, pairs):
    """Write pairs in a format; the split that reads them."""
    if data == "text":
        for side, name in enumerate(("s", "t")):
            (folder / name).write_bytes("".join(pair[side] + "\n" for pair in pairs).encode())
        return SplitConfig("s", "t", None)
    path = folder / f"pairs.{data}"
    if data == "tsv":
        path.write_bytes("".join(f"{src}\t{tgt}\n" for src, tgt in pairs).encode())
    elif data == "jsonl":
        path.write_bytes("".join(json.dumps({"src": s, "tgt": t}) + "\n" for s, t in pairs).encode())
    elif data == "csv":
        with open(path, "w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows([("src", "tgt"), *pairs])
    elif data == "parquet":
        pq.write_table(pa.table({"src": [p[0] for p in pairs], "tgt": [p[1] for p in pairs]}), path)
    return SplitConfig(None, None, path.name)


def read(data, folder, **changes):
    return read_corpus(data_config(data, root=str(folder), **changes), folder / "cache")


def text_corpus(folder, train, **splits):
    """The corpus of text files with these pairs."""
    files = {}
    for name, pairs in {"train": train, **splits}.items():
        for side, suffix in enumerate(("src", "tgt")):
            (folder / f"{name}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
        files[name] = SplitConfig(f"{name}.src", f"{name}.tgt", None)
    return read_corpus(data_config("text", root=str(folder), **files), folder / "cache")


def test_a_corpus_of_copies_says_so(tmp_path):
    few = make_pairs(20)
    report = text_corpus(tmp_path, few * 50).report
    said = "caution: the 1,000 training pairs have 20 different sources only, which is little to learn from"
    assert said in report
    assert not any("different source" in line for line in text_corpus(tmp_path, make_pairs(1000)).report)
    assert not any("different source" in line for line in text_corpus(tmp_path, few).report)


def test_dev_sentences_that_are_trained_on_are_cautioned_about(tmp_path):
    rows = make_pairs(100)
    report = text_corpus(tmp_path, rows, dev=rows[:30]).report
    said = "caution: 90% of the dev sources are trained on, so its scores show only what was learned by heart"
    assert any(line.startswith(said) for line in report)
    report = text_corpus(tmp_path, rows, dev=[*rows[:10], *((f"new {n}", "neu") for n in range(20))]).report
    assert not any("learned by heart" in line for line in report)


def test_files_of_empty_lines_hold_no_text(tmp_path):
    for name in ("train.src", "train.tgt"):
        (tmp_path / name).write_text("\n" * 100)
    with pytest.raises(DataError, match=r"train\.src and .*train\.tgt hold empty lines only; check both files"):
        read("text", tmp_path, train=SplitConfig("train.src", "train.tgt", None))


def corpora(cache: Path) -> list[Path]:
    """The corpora in a cache."""
    return list(cache.glob("corpus-*"))


def rows(table):
    return list(zip(table["src"], table["tgt"], strict=True))


def message(error):
    """The one line of an error."""
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text  # what to do follows it
    return text


@pytest.mark.parametrize("data", ["text", "tsv", "jsonl", "csv", "parquet"])
def test_every_format_gives_the_same_pairs(tmp_path, data):
    split = write(data, tmp_path, NASTY)
    corpus = read(data, tmp_path, train=split, dev=split, dev_size=0, test_size=0)
    expected = [(clean(src, True), clean(tgt, True)) for src, tgt in NASTY]
    assert rows(corpus.train) == expected
    assert rows(corpus.dev) == expected
    assert list(corpus.train["index"]) == list(range(len(NASTY)))
    assert len(corpus.test) == 0


@pytest.mark.parametrize("data", ["text", "tsv", "jsonl", "csv"])
@pytest.mark.parametrize("variant", ["crlf", "gzip", "bom", "no last newline"])
def test_variants_of_a_file_give_the_same_pairs(tmp_path, data, variant):
    pairs = make_pairs(40)
    split = write(data, tmp_path, pairs)
    for name in (split.src, split.tgt, split.files):
        if name is not None:
            blob = (tmp_path / name).read_bytes().replace(b"\r\n", b"\n")
            change = {
                "crlf": blob.replace(b"\n", b"\r\n"),
                "gzip": gzip.compress(blob),
                "bom": b"\xef\xbb\xbf" + blob,
                "no last newline": blob.removesuffix(b"\n"),
            }
            (tmp_path / name).write_bytes(change[variant])
    assert rows(read(data, tmp_path, train=split, dev_size=0, test_size=0).train) == pairs


def test_a_table_on_the_hub_is_read_by_its_column_paths(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    pairs = make_pairs(50)
    column = [{"en": src, "de": tgt} for src, tgt in pairs]
    pq.write_table(pa.table({"translation": column}), folder / "train.parquet")
    options = {"src_column": "translation.en", "tgt_column": "translation.de", "dev_size": 0, "test_size": 0}
    corpus = read("hub", tmp_path, hub=str(folder), **options)
    assert rows(corpus.train) == pairs
    same = read("parquet", tmp_path, train=SplitConfig(None, None, "set/*.parquet"), **options)
    assert rows(same.train) == pairs
    (tmp_path / "nested.jsonl").write_text("\n".join(json.dumps({"translation": row}) for row in column))
    nested = read("jsonl", tmp_path, train=SplitConfig(None, None, "nested.jsonl"), **options)
    assert rows(nested.train) == pairs


def test_a_hub_dataset_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match=r"data\.hub=no-such-owner/no-such-set") as error:
        read("hub", tmp_path, hub="no-such-owner/no-such-set", src_column="a", tgt_column="b")
    assert "network" in message(error)
    with pytest.raises(ConfigError, match=r"data\.hub is null"):
        read("hub", tmp_path, src_column="a", tgt_column="b")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]).filter(lambda c: c != "\n")), max_size=20))
def test_lines_are_split_on_newlines_alone(lines):
    content = "".join(line + "\n" for line in lines).encode()
    expected = [line.removesuffix("\r") for line in lines]
    if expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert list(decode_lines(io.BytesIO(content), "f")) == expected


def test_a_file_of_a_byte_order_mark_alone_is_empty(tmp_path):
    for content, lines in ((b"", []), (b"\xef\xbb\xbf", []), (b"\xef\xbb\xbf\n", [""]), (b"\xef\xbb\xbf\r\n", [""]),
                           (b"\n\xef\xbb\xbf", ["", "\ufeff"]), (b"\xef\xbb\xbf\xef\xbb\xbf", ["\ufeff"])):  # fmt: skip
        (tmp_path / "f").write_bytes(content)
        assert list(read_lines(tmp_path / "f")) == lines


@given(st.text(st.characters()))
def test_cleaning_is_idempotent_and_leaves_one_line(text):
    for nfc in (False, True):
        once = clean(text, nfc)
        assert clean(once, nfc) == once
        assert len(once.splitlines()) <= 1
        assert "\t" not in once
        once.encode()
    assert unicodedata.is_normalized("NFC", clean(text, True))


def test_globs_are_sorted_and_files_follow_one_another(tmp_path):
    pairs = make_pairs(60)
    for part in (2, 0, 1):
        chosen = pairs[part * 20 : part * 20 + 20]
        (tmp_path / f"p{part}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in chosen))
        (tmp_path / f"p{part}.en").write_text("".join(f"{s}\n" for s, _ in chosen))
        (tmp_path / f"p{part}.de").write_text("".join(f"{t}\n" for _, t in chosen))
    none = {"dev_size": 0, "test_size": 0}
    assert rows(read("tsv", tmp_path, train=SplitConfig(None, None, "p*.tsv"), **none).train) == pairs
    backwards = read("tsv", tmp_path, train=SplitConfig(None, None, ["p2.tsv", "p[01].tsv"]), **none)
    assert rows(backwards.train) == pairs[40:] + pairs[:40]
    assert rows(read("text", tmp_path, train=SplitConfig("p*.en", "p*.de", None), **none).train) == pairs


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path):
    (tmp_path / "a[1] é=,.tsv").write_text("x\ty\n")
    split = SplitConfig(None, None, "a[1] é=,.tsv")
    assert rows(read("tsv", tmp_path, train=split).train) == [("x", "y")]


def test_paths_start_from_the_root(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("x", "~/data") == tmp_path / "data" / "x"
    assert resolve("~/x", "/elsewhere") == tmp_path / "x"
    assert resolve("/x", "/elsewhere") == Path("/x")
    assert resolve("x", None) == Path("x")
    with pytest.raises(ConfigError, match="bundled:demo_xx"):
        resolve("x", "bundled:demo_xx")


def test_bundled_data_is_found_beside_the_package_and_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr("nmt.data.paths.__file__", str(tmp_path / "nmt" / "data" / "paths.py"))
    (tmp_path / "data" / "demo_a").mkdir(parents=True)
    assert resolve("x", "bundled:demo_a") == tmp_path / "data" / "demo_a" / "x"
    (tmp_path / "nmt" / "corpora" / "demo_a").mkdir(parents=True)
    assert resolve("x", "bundled:demo_a") == tmp_path / "nmt" / "corpora" / "demo_a" / "x"
    with pytest.raises(ConfigError, match="demo_a"):
        resolve("x", "bundled:demo_b")


# Filters


def test_filters_drop_what_they_say_and_count_it(tmp_path):
    pairs = [("a", "b"), ("", "b"), ("a", " \u200b"), ("same", "same"), ("a", "b"), ("a", "c"), ("a", "b")]
    off = {"empty": False, "identical": False, "duplicates": False, "dev_size": 0, "test_size": 0}
    expected = {
        "empty": ([0, 3, 4, 5, 6], "2 empty"),
        "identical": ([0, 1, 2, 4, 5, 6], "1 identical"),
        "duplicates": ([0, 1, 2, 3, 5], "2 duplicates"),
    }
    assert len(read_corpus(text_data(tmp_path, pairs, **off), tmp_path).train) == len(pairs)
    for name, (left, count) in expected.items():
        corpus = read_corpus(text_data(tmp_path, pairs, **(off | {name: True})), tmp_path)
        assert list(corpus.train["index"]) == left
        assert count in corpus.report[0]
        assert "7 pairs read" in corpus.report[0]


def test_dev_and_test_are_never_filtered(tmp_path):
    pairs = [("a", "a"), ("", ""), ("a", "a"), ("b", "c")]
    split = write("text", tmp_path, pairs)
    options = {"identical": True, "duplicates": True}
    data = text_data(tmp_path, [("x", "y")], dev=split, test=split, **options)
    corpus = read_corpus(data, tmp_path)
    assert rows(corpus.dev) == rows(corpus.test) == pairs


def test_a_corpus_emptied_by_filters_shows_the_counts(tmp_path):
    with pytest.raises(DataError, match="no training pair is left") as error:
        read_corpus(text_data(tmp_path, [("", "a"), ("b", "b")], identical=True), tmp_path)
    assert "2 pairs read" in message(error)
    assert "1 empty" in message(error)
    assert "1 identical" in message(error)


# Cutting off dev and test


@pytest.mark.parametrize("given_split", [None, "dev", "test"])
def test_cut_off_splits_share_no_source_and_lose_no_pair(tmp_path, given_split):
    pairs = make_pairs(300)
    pairs += [(src, tgt + "x") for src, tgt in pairs[:100]]
    changes = {} if given_split is None else {given_split: write("text", tmp_path, make_pairs(5, seed=9))}
    corpus = read_corpus(text_data(tmp_path, pairs, dev_size=25, test_size=10_000, **changes), tmp_path)
    cut = [name for name in ("train", "dev", "test") if name != given_split]
    sources = [set(getattr(corpus, name)["src"]) for name in cut]
    assert sum(map(len, sources)) == len(set.union(*sources)) == 300
    found = {
        i: pair
        for name in cut
        for i, pair in zip(getattr(corpus, name)["index"], rows(getattr(corpus, name)), strict=True)
    }
    assert found == dict(enumerate(pairs))
    if given_split != "dev":
        assert len(corpus.dev) == 25
    if given_split != "test":
        assert len(corpus.test) == 40  # at most a tenth
    for name in cut[1:]:
        assert any(line.startswith(f"{name}:") and "cut off" in line for line in corpus.report)


def test_the_choice_does_not_depend_on_the_order(tmp_path):
    pairs = make_pairs(200)
    one = read_corpus(text_data(tmp_path, pairs, dev_size=15, test_size=15), tmp_path / "c")
    two = read_corpus(text_data(tmp_path, pairs[::-1], dev_size=15, test_size=15), tmp_path / "c")
    assert set(rows(one.dev)) == set(rows(two.dev))
    assert set(rows(one.test)) == set(rows(two.test))


def test_a_corpus_too_small_to_cut_has_empty_splits_and_says_so(tmp_path):
    corpus = read_corpus(text_data(tmp_path, make_pairs(9), test_size=0), tmp_path)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (9, 0, 0)
    assert any("dev: none" in line and "too small" in line for line in corpus.report)
    assert any("test: none" in line and "test_size=0" in line for line in corpus.report)


def test_sources_shared_with_training_are_counted(tmp_path):
    pairs = make_pairs(20)
    split = write("text", tmp_path, [*pairs[:3], ("new", "neu")])
    corpus = read_corpus(text_data(tmp_path, pairs, dev=split, test_size=0), tmp_path)
    assert any(line.startswith("dev: 4 pairs read, 3 ") for line in corpus.report)


# The cache


def test_the_cache_is_used_until_content_or_settings_change(tmp_path):
    data = text_data(tmp_path, make_pairs(30))
    first = read_corpus(data, tmp_path / "c")
    made = set((tmp_path / "c").iterdir())
    os.utime(tmp_path / "train.src")
    assert read_corpus(data, tmp_path / "c").fingerprint == first.fingerprint
    assert set((tmp_path / "c").iterdir()) == made
    assert len(corpora(tmp_path / "c")) == 1
    assert all(Path(file["filename"]).is_relative_to(tmp_path / "c") for file in first.train.cache_files)
    moved = tmp_path / "moved"
    moved.mkdir()
    assert read_corpus(text_data(moved, make_pairs(30)), tmp_path / "c").fingerprint == first.fingerprint
    changed = text_data(tmp_path, [*make_pairs(29), ("new", "neu")])
    assert read_corpus(changed, tmp_path / "c").fingerprint != first.fingerprint
    other = text_data(tmp_path, make_pairs(30), duplicates=True)
    assert read_corpus(other, tmp_path / "c").fingerprint != first.fingerprint


def test_nothing_half_written_stays_after_an_error(tmp_path):
    data = text_data(tmp_path, make_pairs(30))
    (tmp_path / "train.tgt").write_text("one line\n")
    with pytest.raises(DataError):
        read_corpus(data, tmp_path / "c")
    assert list((tmp_path / "c").iterdir()) == []


def test_runs_at_the_same_time_give_the_same_result(tmp_path):
    data = text_data(tmp_path, make_pairs(200))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(rows(read_corpus(data, tmp_path / "c").train))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(other == found[0] for other in found)
    assert len(corpora(tmp_path / "c")) == 1


def test_a_damaged_cache_and_one_that_cannot_be_written_are_named(tmp_path):
    data = text_data(tmp_path, make_pairs(30))
    read_corpus(data, tmp_path / "c")
    for path in (tmp_path / "c").glob("*/train.arrow"):
        path.write_bytes(b"junk")
    with pytest.raises(DataError, match="delete the folder") as error:
        _ = read_corpus(data, tmp_path / "c").train
    with pytest.raises(DataError, match="delete the folder"):
        list(read_batches(read_corpus(data, tmp_path / "c").path("train")))
    message(error)
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="choose another cache_dir") as refused:
        read_corpus(data, tmp_path / "file")
    message(refused)


# Bad input


def test_a_missing_file_is_named_with_its_key(tmp_path):
    data = data_config("text", root=str(tmp_path), train=SplitConfig("no.en", "no.de", None))
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'no.en'} does not exist, data.train.src")) as error:
        read_corpus(data, tmp_path)
    message(error)
    with pytest.raises(DataError, match="no file matches") as glob_error:
        read("tsv", tmp_path, train=SplitConfig(None, None, "no*.tsv"))
    message(glob_error)
    with pytest.raises(DataError, match="not a regular file") as folder_error:
        read("tsv", tmp_path, train=SplitConfig(None, None, "."))
    message(folder_error)


def test_the_remedy_for_a_missing_file_names_its_folder_or_how_to_give_one(tmp_path):
    absolute = str(tmp_path / "no.en")
    for name, root, remedy in (
        ("no.en", str(tmp_path), f"check the path and data.root={tmp_path}"),
        ("no.en", None, "check the path, or give the folder that it is in: data.root=FOLDER"),
        ("no*.en", None, "check the pattern, or give the folder that it is in: data.root=FOLDER"),
        (absolute, None, "check the path"),
    ):
        with pytest.raises(DataError, match=re.escape(f"data.train.src; {remedy}") + "$") as error:
            find_files(name, root, "data.train.src")
        message(error)


@pytest.mark.parametrize(("short", "long"), [(3, 5), (0, 1)])
def test_unequal_line_counts_are_both_shown(tmp_path, short, long):
    for one, two in ((short, long), (long, short)):
        (tmp_path / "s").write_text("a\n" * one)
        (tmp_path / "t").write_text("a\n" * two)
        with pytest.raises(DataError, match=rf"s has {one} lines? but .*t has {two};") as error:
            read("text", tmp_path, train=SplitConfig("s", "t", None))
        message(error)


def test_unequal_numbers_of_files_are_both_shown(tmp_path):
    for name in ("a.en", "b.en", "a.de"):
        (tmp_path / name).write_text("x\n")
    with pytest.raises(DataError, match=r"names 2 files but data\.train\.tgt 1;") as error:
        read("text", tmp_path, train=SplitConfig("*.en", "*.de", None))
    message(error)


@pytest.mark.parametrize("data", ["text", "tsv", "jsonl", "csv"])
def test_invalid_utf8_names_file_and_line(tmp_path, data):
    split = write(data, tmp_path, make_pairs(5))
    path = tmp_path / (split.files or split.src)
    lines = path.read_bytes().split(b"\n")
    lines[3] = "Дом\tДом,Дом".encode("cp1251")
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=re.escape(f"{path}, line 4: byte 0xc4 is not valid UTF-8")) as error:
        read(data, tmp_path, train=split)
    assert "iconv" in message(error)


def test_empty_and_damaged_files_are_refused(tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).write_text("")
    with pytest.raises(DataError, match="the train split holds no sentence pair") as error:
        read("text", tmp_path, train=SplitConfig("s", "t", None))
    message(error)
    (tmp_path / "z").write_bytes(gzip.compress(b"a\tb\n" * 1000)[:-20])
    with pytest.raises(DataError, match="damaged gzip") as gzip_error:
        read("tsv", tmp_path, train=SplitConfig(None, None, "z"))
    message(gzip_error)


@pytest.mark.parametrize(
    ("data", "content", "expected"),
    [
        ("tsv", "a\tb\na\tb\tc\n", r"line 2: 3 columns, but line 1 has 2"),
        ("tsv", "a b\n", r"line 1: 1 cell, but the target is in column 1"),
        ("tsv", "a\tb\n\na\tb\n", r"line 2: 1 column, but line 1 has 2"),
        ("csv", "src,tgt\na,b\na\n", r"line 3: 1 column, but the header has 2"),
        ("csv", 'src,tgt\na,"b\n', r"line 2: not valid CSV"),
        ("jsonl", '{"src": "a", "tgt": "b"}\n{"src": "a"\n', r"line 2: not valid JSON"),
        ("jsonl", '{"src": "a", "tgt": 3}\n', r"line 1: column 'tgt' is 3, not text"),
        ("jsonl", '{"src": "a", "tgte": "b"}\n', r"line 1: no column 'tgt'; did you mean 'tgte'"),
        ("jsonl", '["a", "b"]\n', r"item 1: the row is text, not an object"),
        ("parquet", "junk", r"not a Parquet file"),
    ],
)
def test_malformed_tables_name_file_and_line(tmp_path, data, content, expected):
    (tmp_path / "f").write_text(content)
    with pytest.raises(DataError, match=expected) as error:
        read(data, tmp_path, train=SplitConfig(None, None, "f"))
    assert str(tmp_path / "f") in message(error)


def test_parquet_columns_that_are_missing_or_no_text_are_named(tmp_path):
    pq.write_table(pa.table({"src": ["a"], "tgt": [1]}), tmp_path / "f")
    split = SplitConfig(None, None, "f")
    with pytest.raises(DataError, match=r"column 'tgt' of .* holds int64, not text") as error:
        read("parquet", tmp_path, train=split)
    message(error)
    with pytest.raises(DataError, match=r"column 'src\.en' is not in"):
        read("parquet", tmp_path, train=split, src_column="src.en")
    with pytest.raises(DataError, match=r"column 'srx' is not in .*did you mean 'src'"):
        read("parquet", tmp_path, train=split, src_column="srx")


def test_null_is_an_empty_sentence(tmp_path):
    pq.write_table(pa.table({"src": ["a", None, "c"], "tgt": ["x", "y", None]}), tmp_path / "f.parquet")
    (tmp_path / "f.jsonl").write_text('{"src":"a","tgt":"x"}\n{"src":null,"tgt":"y"}\n\n{"src":"c","tgt":null}\n')
    for data in ("parquet", "jsonl"):
        corpus = read(data, tmp_path, train=SplitConfig(None, None, f"f.{data}"))
        assert rows(corpus.train) == [("a", "x")]
        assert "2 empty" in corpus.report[0]


@pytest.mark.parametrize(
    ("data", "changes", "expected"),
    [
        ("text", {}, "the training split is not given"),
        ("text", {"train": SplitConfig("s", None, None)}, "data.train.tgt is null"),
        ("text", {"train": SplitConfig("s", "t", "f")}, "data.train.files=f is for files with both languages"),
        ("text", {"train": SplitConfig([], [], None)}, "data.train.src is an empty list"),
        ("tsv", {"train": SplitConfig("s", "t", None)}, "data.train.src=s is for files of one language"),
        ("tsv", {"train": SplitConfig(None, None, "f"), "src_column": -1, "tgt_column": 1}, "column -1 is less than 0"),
        ("jsonl", {"train": SplitConfig(None, None, "f"), "src_column": None}, "data.src_column is null"),
        ("csv", {"train": SplitConfig(None, None, "f"), "encoding": "hex"}, "data.encoding=hex is not an encoding"),
        ("text", {"train": NONE, "dev_size": -1}, "data.dev_size is -1"),
    ],
)
def test_wrong_settings_name_the_key(tmp_path, data, changes, expected):
    (tmp_path / "f").write_text("a\tb\n")
    with pytest.raises(ConfigError, match=re.escape(expected)) as error:
        read(data, tmp_path, **{"train": NONE, **changes})
    message(error)


def test_one_pair_is_one(tmp_path):
    for name in ("dev", "test"):
        for side in ("src", "tgt"):
            (tmp_path / f"{name}.{side}").write_text("a b\n")
    split = {name: SplitConfig(f"{name}.src", f"{name}.tgt", None) for name in ("dev", "test")}
    [train, dev, test, *cautions] = read_corpus(
        text_data(tmp_path, [("a b", "c d")], **split), tmp_path / "cache"
    ).report
    assert all(line.startswith("caution: 100% of the ") for line in cautions)
    assert train.startswith("train: 1 pair read")
    assert dev == "dev: 1 pair read, 1 of their sources stands in the training split too"
    assert test.startswith("test: 1 pair read")


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), max_size=20), st.integers(1, 6), st.integers(1, 9))
def test_blocks_hold_every_pair_in_order_within_their_limits(
    pairs: list[tuple[str, str]], most: int, most_characters: int
) -> None:
    found = list(blocks(pairs, most, most_characters))
    assert [pair for block in found for pair in zip(*block, strict=True)] == pairs
    for sources, targets in found:
        assert 1 <= len(sources) <= most
        assert sum(map(len, [*sources[:-1], *targets[:-1]])) < most_characters


def test_a_dev_split_needs_text_on_both_sides_and_a_test_split_may_be_blind(tmp_path: Path) -> None:
    pairs = make_pairs(30)
    for name, lines in (("s", [src for src, _ in pairs]), ("t", [""] * 30)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(DataError) as error:
        read_corpus(text_data(tmp_path, pairs, dev=SplitConfig("s", "t", None)), tmp_path / "cache")
    text = message(error)
    assert text == "the dev split has no text on its target side in any of 30 pairs, data.dev; check its files"
    report = read_corpus(text_data(tmp_path, pairs, test=SplitConfig("s", "t", None)), tmp_path / "cache").report
    assert "caution: test: 30 of 30 targets are empty" in report


def test_empty_dev_targets_are_counted(tmp_path: Path) -> None:
    pairs = make_pairs(30)
    for name, lines in (("s", [src for src, _ in pairs]), ("t", ["", " ", *[tgt for _, tgt in pairs[2:]]])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    report = read_corpus(text_data(tmp_path, pairs, dev=SplitConfig("s", "t", None)), tmp_path / "cache").report
    assert "caution: dev: 2 of 30 targets are empty" in report


@pytest.mark.parametrize(("side", "name"), [(0, "sources"), (1, "targets")])
@pytest.mark.parametrize("empty", [10, 11])
def test_many_empty_training_lines_are_counted_by_side(tmp_path: Path, side: int, name: str, empty: int) -> None:
    pairs = [
        (pair[0] if side or n >= empty else "", pair[1] if not side or n >= empty else " ")
        for n, pair in enumerate(make_pairs(100))
    ]
    report = read_corpus(text_data(tmp_path, pairs), tmp_path / "cache").report
    cautions = [line for line in report if "empty" in line and line.startswith("caution")]
    assert cautions == ([] if empty == 10 else [f"caution: train: {empty} of 100 {name} are empty"])


def test_a_corpus_of_one_source_is_not_called_small(tmp_path: Path) -> None:
    pairs = [("one and the same source", f"target {number}") for number in range(100)]
    report = read_corpus(text_data(tmp_path, pairs), tmp_path / "cache").report
    assert (
        "dev: none (data.dev is not given, the training split is of too few different sources to cut it off)" in report
    )
    report = read_corpus(text_data(tmp_path, pairs[:5]), tmp_path / "cache").report
    assert "dev: none (data.dev is not given, the training split is too small to cut it off)" in report


def test_different_pairs_are_counted_by_their_hashes(tmp_path):
    pairs = make_pairs(30)
    rows = [*pairs, *pairs[:7], (pairs[0][0], "another target")]
    path = tmp_path / "seen.bin"
    path.write_bytes(hashes(*zip(*rows, strict=True)).tobytes())
    assert different_pairs(path) == len(set(rows))
    path.write_bytes(b"")
    assert different_pairs(path) == 0
