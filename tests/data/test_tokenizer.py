"""Tokenizers: every text comes back, nothing in it is control, the same input gives the same bytes."""

import json
import random
import re
import subprocess
import sys
from typing import Any

import pytest
import sentencepiece
from helpers.small_corpora import make_pairs, tokenizer_config
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.data.corpus import read_lines
from nmt.data.text import clean
from nmt.data.tokenizer import BOS, EOS, ESCAPE, MARK, PAD, UNK, Tokenizer
from nmt.data.train_tokenizers import train_tokenizer
from nmt.errors import CheckpointError, ConfigError, DataError

SENTENCES = [side for pair in make_pairs(1500) for side in pair] + ["</s> <s> <pad> <unk> <0x41> ▁"] * 50
MODELS = ["unigram", "bpe", "char", "word"]
SIZES = {"unigram": 600, "bpe": 600, "char": 8000, "word": 600}


def train(name, sentences=SENTENCES, **changes):
    cfg = tokenizer_config(name, **{"vocab_size": SIZES[name], **changes})
    return train_tokenizer(iter(sentences), cfg, seed=1, report=[])


TOKENIZERS = {name: train(name) for name in MODELS}


def spaced(text):
    """The text up to white space."""
    return " ".join(text.split())


@pytest.fixture(params=MODELS)
def tokenizer(request):
    return TOKENIZERS[request.param]


@pytest.mark.parametrize("name", MODELS)
@given(text=st.one_of(st.text(st.characters()), st.text(f"ab </s>un<kpd0x41{MARK}{ESCAPE}01\u2585\x00\x05\u2047 ")))
@example(text="</s>")
@example(text=f"{MARK}{ESCAPE}1{ESCAPE}{MARK}0{ESCAPE}{ESCAPE}")
@example(text="a <unk> <0x41><s></s><pad> \u2581 \u2585 \u2047")
@settings(max_examples=150, deadline=None)
def test_every_text_comes_back(name, text):
    text = clean(text, nfc=True)
    ids = TOKENIZERS[name].encode(text)
    assert spaced(TOKENIZERS[name].decode(ids)) == spaced(text)
    assert not {PAD, UNK, BOS, EOS} & set(ids)


@pytest.mark.parametrize("name", ["unigram", "bpe"])
@given(text=st.text(st.characters()), seed=st.integers(0, 2**64))
@settings(max_examples=50, deadline=None)
def test_every_sampled_segmentation_comes_back(name, text, seed):
    text = clean(text, nfc=True)
    (ids,) = TOKENIZERS[name].sample_batch([text], 0.3, seed)
    assert spaced(TOKENIZERS[name].decode(ids)) == spaced(text)


@pytest.mark.parametrize("sides", ["multi30k_en_de/train.en .de", "tatoeba_en_zh/train.en .zh"])
@pytest.mark.parametrize(("name", "step"), [("unigram", 1), ("bpe", 9), ("char", 9)])
def test_every_sentence_of_a_corpus_comes_back(data_dir, sides, name, step):
    src, suffix = sides.split()
    paths = [data_dir / src, (data_dir / src).with_suffix(suffix)]
    sentences = [clean(line, nfc=True) for path in paths for line in read_lines(path)][::step]
    tokenizer = train(name, sentences[::5], vocab_size=8000 if step == 1 else 3600)
    for sentence, ids in zip(sentences, tokenizer.encode_batch(sentences), strict=True):
        assert spaced(tokenizer.decode(ids)) == spaced(sentence)


def test_pieces_spell_the_text(tokenizer):
    for text in SENTENCES[:50]:
        pieces = tokenizer.pieces(tokenizer.encode(text))
        if not any(re.fullmatch("<0x..>", piece) for piece in pieces):
            assert "".join(pieces) == MARK + text.replace(" ", MARK)
    assert tokenizer.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([PAD, BOS, EOS]) == ""


def test_batches_equal_single_sentences(tokenizer):
    assert tokenizer.encode_batch(SENTENCES[:100]) == [tokenizer.encode(text) for text in SENTENCES[:100]]
    assert tokenizer.encode("") == []
    assert tokenizer.encode_batch([]) == []
    assert tokenizer.decode([]) == ""


def test_a_saved_model_is_the_same(tokenizer, tmp_path):
    (tmp_path / "m").write_bytes(tokenizer.bytes)
    for other in (Tokenizer.load(tmp_path / "m"), Tokenizer.from_bytes(tokenizer.bytes)):
        assert other.bytes == tokenizer.bytes
        assert other.vocab_size == tokenizer.vocab_size
        assert other.encode_batch(SENTENCES[:20]) == tokenizer.encode_batch(SENTENCES[:20])


