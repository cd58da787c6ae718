"""The report says which of several files is read with which; wrong pairs are refused or get a caution."""

import pytest
from helpers.small_corpora import data_config, make_pairs
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.pairing import described_pairs, natural_order
from nmt.errors import DataError

PAIRS = make_pairs(200)


def read(folder, src, tgt, names=()):
    """The corpus of these files, ten pairs of sentences in each pair of names."""
    for number, (one, two) in enumerate(names):
        chosen = PAIRS[number * 10 : number * 10 + 10]
        for name, lines in zip((one, two), zip(*chosen, strict=True), strict=True):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("".join(f"{line}\n" for line in lines))
    data = data_config("text", root=str(folder), train=SplitConfig(src, tgt, None), dev_size=0, test_size=0)
    return read_corpus(data, folder / "cache")


def test_globs_sort_numbers_by_their_size_on_both_sides(tmp_path):
    names = [(f"part.{number}.en", f"part.{number}.de") for number in (1, 2, 10, 11)]
    corpus = read(tmp_path, "part.*.en", "part.*.de", names)
    assert list(zip(corpus.train["src"], corpus.train["tgt"], strict=True)) == PAIRS[:40]
    assert corpus.report[:4] == [f"train: {src} is read with {tgt}" for src, tgt in names]
    again = read(tmp_path, "part.*.en", "part.*.de")  # from the cache
    assert again.report == corpus.report
    listed = read(tmp_path, [src for src, _ in names], "part.*.de")
    assert listed.report == corpus.report


@given(st.lists(st.integers(0, 10**6)))
def test_the_order_of_names_is_that_of_their_numbers(numbers):
    names = sorted((f"part-{number}.txt" for number in numbers), key=natural_order)
    assert names == [f"part-{number}.txt" for number in sorted(numbers)]
    assert sorted(["1a2", "1٣2"], key=natural_order) == ["1a2", "1٣2"]


def test_numbers_that_disagree_are_refused_with_both_names(tmp_path):
    names = [(f"part.{number}.en", f"part.{number}.de") for number in (1, 2, 10)]
    with pytest.raises(DataError) as error:
        read(tmp_path, ["part.1.en", "part.10.en", "part.2.en"], "part.*.de", names)
    assert str(error.value) == (
        f"{tmp_path}/part.10.en would be read with {tmp_path}/part.2.de, data.train.src, .tgt: the numbers in their "
        "names differ; give both sides as lists in the same order, or give the files of a pair the same name but for "
        "the language"
    )
    in_folders = [(f"{number}/train.en", f"{number}/train.de") for number in (1, 2)]
    with pytest.raises(DataError, match=r"1/train\.en would be read with .*2/train\.de"):
        read(tmp_path, ["1/train.en", "2/train.en"], ["2/train.de", "1/train.de"], in_folders)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([("news.en", "news.de"), ("wiki.en.gz.txt", "wiki.de")], None),
        ([("en/1.txt", "de/1.txt"), ("en/2.txt", "de/2.txt")], None),
        ([("english_01.txt", "german_1.txt"), ("english_02.txt", "german_2.txt")], None),
        ([("a.en-GB", "a.de"), ("b.en", "b.de")], None),
        ([("x.bz2", "y.bz2"), ("x2", "y2")], None),
        ([("news.en", "wiki.de"), ("wiki.en", "news.de")], "news.en is read with wiki.de, but as do"),
        ([("a.en", "a.de"), ("news.en", "wiki.de")], "news.en is read with wiki.de, but"),
    ],
)  # fmt: skip
def test_names_that_differ_in_more_than_the_language_get_a_caution(tmp_path, names, said):
    corpus = read(tmp_path, [src for src, _ in names], [tgt for _, tgt in names], names)
    cautions = [line for line in corpus.report if line.startswith("caution: train: ")]
    assert len(cautions) == (said is not None)
    if said is not None:
        assert said.split(", but")[0] in cautions[0]
        assert ("as do those of 1 other pair;" in cautions[0]) == ("as do" in said)


def test_ten_pairs_are_named_and_the_others_counted(tmp_path):
    names = [(f"{number}.en", f"{number}.de") for number in range(13)]
    corpus = read(tmp_path, "*.en", "*.de", names)
    assert corpus.report[9:12] == [
        "train: 9.en is read with 9.de",
        "train: and 3 more pairs of files",
        "train: 130 pairs read, dropped: 0 empty",
    ]


def test_two_files_that_a_glob_finds_get_the_caution_too(tmp_path):
    for names, doubtful in ((("news.en", "talks.de"), True), (("news.en", "news.de"), False)):
        src, tgt = (tmp_path / name for name in names)
        said = " ".join(described_pairs([(src, tgt)], "train", always=True))
        assert ("but their names differ in more than" in said) == doubtful


def test_of_two_files_nothing_is_said(tmp_path):
    assert "is read with" not in " ".join(read(tmp_path, "news.en", "wiki.de", [("news.en", "wiki.de")]).report)
