"""Words from pieces, word attention and alignments."""

import random

import numpy as np
import pytest

from nmt.alignment import align, pharaoh, source_length, spaceless, word_attention, words

LATIN = "abcdefghäöüßéñ'.,"
CJK = "我们喜欢音乐你好日本語のカナ。，"


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


@pytest.mark.parametrize("eos", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_word_attention_sums_over_source_and_averages_over_target(seed: int, eos: bool) -> None:
    rng = random.Random(seed)
    src_texts, src = spaced_pieces(rng, 6)
    tgt_texts, tgt = spaced_pieces(rng, 4)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(src)), size=len(tgt))
    if eos:
        weights = np.pad(weights, ((0, 1), (0, 1)), constant_values=0.5)
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