@pytest.mark.parametrize("name", MODELS)
def test_training_twice_gives_the_same_bytes(name):
    assert train(name).bytes == TOKENIZERS[name].bytes
    assert train(name, max_sentences=500).bytes == train(name, max_sentences=500).bytes


@pytest.mark.parametrize("name", ["unigram", "bpe"])
def test_sampling_depends_on_the_seed_alone(name):
    tokenizer, texts = TOKENIZERS[name], SENTENCES[:40]
    for seed in (0, 7, 2**32 - 1, 2**40):
        first = tokenizer.sample_batch(texts, 0.2, seed)
        tokenizer.sample_batch(random.sample(SENTENCES, 3), 0.2, seed + 5)
        assert tokenizer.sample_batch(texts, 0.2, seed) == first
        assert tokenizer.sample_batch(texts, 0.2, seed + 1) != first
        assert first != tokenizer.encode_batch(texts)


DRAWING = """
import sys
from pathlib import Path
from nmt.data.tokenizer import Tokenizer
tokenizer = Tokenizer.load(Path(sys.argv[1]))
print(tokenizer.sample_batch(sys.argv[2:], 0.2, 7))
"""


@pytest.mark.parametrize("name", ["unigram", "bpe"])
def test_every_process_draws_the_same(name, tmp_path):
    texts = SENTENCES[:20]
    (tmp_path / "model").write_bytes(TOKENIZERS[name].bytes)
    for _ in range(2):
        words = [sys.executable, "-c", DRAWING, str(tmp_path / "model"), *texts]
        drawn = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert json.loads(drawn) == TOKENIZERS[name].sample_batch(texts, 0.2, 7)


def test_little_noise_leaves_the_likeliest_pieces():
    texts = SENTENCES[:40]
    assert TOKENIZERS["bpe"].sample_batch(texts, 0.0, 1) == TOKENIZERS["bpe"].encode_batch(texts)
    sharp = TOKENIZERS["unigram"].sample_batch(texts, 50.0, 1)
    agree = sum(a == b for a, b in zip(sharp, TOKENIZERS["unigram"].encode_batch(texts), strict=True))
    assert agree >= 0.9 * len(texts)


def test_the_choice_of_sentences_is_bounded_and_skips_long_ones():
    report = []
    cfg = tokenizer_config("char", max_sentences=100)
    train_tokenizer(["a b c " * 2000, *SENTENCES], cfg, seed=1, report=report)
    assert "trained on 100 sentences" in report[0]
    assert "1 longer than" in report[0]


@pytest.mark.slow
def test_two_megabytes_in_a_line_are_encoded(tokenizer):
    line = "abcdefgh ij " * 180_000
    ids = tokenizer.encode(line)
    assert tokenizer.decode(ids[:1000]).startswith(line[:200])
    assert len(ids) > 180_000


def test_without_bytes_unknown_characters_are_unknown():
    tokenizer = train("unigram", byte_fallback=False, vocab_size=300)
    assert UNK in tokenizer.encode("日本")


# Bad input


def refused(kind, expected, name="unigram", sentences=SENTENCES, **changes):
    with pytest.raises(kind, match=expected) as error:
        train(name, sentences, **changes)
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", ["unigram", "bpe", "word"])
def test_a_vocabulary_too_large_shows_the_largest_that_works(name):
    line = refused(ConfigError, r"tokenizer\.vocab_size=80000 is too large", name, vocab_size=80_000)
    largest = int(re.search(r"at most (\d+)", line)[1])
    assert train(name, vocab_size=largest).vocab_size == largest
    refused(ConfigError, f"at most {largest}", name, vocab_size=largest + 1)


@pytest.mark.parametrize("name", ["unigram", "bpe"])
def test_a_vocabulary_too_small_shows_the_smallest_that_works(name):
    line = refused(ConfigError, r"tokenizer\.vocab_size=262 is too small", name, vocab_size=262)
    smallest = int(re.search(r"at least (\d+)", line)[1])
    assert train(name, vocab_size=smallest).vocab_size == smallest
    refused(ConfigError, f"at least {smallest}", name, vocab_size=smallest - 1)


