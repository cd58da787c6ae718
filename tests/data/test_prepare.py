"""Preparation: tables hold what the tokenizers say, filters count, and the second time costs nothing."""

import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.small_corpora import data_config, load_yaml, make_pairs, text_data, tokenizer_config
from helpers.small_runs import make_run

from nmt.commands.prepare import main
from nmt.config.compose import command_of
from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.prepare import prepare
from nmt.data.tokenizer import Tokenizer
from nmt.errors import ConfigError, DataError

TOKENS = tokenizer_config("unigram", vocab_size=440)


@pytest.mark.parametrize("joint", [True, False])
def test_the_tables_hold_what_the_tokenizers_say(tmp_path, joint):
    pairs = make_pairs(400)
    prepared = prepare(text_data(tmp_path, pairs), replace(TOKENS, joint=joint), tmp_path / "c")
    assert (prepared.tokenizers.src is prepared.tokenizers.tgt) == joint
    for table, count in ((prepared.train, 320), (prepared.dev, 40), (prepared.test, 40)):
        assert table.column_names == ["src", "tgt", "src_ids", "tgt_ids", "index"]
        assert table.data.schema.field("src_ids").type == pa.list_(pa.int32())
        assert len(table) == count
        assert [pairs[i] for i in table["index"]] == list(zip(table["src"], table["tgt"], strict=True))
        assert table["src_ids"][:] == prepared.tokenizers.src.encode_batch(table["src"][:])
        assert table["tgt_ids"][:] == prepared.tokenizers.tgt.encode_batch(table["tgt"][:])
        assert Path(table.cache_files[0]["filename"]).is_relative_to(tmp_path / "c")


def test_the_tokenizer_sees_the_training_split_alone(tmp_path):
    for side in ("src", "tgt"):
        (tmp_path / f"dev.{side}").write_text(f"ζζζ {side}\n" * 50)
    dev = SplitConfig("dev.src", "dev.tgt", None)
    pairs = make_pairs(400)
    one = prepare(text_data(tmp_path, pairs, dev=dev, test=dev), TOKENS, tmp_path / "c")
    pieces = one.tokenizers.src.pieces(range(one.tokenizers.src.vocab_size))
    assert not any("ζ" in piece for piece in pieces)


def test_the_second_time_does_no_work(tmp_path):
    data = text_data(tmp_path, make_pairs(3000))
    first = prepare(data, TOKENS, tmp_path / "c")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("*")}
    start = time.perf_counter()
    second = prepare(data, TOKENS, tmp_path / "c")
    assert time.perf_counter() - start < 0.5
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("*")} == stamps
    assert second.fingerprint == first.fingerprint
    assert second.report == first.report
    assert second.tokenizers.src.bytes == first.tokenizers.src.bytes
    assert second.train[:] == first.train[:]


def test_what_shapes_the_tables_changes_the_fingerprint(tmp_path):
    pairs = make_pairs(400)
    data = text_data(tmp_path, pairs)
    prints = {
        prepare(data, TOKENS, tmp_path / "c").fingerprint,
        prepare(data, replace(TOKENS, vocab_size=430), tmp_path / "c").fingerprint,
        prepare(text_data(tmp_path, pairs, max_tokens=100), TOKENS, tmp_path / "c").fingerprint,
        prepare(text_data(tmp_path, pairs, dev_size=3), TOKENS, tmp_path / "c").fingerprint,
    }
    changed = prepare(text_data(tmp_path, [*pairs, ("new words", "neu")]), TOKENS, tmp_path / "c")
    assert len(prints | {changed.fingerprint}) == 5
    assert "new words" in changed.train["src"][:] + changed.dev["src"][:] + changed.test["src"][:]
    text_data(tmp_path, pairs)
    models = len(list((tmp_path / "c").glob("tokenizer-*")))
    same = replace(TOKENS, sampling_alpha=0.1)
    assert prepare(data, same, tmp_path / "c").fingerprint in prints
    assert len(list((tmp_path / "c").glob("tokenizer-*"))) == models


