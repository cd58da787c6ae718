"""Words from pieces, units of text, attention folded to them, and alignments."""

import random
from pathlib import Path
from time import process_time

import jaxtyping
import numpy as np
import pytest
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import sentences, small_tokenizer

from demo_corpus.tokens import tokenise
from nmt.data.paths import read_lines
from nmt.data.tokenizer import ESCAPE, Tokenizer
from nmt.data.train_tokenizers import train_tokenizer
from nmt.scoring.alignment import (
    Cover,
    align,
    argmax_links,
    cover,
    fold,
    pharaoh,
    source_length,
    spaceless,
    threshold_links,
    units,
    word_attention,
    words,
)

ROOT = Path(__file__).parents[2]

LATIN = "abcdefghäöüßéñ'.,"
CJK = "我们喜欢音乐你好日本語のカナ。，"


@pytest.mark.slow
def test_a_word_without_end_is_cut_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a call for every character
    assert units("x" * 1_000_000, "tokens") == ["x" * 1_000_000]
    assert units("!" * 1_000_000, "tokens") == ["!"] * 1_000_000
    assert len(units("a" + "\u0301" * 500_000 + "我" * 100_000, "words")) == 100_001


def spaced_pieces(rng: random.Random, n_words: int) -> tuple[list[str], list[str]]:
    """Random words and random pieces of them, some as bytes."""
    texts = ["".join(rng.choices(LATIN, k=rng.randint(1, 8))) for _ in range(n_words)]
    pieces: list[str] = []
    for text in texts:
        rest = "▁" + text
        while rest:
            size = rng.randint(1, len(rest))
            if size == 1 and rest[0] not in "▁" and rng.random() < 0.5:
                pieces += [f"<0x{byte:02X}>" for byte in rest[0].encode()]
            else:
                pieces.append(rest[:size])
            rest = rest[size:]
    return texts, pieces


@pytest.mark.parametrize("seed", range(50))
def test_words_of_spaced_text_are_the_words_between_spaces(seed: int) -> None:
    rng = random.Random(seed)
    texts, pieces = spaced_pieces(rng, rng.randint(1, 12))
    weights = np.zeros((0, len(pieces)))
    assert word_attention(weights, pieces, [])[1] == texts
    assert source_length(" ".join(texts)) == len(texts)


@pytest.mark.parametrize("seed", range(50))
def test_words_cover_all_pieces_in_order_and_none_is_invisible(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = [*LATIN, *CJK, "▁", "▁a", "▁我", "<0xE6>", "<0x88>", "<0x91>", "\u0301", "喜欢"]
    pieces = rng.choices(alphabet, k=rng.randint(0, 20))
    found = words(pieces)
    assert [number for word in found for number in word] == list(range(len(pieces)))
    if len(found) > 1:
        assert all("".join(pieces[number] for number in word).strip("▁") for word in found)


def test_pieces_without_spaces_are_words_and_byte_characters_too() -> None:
    dragon = [f"<0x{byte:02X}>" for byte in "龘".encode()]
    pieces = ["▁", "我们", *dragon, *dragon, "喜欢", "PyTorch", "2.0", "。"]
    _, src_words, _ = word_attention(np.zeros((0, len(pieces))), pieces, [])
    assert src_words == ["我们", "龘", "龘", "喜欢", "PyTorch2.0", "。"]


def test_a_character_in_bytes_stays_in_its_latin_word() -> None:
    pieces = ["▁na", "<0xC3>", "<0xAF>", "ve", "▁idea"]
    assert words(pieces) == [range(0, 4), range(4, 5)]


def test_broken_bytes_do_not_stop_it() -> None:
    assert words(["<0xE6>", "a", "<0x88>", "<0xFF>", "<0xZZ>"]) == [range(0, 5)]


def test_source_length_counts_characters_where_there_are_no_spaces() -> None:
    assert source_length("  two  words ") == 2
    assert source_length("我们喜欢 PyTorch 音乐") == 7
    assert source_length("") == 0
    assert spaceless("語")
    assert not spaceless("é")


@pytest.mark.parametrize("seed", range(10))
def test_word_attention_sums_over_source_and_averages_over_target(seed: int) -> None:
    rng = random.Random(seed)
    src_texts, src = spaced_pieces(rng, 6)
    tgt_texts, tgt = spaced_pieces(rng, 4)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(src)), size=len(tgt))
    got, src_words, tgt_words = word_attention(weights, src, tgt)
    assert (src_words, tgt_words) == (src_texts, tgt_texts)
    assert got.shape == (4, 6)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)
    sums = np.stack([weights[: len(tgt), w.start : w.stop].sum(axis=1) for w in words(src)], axis=1)
    expected = np.stack([sums[w.start : w.stop].mean(axis=0) for w in words(tgt)])
    np.testing.assert_allclose(got, expected)


