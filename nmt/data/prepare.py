"""Turns a configuration into token ids: reads the corpus, trains tokenizers, encodes every split; all is cached."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import sentencepiece

from nmt.config.sections import SPLITS, DataConfig, TokenizerConfig
from nmt.data.batching import Mix
from nmt.data.cache import cached
from nmt.data.corpus import Corpus, read_corpus
from nmt.data.letter_case import LETTER_CASE_FILE, LetterCase
from nmt.data.letter_case import VERSION as LETTER_CASE_VERSION
from nmt.data.tables import TableWriter, load_table, read_batches
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.data.train_hashes import HASHES_FILE, hashes
from nmt.data.train_tokenizers import VocabularySizeError, sides, train_tokenizers
from nmt.errors import DataError, counted
from nmt.machine.digests import digest

if TYPE_CHECKING:
    from datasets import Dataset

MIX_FILE = "mix.json"  # number of rows in each weighted part
TABLES_VERSION = 2  # version of the cached tables; raise it whenever their content changes
IDS = pa.list_(pa.int32())
TABLES_SCHEMA = pa.schema(
    [("src", pa.string()), ("tgt", pa.string()), ("src_ids", IDS), ("tgt_ids", IDS), ("index", pa.int64())]
)


@dataclass(frozen=True)
class Prepared:
    """Splits with the columns src, tgt (text), src_ids, tgt_ids (no bos, no eos), index (pair number as read)."""

    tokenizers: TokenizerPair
    train: Dataset
    dev: Dataset
    test: Dataset
    report: list[str]
    fingerprint: str  # digest of the content and of all settings that shaped the tables
    seen: Path  # hashes of the training pairs: see nmt.data.train_hashes
    letter_case: LetterCase  # usual forms of words in the training sources
    mix: Mix | None = None  # the choice of rows for each epoch if parts of the training split have weights


def prepare(
    data: DataConfig, tokenizer: TokenizerConfig, cache_dir: Path, given: TokenizerPair | None = None
) -> Prepared:
    """The corpus and tokenizers, ready for training; `given`: the tokenizers of a model that is trained further."""
    corpus = read_corpus(data, cache_dir)
    tokenizers, folder, report, fingerprint = _fill(corpus, data, tokenizer, cache_dir, given)
    tables = {name: load_table(folder / f"{name}.arrow") for name in SPLITS}
    mix = None
    if data.train.weights is not None:
        rows = json.loads((folder / MIX_FILE).read_text("utf-8"))
        mix = Mix(rows, data.train.weights)
        report = [*report, f"train: {mix}"]
    seen, letter_case = folder / HASHES_FILE, _letter_case(corpus, data.src_lang, cache_dir)
    return Prepared(
        tokenizers, **tables, report=report, fingerprint=fingerprint, seen=seen, letter_case=letter_case, mix=mix
    )


def trained_tokenizers(corpus: Corpus, cfg: TokenizerConfig, cache_dir: Path) -> TokenizerPair:
    """The tokenizers of the corpus, trained unless they are cached."""
    return _trained_pair(corpus, cfg, cache_dir)[0]


def fitting(corpus: Corpus, wanted: TokenizerConfig, cache_dir: Path) -> TokenizerConfig:
    """The settings `wanted`, with the nearest vocabulary size that SentencePiece can make of this corpus.

    If no size fits both sides, they share one vocabulary, of the size that was wanted.
    """
    first, tried = wanted, []
    while wanted not in tried:
        tried.append(wanted)
        try:
            trained_tokenizers(corpus, wanted, cache_dir)
        except VocabularySizeError as error:
            wanted = replace(wanted, vocab_size=error.bound)
            if wanted in tried:
                wanted = replace(first, joint=True)
    return wanted


def _letter_case(corpus: Corpus, lang: str | None, cache_dir: Path) -> LetterCase:
    """The usual forms of words in the training sources, learned unless they are cached."""

    def learn(draft: Path) -> None:
        batches = read_batches(corpus.path("train"))
        found = LetterCase.learned((text for batch in batches for text in batch["src"].to_pylist()), lang)
        (draft / LETTER_CASE_FILE).write_bytes(found.bytes)

    key = digest([LETTER_CASE_VERSION, corpus.fingerprint, lang])
    path = cached(cache_dir, "letter_case", key, learn) / LETTER_CASE_FILE
    return LetterCase.from_bytes(path.read_bytes(), str(path))


def _fill(
    corpus: Corpus, data: DataConfig, tokenizer: TokenizerConfig, cache_dir: Path, given: TokenizerPair | None
) -> tuple[TokenizerPair, Path, list[str], str]:
    """The tokenizers, the folder of the tables, the report and the fingerprint; makes them unless they are cached."""
    if given is None:
        tokenizers, report = _trained_pair(corpus, tokenizer, cache_dir)
    else:
        tokenizers, report = given, ["tokenizer: that of the model"]
    key = digest([tokenizers.src.bytes.hex(), tokenizers.tgt.bytes.hex()])
    limits = [data.filters.max_tokens, data.filters.max_ratio]
    fingerprint = digest([TABLES_VERSION, corpus.fingerprint, key, limits])
    folder = cached(cache_dir, "encoded", fingerprint, lambda draft: _encode(corpus, tokenizers, data, draft))
    report = corpus.report + report + json.loads((folder / "report.json").read_text("utf-8"))
    return tokenizers, folder, report, fingerprint


def _trained_pair(corpus: Corpus, cfg: TokenizerConfig, cache_dir: Path) -> tuple[TokenizerPair, list[str]]:
    settings = {name: value for name, value in asdict(cfg).items() if name != "sampling_alpha"}
    key = digest([TABLES_VERSION, corpus.fingerprint, settings, sentencepiece.__version__])
    folder = cached(cache_dir, "tokenizer", key, lambda draft: train_tokenizers(corpus.path("train"), cfg, draft))
    models = [Tokenizer.load(folder / f"{name}.model") for name in sides(cfg)]
    return TokenizerPair(models[0], models[-1]), json.loads((folder / "report.json").read_text("utf-8"))


def _encode(corpus: Corpus, tokenizers: TokenizerPair, data: DataConfig, folder: Path) -> None:
    report = []
    rows = None if data.train.weights is None else np.zeros(len(data.train.weights), np.int64)  # of each part
    for name in SPLITS:
        dropped = {"max_tokens": 0, "max_ratio": 0}
        kept, pieces, shortest = 0, np.zeros(2, np.int64), sys.maxsize
        with TableWriter(folder / f"{name}.arrow", TABLES_SCHEMA) as writer, open(folder / HASHES_FILE, "ab") as known:
            for batch in read_batches(corpus.path(name)):
                columns, lengths = _encode_batch(batch, tokenizers)
                if name == "train":
                    keep = within_limits(lengths, data, dropped)
                    longer = lengths.max(axis=0)
                    shortest = int(longer[longer > (data.filters.max_tokens or 0)].min(initial=shortest))
                    columns = {column: values.filter(pa.array(keep)) for column, values in columns.items()}
                    lengths = lengths[:, keep]
                    if rows is not None:
                        rows += np.bincount(corpus.parts_of(columns["index"].to_numpy()), minlength=len(rows))
                    known.write(hashes(columns["src"].to_pylist(), columns["tgt"].to_pylist()).tobytes())
                kept += lengths.shape[1]
                pieces += lengths.sum(axis=1)
                writer.write(columns)
        active = [f"{count:,} {key}" for key, count in dropped.items() if getattr(data.filters, key) is not None]
        counts = f"dropped: {', '.join(active)}" if name == "train" and active else ""
        if name == "train" and not kept:
            limits = [f"data.filters.{key}={getattr(data.filters, key)}" for key, count in dropped.items() if count]
            if dropped["max_tokens"]:
                limits[0] += f" (the pairs that it drops have {shortest:,} pieces or more on a side)"
            raise DataError(
                f"no training pair is left: {counted(sum(dropped.values()), 'pair')} encoded, {counts}; raise "
                f"{' and '.join(limits)}, or set {'it' if len(limits) == 1 else 'them'} to null"
            )
        if kept:
            line = f"{name}: {counted(kept, 'pair')} encoded, {pieces[0]:,} source and {pieces[1]:,} target pieces"
            report.append(f"{line}, {counts}" if counts else line)
    if rows is not None:
        if not rows.all():
            raise DataError(
                f"part {int(np.argmin(rows > 0)) + 1} of data.train.weights={data.train.weights} has no pair that the "
                "filters leave; check its files, or leave it out"
            )
        (folder / MIX_FILE).write_text(json.dumps(rows.tolist()), "utf-8")
    (folder / "report.json").write_text(json.dumps(report), "utf-8")


def _encode_batch(
    batch: pa.RecordBatch, tokenizers: TokenizerPair
) -> tuple[dict[str, pa.Array], npt.NDArray[np.int64]]:
    """The columns of TABLES_SCHEMA for a batch of the corpus, and the lengths of both sides, [2, rows]."""
    columns = {name: batch[name] for name in ("src", "tgt", "index")}
    lengths = []
    for side, tokenizer in (("src", tokenizers.src), ("tgt", tokenizers.tgt)):
        ids = tokenizer.encode_batch(batch[side].to_pylist())
        columns[f"{side}_ids"] = pa.array(ids, IDS)
        lengths.append([len(row) for row in ids])
    return columns, np.array(lengths, np.int64)


def within_limits(lengths: npt.NDArray[np.int64], data: DataConfig, dropped: dict[str, int]) -> npt.NDArray[np.bool_]:
    """The mask of pairs within the limits in pieces; counts the others in `dropped`, by the first limit they exceed."""
    longer, shorter = lengths.max(axis=0), np.maximum(lengths.min(axis=0), 1)
    keep = np.ones(len(longer), np.bool_)
    limits = {"max_tokens": data.filters.max_tokens, "max_ratio": data.filters.max_ratio}
    for (key, limit), value in zip(limits.items(), (longer, longer / shorter), strict=True):
        if limit is not None:
            over = keep & (value > limit)
            dropped[key] += int(over.sum())
            keep &= ~over
    return keep