def test_filters_in_pieces_drop_what_they_say_and_count_it(tmp_path):
    pairs = [*make_pairs(300), ("a " * 300, "b"), ("b", "a " * 301), ("abcd " * 20, "a")]
    off = text_data(tmp_path, pairs, dev_size=0, test_size=0, max_tokens=None)
    every = prepare(off, TOKENS, tmp_path / "c").train
    lengths = [(len(src), len(tgt)) for src, tgt in zip(every["src_ids"], every["tgt_ids"], strict=True)]
    assert len(every) == len(pairs)
    on = text_data(tmp_path, pairs, dev_size=0, test_size=0, max_tokens=250, max_ratio=5.0)
    prepared = prepare(on, TOKENS, tmp_path / "c")
    short = {i for i, pair in enumerate(lengths) if max(pair) <= 250}
    even = {i for i in short if max(lengths[i]) <= 5 * max(min(lengths[i]), 1)}
    assert set(prepared.train["index"]) == even
    assert len(short) == len(pairs) - 2
    line = next(line for line in prepared.report if "encoded" in line)
    assert f"2 max_tokens, {len(short) - len(even)} max_ratio" in line


def test_dev_and_test_are_never_filtered(tmp_path):
    (tmp_path / "s").write_text("a " * 300 + "\n\nab\n")
    (tmp_path / "t").write_text("b\n\n\n")
    split = SplitConfig("s", "t", None)
    data = text_data(tmp_path, make_pairs(400), dev=split, test=split, max_tokens=60, max_ratio=2.0)
    prepared = prepare(data, TOKENS, tmp_path / "c")
    for table in (prepared.dev, prepared.test):
        assert len(table) == 3
        assert table[1]["src_ids"] == table[1]["tgt_ids"] == []
        assert table[2]["tgt"] == ""


def test_given_tokenizers_are_used(tmp_path):
    old = prepare(text_data(tmp_path, make_pairs(400)), TOKENS, tmp_path / "c")
    data = text_data(tmp_path, make_pairs(100, seed=2), dev_size=0)
    new = prepare(data, replace(TOKENS, vocab_size=100_000), tmp_path / "c", given=old.tokenizers)
    assert new.tokenizers is old.tokenizers
    assert new.train["src_ids"][:] == old.tokenizers.src.encode_batch(new.train["src"][:])
    assert len(list((tmp_path / "c").glob("tokenizer-*"))) == 1
    assert len(new.dev) == 0


def test_a_training_split_emptied_by_length_shows_the_counts(tmp_path):
    data = text_data(tmp_path, make_pairs(400), max_tokens=1)
    with pytest.raises(DataError, match=r"no training pair is left: .*320 max_tokens.*max_tokens") as error:
        prepare(data, TOKENS, tmp_path / "c")
    encoded = prepare(replace(data, filters=replace(data.filters, max_tokens=None)), TOKENS, tmp_path / "d").train
    least = min(max(map(len, pair)) for pair in zip(encoded["src_ids"], encoded["tgt_ids"], strict=True))
    shortest = f"the pairs that it drops have {least} pieces or more on a side"
    assert str(error.value).endswith(f"; raise data.filters.max_tokens=1 ({shortest}), or set it to null")
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "c").glob("encoded-*"))


def test_a_training_split_emptied_by_both_limits_names_both(tmp_path):
    long = [(f"{src} {src}", f"{tgt} {tgt}") for src, tgt in make_pairs(200)]
    uneven = [(f"a{number % 7}", "b c d") for number in range(200)]
    data = text_data(tmp_path, [*long, *uneven], max_tokens=None, max_ratio=None, dev_size=0, test_size=0)
    encoded = prepare(data, TOKENS, tmp_path / "d").train
    longer = [max(map(len, pair)) for pair in zip(encoded["src_ids"], encoded["tgt_ids"], strict=True)]
    assert max(longer[200:]) < min(longer[:200])
    limits = replace(data.filters, max_tokens=max(longer[200:]), max_ratio=1.0)
    with pytest.raises(DataError) as error:
        prepare(replace(data, filters=limits), TOKENS, tmp_path / "c")
    shortest = f"the pairs that it drops have {min(longer[:200])} pieces or more on a side"
    assert str(error.value).endswith(
        f"; raise data.filters.max_tokens={max(longer[200:])} ({shortest}) and data.filters.max_ratio=1.0, or set them "
        "to null"
    )