def test_align_takes_the_heaviest_source_word_of_each_target_word() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=5)
    links = align(weights)
    assert [j for _, j in links] == list(range(5))
    assert all(weights[j, i] == weights[j].max() for i, j in links)
    weights[2] = 0
    assert [j for _, j in align(weights)] == [0, 1, 3, 4]
    assert align(np.zeros((3, 0))) == align(np.zeros((0, 3))) == []


def test_pharaoh_lists_the_links_in_source_order() -> None:
    assert pharaoh([(2, 0), (0, 1), (0, 10), (0, 2)]) == "0-1 0-2 0-10 2-0"
    assert pharaoh([]) == ""


def written(rng: random.Random, marks: str = "") -> str:
    """A line of random characters of every kind."""
    alphabet = [*LATIN, *CJK, *"  \u3000\t", *marks]
    return "".join(rng.choices(alphabet, k=rng.randint(0, 30)))


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    """One that spells what it does not know in bytes, one that does not, one that rewrites characters."""
    plain = {"vocab_size": 40, "byte_fallback": False}
    texts = sentences(200)
    full_width = [text.upper().replace("I", "Ｉ") for text in texts]
    return {
        "bytes": small_tokenizer(),
        "unknown": train_tokenizer(iter(texts), tokenizer_config("unigram", **plain), 1, []),
        "nfkc": train_tokenizer(iter(full_width), tokenizer_config("bpe", normalization="nmt_nfkc_cf", **plain), 1, []),
    }


@pytest.mark.parametrize("seed", range(50))
def test_units_are_the_text_cut_into_words_characters_and_marks(seed: int) -> None:
    rng = random.Random(seed)
    text = written(rng)
    for unit in ("words", "tokens"):
        assert "".join(units(text, unit)) == "".join(text.split())
        assert all(len(own) == 1 or not any(map(spaceless, own)) for own in units(text, unit))
    assert source_length(text) == len(units(text, "words"))
    latin = "".join(char for char in text if not spaceless(char))
    assert units(latin, "words") == latin.split()
    tokens = units(latin, "tokens")
    assert all(len(token) == 1 or token.strip("'.,") == token for token in tokens)
    assert units(" ".join(tokens), "tokens") == tokens


def test_units_of_known_lines() -> None:
    assert units("«Emma's, well...» (no)", "words") == ["«Emma's,", "well...»", "(no)"]
    assert units("«Emma's, well...» (no)", "tokens") == [*"«", "Emma's", ",", "well", *"...»", "(", "no", ")"]
    assert units("我们，PyTorch 2.0。", "words") == ["我", "们", "，", "PyTorch", "2.0", "。"]
    assert units("か\u3099 e\u0301a", "words") == ["か\u3099", "e\u0301a"]  # marks stay with their character


@pytest.mark.parametrize("language", ["de", "zh"])
def test_tokens_are_what_the_gold_alignments_of_the_demo_corpora_count(language: str) -> None:
    folder = ROOT / "data" / f"demo_en_{language}"
    for side in ("en", language):
        for line in read_lines(folder / f"test.{side}"):
            assert units(line, "tokens") == tokenise(line, side)


@pytest.mark.parametrize("name", ["bytes", "unknown", "nfkc"])
@pytest.mark.parametrize("seed", range(50))
def test_every_piece_stands_for_units_and_every_unit_has_pieces(
    tokenizers: dict[str, Tokenizer], name: str, seed: int
) -> None:
    rng = random.Random(seed)
    text = written(rng, f"龘🐕▁▁{ESCAPE}").strip()
    own = units(text, "words")
    pieces = tokenizers[name].pieces(tokenizers[name].encode(text))
    found = cover(pieces, own)
    assert found.shape == (len(pieces), len(own))
    if own and pieces:
        assert found.any(1).all()
        assert found.any(0).all()
        firsts, lasts = found.argmax(1), len(own) - found[:, ::-1].argmax(1)
        assert (found.sum(1) == lasts - firsts).all()  # neighbours
        assert (np.diff(firsts) >= 0).all()  # in order


@pytest.mark.parametrize("seed", range(50))
def test_words_in_spaced_text_are_units_whose_pieces_are_their_own(seed: int) -> None:
    texts, pieces = spaced_pieces(random.Random(seed), 8)
    assert units(" ".join(texts), "words") == texts
    by_pieces = [[number in word for word in words(pieces)] for number in range(len(pieces))]
    assert cover(pieces, texts).tolist() == by_pieces