@pytest.mark.parametrize("name", MODELS)
def test_a_vocabulary_without_room_for_text_is_refused(name):
    refused(ConfigError, r"vocab_size=260 is too small.*at least 261", name, vocab_size=260)
    refused(ConfigError, r"vocab_size=4 is too small.*at least 5", name, vocab_size=4, byte_fallback=False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"character_coverage": 1.5}, r"character_coverage is 1\.5"),
        ({"max_sentences": 0}, "max_sentences is 0"),
        ({"sampling_alpha": -0.1}, r"sampling_alpha is -0\.1"),
        ({"name": "bpe", "sampling_alpha": 1.0}, "below 1"),
        ({"name": "char", "sampling_alpha": 0.1}, "one segmentation only"),
        ({"name": "word", "sampling_alpha": 0.1}, "one segmentation only"),
    ],
)
def test_values_out_of_range_are_refused(changes, expected):
    refused(ConfigError, expected, **changes)


def test_nothing_to_train_on_is_refused():
    for sentences in ([], ["", "  "], ["x " * 3000]):
        refused(DataError, "no sentence to train a tokenizer on", sentences=sentences)


def test_sampling_from_a_model_without_choices_is_refused(capfd):
    for name in ("char", "word"):
        with pytest.raises(ConfigError, match="one segmentation only"):
            TOKENIZERS[name].sample_batch(["a"], 0.1, 1)
    assert capfd.readouterr().err == ""


def test_files_that_are_no_tokenizer_of_ours_are_refused(tmp_path):
    (tmp_path / "junk").write_bytes(b"junk")
    (tmp_path / "empty").write_bytes(b"")
    with open(tmp_path / "other", "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES), model_writer=handle, vocab_size=100, minloglevel=3
        )
    (tmp_path / "short").write_bytes(TOKENIZERS["bpe"].bytes[:-100])
    for name in ("junk", "empty", "other", "short", "missing"):
        with pytest.raises(CheckpointError, match=name) as error:
            Tokenizer.load(tmp_path / name)
        assert ";" in str(error.value)


def test_sentencepiece_is_silent(capfd):
    train("unigram")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model", ["unigram", "bpe", "char"])
def test_symbols_that_users_define_are_one_piece_wherever_they_stand(model: str) -> None:
    symbols = ["<br>", "{name}", "a,b"]
    texts = [f"{src} 2026 {symbols[number % 3]}x" for number, (src, _) in enumerate(make_pairs(300))]
    config = tokenizer_config(model, vocab_size=285 if model == "char" else 420, user_defined_symbols=symbols)
    tokenizer = train_tokenizer(iter(texts), config, 1, [])
    for text in ("a<br>b {name} 12", "<br>", "x{name}{name}", "a,b c"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        found = [piece for piece in tokenizer.pieces(ids) if piece in symbols]
        assert found == re.findall(r"<br>|\{name\}|a,b", text)
        if tokenizer.has_choices:
            drawn = tokenizer.pieces(tokenizer.sample_batch([text], 0.3, 1)[0])
            assert [piece for piece in drawn if piece in symbols] == found


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_digits_are_split_where_it_is_asked_for(model: str) -> None:
    texts = [f"{src} 2026" for src, _ in make_pairs(300)]
    for split in (False, True):
        config = tokenizer_config(model, vocab_size=420, split_digits=split)
        pieces = train_tokenizer(iter(texts), config, 1, [])
        numbers = [piece for piece in pieces.pieces(range(pieces.vocab_size)) if re.fullmatch(r"▁?[0-9]{2,}", piece)]
        assert not (split and numbers)
        assert split or numbers or model == "unigram"  # which may split so little text anyway
        if split:
            assert [piece for piece in pieces.pieces(pieces.encode("in 2062")) if piece.isdigit()] == list("2062")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"user_defined_symbols": ["a b"]}, r"symbols has 'a b'; give texts that differ, without spaces and ▁"),
        ({"user_defined_symbols": [""]}, r"symbols has ''; give texts"),
        ({"user_defined_symbols": ["▁x"]}, r"symbols has '▁x'; give texts"),
        ({"user_defined_symbols": ["x", "x"]}, r"symbols has 'x'; give texts that differ"),
        *(
            (
                {"user_defined_symbols": ["x", name]},
                rf"symbols has '{name}', the name of a piece that every tokenizer has",
            )
            for name in ("<pad>", "<unk>", "<s>", "</s>", "<0x41>")
        ),
        (
            {"user_defined_symbols": ["x"], "model": "word"},
            r"with tokenizer.model=word spaces alone part pieces; set it",
        ),
        (
            {"user_defined_symbols": ["x", "y"], "vocab_size": 262},
            r"262 is too small: special pieces and bytes and user-defined symbols alone need 262; set at least 263",
        ),
    ],
)
def test_symbols_that_cannot_be_pieces_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        tokenizer_config("unigram", **changes)
