"""Schema of every configuration section that is not a part: type, meaning and unit; the values live in configs/."""

from dataclasses import dataclass
from typing import Literal

Paths = str | list[str] | None  # a file, a glob, or a list of them; null = not given


@dataclass(frozen=True)
class SplitConfig:
    """Where one split lies."""

    src: Paths  # format text: source side
    tgt: Paths  # format text: target side, line N translates line N of src
    files: Paths  # formats tsv, jsonl, csv, parquet: files with both sides; format hub: the split's name


@dataclass(frozen=True)
class FilterConfig:
    """Training pairs that are left out, each with a count in the report; null or false = off."""

    empty: bool  # a side has no visible character
    max_tokens: int | None  # pieces on either side, end-of-sentence not counted
    max_ratio: float | None  # longer side / shorter side, in pieces
    identical: bool  # source = target
    duplicates: bool  # the same pair again: the first one stays


@dataclass(frozen=True)
class DataConfig:
    """A parallel corpus."""

    format: Literal["text", "tsv", "jsonl", "csv", "parquet", "hub"]
    root: str | None  # folder that relative paths start from; null = the current folder; bundled:NAME = nmt's own data
    src_lang: str | None  # ISO 639 code, for scoring and for the record
    tgt_lang: str | None
    tokenized: bool  # BLEU counts what stands between spaces (sacreBLEU's tokeniser "none")
    src_column: str | int | None  # tsv: column counted from 0; other tables: name, dots for nested (translation.en)
    tgt_column: str | int | None
    hub: str | None  # format hub: dataset id
    hub_config: str | None  # format hub: configuration name
    hub_revision: str | None  # format hub: branch, tag or commit
    train: SplitConfig
    dev: SplitConfig
    test: SplitConfig
    dev_size: int  # pairs cut off the training split when dev is not given (at most a tenth of it)
    test_size: int  # likewise for test
    gold: str | None  # word alignments of the test split: i-j, or ipj for a possible link; null = none known
    gold_units: Literal["words", "tokens"]  # what they count; tokens: punctuation at a word's edge counts by itself
    nfc: bool  # Unicode NFC on both sides
    filters: FilterConfig


@dataclass(frozen=True)
class TokenizerConfig:
    """SentencePiece models, trained on the training split alone."""

    model: Literal["unigram", "bpe", "char", "word"]
    joint: bool  # one vocabulary for both sides
    vocab_size: int  # pieces, per model
    character_coverage: float  # share of characters that get a piece, the rest are unknown or bytes
    byte_fallback: bool  # unknown characters become UTF-8 bytes
    normalization: Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]
    sampling_alpha: float | None  # subword sampling in training (Kudo 2018; bpe: dropout probability); null = off
    max_sentences: int  # training sentences shown to SentencePiece at most (random, deterministic)


@dataclass(frozen=True)
class TrainConfig:
    """The training loop."""

    batch_tokens: int  # target tokens in a batch, padding included
    accumulate: int  # batches per update
    max_updates: int | None  # optimiser steps; null = until max_epochs or early stopping
    max_epochs: int | None
    label_smoothing: float
    consistency: float  # R-Drop: weight of the divergence between two passes under different dropout; 0 = one pass
    init_range: float | None  # weights are drawn uniformly from ± this; null = as each layer draws its own
    clip_norm: float | None  # gradient norm at most; null = off
    on_nonfinite: Literal["stop", "skip"]  # where loss or gradient is no number
    precision: Literal["auto", "fp32", "bf16"]
    device: Literal["auto", "cpu", "cuda"]
    threads: int | None  # CPU threads; null = torch's choice
    validate_every: int | None  # updates; null = each epoch
    bleu_sentences: int | None  # dev sentences translated for BLEU at each validation; null = all; 0 = none
    metric: Literal["bleu", "loss"]  # decides what is best
    patience: int | None  # validations without a new best before stopping; null = off
    keep_best: int  # checkpoints kept besides the last
    average_best: bool  # end with the average of the kept checkpoints, if better on dev
    log_every: int  # updates between lines and tensorboard points
    examples: int  # fixed dev sentences shown in tensorboard


@dataclass(frozen=True)
class ModelConfig:
    """Sizes that belong to no single part."""

    d_embed: int
    embed_dropout: float
    word_dropout: float  # probability that an input token's embedding is zero, in training
    tie: Literal["none", "target", "all"]  # target: embeddings with output; all: source too (joint vocabulary)


@dataclass(frozen=True)
class AttentionConfig:
    """What every attention has besides the arguments of its class."""

    normaliser: Literal["softmax", "sparsemax", "entmax15"]  # scores to weights


@dataclass(frozen=True)
class SearchConfig:
    """How translations are looked for."""

    beam: int  # 1 = greedy
    n_best: int  # hypotheses returned, at most beam
    length_penalty: Literal["average", "wu", "none"]
    alpha: float  # exponent of the length penalty
    coverage_penalty: float  # beta of Wu et al. 2016, eq. 14; 0 = off
    max_length_a: float  # at most a + b * source length target tokens
    max_length_b: float
    no_repeat_ngram: int | None  # n-grams of this size occur once at most; null = off
    sample: bool  # draw from the model instead of searching
    temperature: float  # sampling
    top_k: int | None  # sampling: the k likeliest tokens; null = all
    top_p: float | None  # sampling: the likeliest tokens with this mass; null = all
    batch_sentences: int  # sentences searched together at beam 5; at others as many hypotheses


MODEL_SECTIONS = ("model", "encoder", "decoder", "attention", "tokenizer")  # what weights and vocabularies depend on