def test_pieces_that_show_nothing_belong_to_what_follows_and_bytes_to_their_character() -> None:
    dragon = [f"<0x{byte:02X}>" for byte in "龘".encode()]
    found = cover(["▁", "我们", *dragon, "▁", "a", "▁"], ["我", "们", "龘", "a"])
    assert [np.flatnonzero(row).tolist() for row in found] == [[0], [0, 1], [2], [2], [2], [3], [3], [3]]
    assert np.flatnonzero(cover(["▁我", "<unk>", "。"], ["我", "龘", "龘", "。"])[1]).tolist() == [1, 2]
    assert cover([], ["a"]).shape == (0, 1)
    assert cover(["▁"], []).shape == (1, 0)


def test_a_long_line_that_differs_in_a_place_is_covered_at_once() -> None:
    own = ["dog"] * 3_000
    pieces = ["▁dog"] * 3_000
    own[1_500], pieces[1_500] = "龘龘", "<unk>"
    start = process_time()
    found = cover(["▁", *pieces], own)
    assert process_time() - start < 2, "the search of the whole takes minutes"
    assert (found[1:].argmax(1) == np.arange(3_000)).all()
    assert (found.sum(1) == 1).all()


def some_cover(rng: random.Random, n_units: int, longest: int) -> Cover:
    """Pieces of one to `longest` units, in order; a unit may have several pieces, or share one."""
    rows = []
    at = 0
    while at < n_units:
        size = rng.randint(1, min(longest, n_units - at))
        rows += [[at <= unit < at + size for unit in range(n_units)]] * rng.randint(1, 3)
        at += size
    return np.array(rows)


@pytest.mark.parametrize("seed", range(20))
def test_folding_keeps_the_attention_of_every_row(seed: int) -> None:
    rng = random.Random(seed)
    src, tgt = some_cover(rng, 6, 1), some_cover(rng, 5, 1)
    weights = np.random.default_rng(seed).random((len(tgt), len(src)))
    folded = fold(weights, src, tgt)
    for unit, row in enumerate(folded):
        assert row.sum() == pytest.approx(weights[tgt[:, unit]].sum(1).mean())
        for other, weight in enumerate(row):
            assert weight == pytest.approx(weights[np.ix_(tgt[:, unit], src[:, other])].sum(1).mean())
    np.testing.assert_allclose(fold(weights, np.eye(len(src), dtype=bool), np.eye(len(tgt), dtype=bool)), weights)


@pytest.mark.parametrize("seed", range(20))
def test_a_piece_of_several_units_gives_its_weight_to_each(seed: int) -> None:
    rng = random.Random(seed)
    src, tgt = some_cover(rng, 8, 3), some_cover(rng, 7, 3)
    weights = np.random.default_rng(seed).random((len(tgt), len(src)))
    folded = fold(weights, src, tgt)
    for i in range(8):
        for j in range(7):
            rows, columns = np.flatnonzero(tgt[:, j]), np.flatnonzero(src[:, i])
            assert folded[j, i] == pytest.approx(sum(weights[t, s] for t in rows for s in columns) / len(rows))
    links = argmax_links(folded, src)
    for j in range(7):
        linked = sorted(i for i, target in links if target == j)
        assert folded[j, linked] == pytest.approx([folded[j].max()] * len(linked))
        twins = [i for i in range(8) if (src[:, i] == src[:, linked[0]]).all()]
        assert linked == twins


def test_argmax_links_only_the_first_of_units_that_happen_to_tie() -> None:
    weights = np.array([[0.5, 0.5, 0.0]])
    assert argmax_links(weights, np.eye(3, dtype=bool)) == {(0, 0)}
    assert argmax_links(np.zeros((2, 3)), np.eye(3, dtype=bool)) == frozenset()
    assert argmax_links(np.zeros((2, 0)), np.zeros((0, 0), bool)) == frozenset()


def test_a_threshold_links_all_that_is_heavy_enough() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=5)
    for threshold in (0.05, 0.2, 0.9):
        wanted = {(i, j) for j in range(5) for i in range(7) if weights[j, i] >= threshold}
        assert threshold_links(weights, threshold) == wanted
    assert threshold_links(np.array([[0.25, 0.75]]), 0.25) == {(0, 0), (1, 0)}
    assert threshold_links(np.zeros((0, 4)), 0.1) == frozenset()
