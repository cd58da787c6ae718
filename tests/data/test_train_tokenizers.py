"""Tokenizers trained in a process of their own: the same ones, its errors, and no code from its folder."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.small_corpora import make_pairs, text_data, tokenizer_config

from nmt.data import train_tokenizers as tokenizers
from nmt.data.corpus import read_corpus
from nmt.data.tables import TableWriter
from nmt.data.train_tokenizers import VocabularySizeError, train_tokenizers
from nmt.errors import DataError

TOKENS = tokenizer_config("unigram", vocab_size=440)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A training split."""
    return read_corpus(text_data(tmp_path, make_pairs(400)), tmp_path / "cache").path("train")


def trained(table: Path, cfg, folder: Path) -> dict[str, bytes]:
    """Every file that the training leaves."""
    folder.mkdir()
    train_tokenizers(table, cfg, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("joint", [True, False])
def test_a_process_of_its_own_makes_the_same_tokenizers(table, tmp_path, monkeypatch, joint):
    cfg = replace(TOKENS, joint=joint)
    here = trained(table, cfg, tmp_path / "here")
    monkeypatch.setattr(tokenizers, "MANY_PAIRS", 1)
    monkeypatch.setattr(tokenizers, "_train", None)  # no longer called in this process
    (tmp_path / "json.py").write_text("raise SystemExit('a file beside the corpus was executed')")
    monkeypatch.chdir(tmp_path)
    assert trained(table, cfg, tmp_path / "apart") == here
    assert sorted(here) == (["joint.model", "report.json"] if joint else ["report.json", "src.model", "tgt.model"])
    assert len(json.loads(here["report.json"])) == 2 - joint


def test_what_is_wrong_with_the_tokenizer_is_said_by_the_process_too(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizers, "MANY_PAIRS", 1)
    with pytest.raises(
        VocabularySizeError, match=r"^tokenizer\.vocab_size=100000 is too large for this corpus and model unigram"
    ) as caught:
        trained(table, replace(TOKENS, vocab_size=100_000), tmp_path / "draft")
    trained(table, replace(TOKENS, vocab_size=caught.value.bound), tmp_path / "largest")
    empty = tmp_path / "empty.arrow"
    with TableWriter(empty, pa.schema([("src", pa.string()), ("tgt", pa.string())])) as writer:
        writer.write({"src": [" ", ""], "tgt": ["", " "]})
    with pytest.raises(DataError, match=r"^there is no sentence to train a tokenizer on"):
        trained(empty, TOKENS, tmp_path / "nothing")


@pytest.mark.parametrize(
    ("end", "error", "message"),
    [
        ("kill -9 $$", DataError, r"was killed, .*train\.arrow; lower tokenizer\.max_sentences=\d+"),
        ("echo what happened >&2; exit 1", RuntimeError, "ended with 1: what happened"),
    ],
)
def test_a_process_that_dies_is_no_tokenizer(table, tmp_path, monkeypatch, end, error, message):
    monkeypatch.setattr(tokenizers, "MANY_PAIRS", 1)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{end}\n")
    python.chmod(0o755)
    monkeypatch.setattr(tokenizers.sys, "executable", str(python))
    with pytest.raises(error, match=message):
        trained(table, TOKENS, tmp_path / "draft")