def test_wrong_tokenizer_values_are_refused_before_any_work(tmp_path):
    data = text_data(tmp_path, make_pairs(40))
    with pytest.raises(ConfigError, match="sampling_alpha"):
        prepare(data, tokenizer_config("char", sampling_alpha=0.1), tmp_path / "c")
    assert not (tmp_path / "c").exists()
    with pytest.raises(ConfigError, match=r"vocab_size=\d+ is too large"):
        prepare(data, tokenizer_config("unigram"), tmp_path / "c")
    assert not list((tmp_path / "c").glob("tokenizer-*"))


@pytest.mark.parametrize("name", ["unigram", "bpe", "char", "word"])
def test_every_tokenizer_prepares_any_text(tmp_path, name):
    pairs = [*make_pairs(600), ("</s> <pad> ▁ 你好", "日本 <unk>"), ("x" * 100_000, "y z " * 30_000)]
    data = text_data(tmp_path, pairs, dev_size=0, test_size=0, max_tokens=None)
    prepared = prepare(data, tokenizer_config(name, vocab_size=450), tmp_path / "c")
    assert isinstance(prepared.tokenizers.src, Tokenizer)
    for row in prepared.train:
        assert prepared.tokenizers.src.decode(row["src_ids"]) == row["src"]
        assert prepared.tokenizers.tgt.decode(row["tgt_ids"]) == row["tgt"]
    assert any("longer than" in line for line in prepared.report)


@pytest.mark.parametrize(
    "name",
    [
        *"text tsv jsonl csv parquet hub xlsx tmx xliff po qt tbx multiterm glossary strings subtitles".split(),
        "demo_en_de",
        "demo_en_zh",
    ],
)
def test_every_data_file_has_every_field(name):
    assert load_yaml("data", name).keys() == load_yaml("data", "text").keys()


def test_the_command_fills_the_cache_and_prints_the_report(tmp_path, capsys):
    data = text_data(tmp_path, make_pairs(400))
    command = command_of("prepare", ["recipe=null"])
    run = replace(command.run, data=data, tokenizer=TOKENS, cache_dir=str(tmp_path / "c"))
    assert main(replace(command, run=run)) == 0
    printed = capsys.readouterr().out
    assert all(line in printed for line in prepare(data, TOKENS, tmp_path / "c").report)
    assert str(tmp_path / "c") in printed


@pytest.mark.slow
def test_a_model_that_is_trained_further_keeps_its_tokenizers(tmp_path, capsys):
    text_data(tmp_path, make_pairs(400))
    run = make_run(tmp_path / "first")
    files = [f"data.train.src={tmp_path}/train.src", f"data.train.tgt={tmp_path}/train.tgt"]
    assert main(command_of("prepare", [*files, f"init_from={run}", f"cache_dir={tmp_path}/c"])) == 0
    assert "tokenizer: that of the model\n" in capsys.readouterr().out
    assert not list((tmp_path / "c").glob("tokenizer-*"))
    with pytest.raises(ConfigError, match="keeps its tokenizer; leave it out"):
        main(command_of("prepare", [*files, f"init_from={run}", "tokenizer.vocab_size=999"]))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library")
def test_what_preparing_needed_goes_back_to_the_system(tmp_path):
    script = f"""
import ctypes
import resource
from pathlib import Path
from nmt.data.cache import cached

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

def build(folder):
    large = []
    for _ in range(50):
        large.append(b"x" * 10_000_000)
        small.append(b"y" * 1000)

small = []  # stays, between what is freed
for option, value in ((-4, 0), (-1, -1)):  # mallopt(3): all from a heap, which never shrinks
    ctypes.CDLL(None).mallopt(option, value)
before = resident()
cached(Path({str(tmp_path)!r}), "kind", "key", build)
print(resident() - before)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 50_000_000  # of 500 MB


def weighted(folder, weights, src=("a.src", "b.src"), tgt=("a.tgt", "b.tgt"), **changes):
    pairs = make_pairs(300)
    for name, chosen in (("a", pairs[:60]), ("b", pairs[60:])):
        for side, suffix in enumerate(("src", "tgt")):
            (folder / f"{name}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in chosen))
    train = SplitConfig(list(src), list(tgt), None, weights)
    return pairs, replace(data_config("text", root=str(folder), dev_size=20, test_size=0), train=train, **changes)


def test_weights_tell_the_parts_of_a_corpus_apart(tmp_path):
    pairs, data = weighted(tmp_path, [3.0, 1.0])
    prepared = prepare(data, TOKENS, tmp_path / "c")
    first = sum(index < 60 for index in prepared.train["index"])
    assert prepared.mix.sizes == [first, len(prepared.train) - first]
    assert 0 < first < 60  # dev is cut off both
    assert prepared.mix.counts == [first, round(first / 3)]
    assert [pairs[i] for i in prepared.train["index"]] == list(
        zip(prepared.train["src"], prepared.train["tgt"], strict=True)
    )
    assert prepared.report[-1] == f"train: {prepared.mix}"
    other = prepare(replace(data, train=replace(data.train, weights=[1.0, 1.0])), TOKENS, tmp_path / "c")
    assert other.fingerprint == prepared.fingerprint  # the tables are the same
    assert other.mix.counts == [first, first]


def test_files_that_move_to_another_part_make_another_corpus(tmp_path):
    for number, name in enumerate("abc", 1):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{name}{n}\t{name.upper()}{n}\n" for n in range(10 * number)))
    data = replace(data_config("tsv", root=str(tmp_path), dev_size=0, test_size=0))
    sizes = []
    for files in (["[ab].tsv", "c.tsv"], ["a.tsv", "[bc].tsv"]):
        train = SplitConfig(None, None, files, [1.0, 1.0])
        sizes.append(read_corpus(replace(data, train=train), tmp_path / "c").mixed)
    assert sizes == [[30, 30], [10, 50]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weights": [1.0]}, r"weights=\[1.0\] has 1 weight, data.train.src names 2; give lists with one weight"),
        ({"weights": [1.0, 0.0]}, r"has a weight that is not above 0; leave its file out, too"),
        ({"weights": [1.0, float("inf")]}, r"has a weight that is not above 0"),
    ],
)
def test_weights_that_do_not_fit_are_one_error(tmp_path, changes, said):
    _, data = weighted(tmp_path, **changes)
    with pytest.raises(ConfigError, match=said):
        prepare(data, TOKENS, tmp_path / "c")


def test_weights_weigh_files_of_the_training_split(tmp_path):
    _, data = weighted(tmp_path, [1.0, 1.0])
    with pytest.raises(ConfigError, match=r"data.train.weights=\[1.0, 1.0\] weighs no files; set data.train.files"):
        prepare(replace(data, train=SplitConfig(None, None, None, [1.0, 1.0])), TOKENS, tmp_path / "c")
    with pytest.raises(ConfigError, match=r"data.dev.weights=\[1.0\] is for the training split; leave it out"):
        prepare(replace(data, dev=SplitConfig("a.src", "a.tgt", None, [1.0])), TOKENS, tmp_path / "c")
    with pytest.raises(ConfigError, match=r"weighs a list of files; set data.train.src=\[\*.src\]$"):
        prepare(replace(data, train=SplitConfig("*.src", "*.tgt", None, [1.0, 1.0])), TOKENS, tmp_path / "c")


def test_a_weighted_part_that_the_filters_empty_is_one_error(tmp_path):
    _, data = weighted(tmp_path, [1.0, 1.0])
    (tmp_path / "a.src").write_text("\n" * 60)
    with pytest.raises(DataError, match=r"part 1 of data.train.weights=\[1.0, 1.0\] has no pair that the filters leav"):
        prepare(data, TOKENS, tmp_path / "c")
    (tmp_path / "a.src").write_text("")
    (tmp_path / "a.tgt").write_text("")
    with pytest.raises(DataError, match=r"part 1 of data.train.weights=\[1.0, 1.0\] holds no sentence pair"):
        prepare(data, TOKENS, tmp_path / "c")
