"""One point of a curve: memory and speed of training at a size."""

import random
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench import machine
from bench.memory import ANONYMOUS, anonymous_memory_mb, watched_memory
from bench.operations import counted
from bench.training_loop import configuration, new_trainer, trained_for
from nmt.data.letter_case import LetterCase
from nmt.data.prepare import IDS, TABLES_SCHEMA, Prepared
from nmt.data.tables import TableWriter, load_table
from nmt.data.tokenizer import TokenizerPair
from nmt.data.train_tokenizers import train_tokenizer
from nmt.model.build import build_model
from nmt.training.run import new_model, read_data
from nmt.training.trainer import Trainer

LENGTH, VOCABULARY, TOKENS = 20, 8_000, 4_096  # of the reference model
ROWS = 20_000  # pairs of random ids to train on
WARM_UP = 3  # updates before the clock starts
WORDS, LETTERS = 20_000, 5  # of the synthetic language
CHUNK = 100_000  # pairs written together


@dataclass(frozen=True)
class Point:
    """Memory in MB (1e6 bytes), resident and no file's."""

    size: int
    tokens_per_s: float
    operations_per_token: float
    share: float  # of the machine's matrix rate in the precision of training
    memory_mb: float  # the most seen between updates
    others: float  # share of the machine that other processes used while training
    prepared_mb: float = 0.0  # after preparing
    highest_mb: float = 0.0  # while preparing
    prepare_s: float = 0.0
    waiting_share: float = 0.0  # of training, for data


def measure(kind: str, size: int, seconds: float, folder: Path) -> Point:
    """The point of this curve at this size, with files in an empty folder."""
    words = ["experiment=reference", "train.patience=null"]
    if kind == "pairs":
        write_text(folder, size)
        files = ["data.train.src=train.src", "data.train.tgt=train.tgt", "data.dev_size=0", "data.test_size=0"]
        config = configuration([*words, "data=text", f"data.root={folder}", f"cache_dir={folder}/cache", *files])
        with watched_memory(ANONYMOUS) as highest:
            start = perf_counter()
            prepared = read_data(config, None)
            known = {"prepare_s": perf_counter() - start, "prepared_mb": anonymous_memory_mb()}
        model = new_model(config, prepared.tokenizers)
        trainer = new_trainer(config, prepared, model, folder / "run")
        return point_of(trainer, size, seconds, known | {"highest_mb": highest.mb})
    length = size if kind == "lengths" else LENGTH
    vocabulary = size if kind == "vocabularies" else VOCABULARY
    tokens = size * (length + 1) if kind == "batches" else TOKENS
    hidden = [f"encoder.d_hidden={size // 2}", f"decoder.d_hidden={size}"] if kind == "hidden" else []
    config = configuration([*words, *hidden, f"train.batch_tokens={tokens}"])
    model = build_model(config, vocabulary, vocabulary)
    prepared = random_ids(folder, length, vocabulary)
    return point_of(new_trainer(config, prepared, model, folder / "run"), size, seconds, {})


def point_of(trainer: Trainer, size: int, seconds: float, known: dict[str, float]) -> Point:
    """Trains for some time; `known` is what was seen before."""
    memory: list[float] = []
    rate = machine.matrix_rate(trainer.dtype, trainer.device)
    loop = trained_for(seconds, trainer, WARM_UP, lambda: memory.append(anonymous_memory_mb()))
    rate = max(rate, machine.matrix_rate(trainer.dtype, trainer.device))
    tokens = trainer.progress.tokens
    with counted() as operations:
        trainer.update()
    each = operations.total / (trainer.progress.tokens - tokens)
    trainer.reporter.close()
    found: dict[str, float] = {
        "tokens_per_s": loop.tokens_per_s,
        "operations_per_token": each,
        "share": loop.tokens_per_s * each / rate,
        "memory_mb": max(memory),
        "others": loop.others,
        "waiting_share": loop.waited_s / loop.seconds,
    }
    return Point(size, **found, **known)


def random_ids(folder: Path, length: int, vocabulary: int) -> Prepared:
    """A corpus of random ids, all sentences of one length, end-of-sentence included."""
    source = np.random.default_rng(1)
    rows = max(TOKENS // length * 4, ROWS * LENGTH // length)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * (length - 1))
    text = [""] * rows
    columns: dict[str, object] = {"src": text, "tgt": text, "index": range(rows)}
    for name in ("src_ids", "tgt_ids"):
        ids = pa.array(source.integers(4, vocabulary, rows * (length - 1), dtype=np.int32))
        columns[name] = pa.ListArray.from_arrays(offsets, ids, type=IDS)
    nothing: dict[str, object] = {key: [] for key in columns}
    for name, part in (("train", columns), ("dev", nothing)):
        with TableWriter(folder / f"{name}.arrow", TABLES_SCHEMA) as table:
            table.write(part)
    letters = configuration(["tokenizer=char"]).tokenizer
    tokenizer = train_tokenizer(["a"], letters, 1, [])  # nothing is encoded with it
    train, dev = (load_table(folder / f"{name}.arrow") for name in ("train", "dev"))
    pair = TokenizerPair(tokenizer, tokenizer)
    return Prepared(
        pair, train, dev, dev, report=[], fingerprint="", seen=folder / "seen.bin", letter_case=LetterCase()
    )


def write_text(folder: Path, pairs: int) -> None:
    """Two text files of made-up words of equal length, frequent ones first (Zipf); 2 to 10 words a sentence."""
    letters = random.Random(1)
    words = ["".join(letters.choices("abcdefghijklmnoprstuvwz", k=LETTERS)) + " " for _ in range(WORDS)]
    table = np.frombuffer("".join(words).encode(), np.uint8).reshape(WORDS, LETTERS + 1)
    source = np.random.default_rng(1)
    with open(folder / "train.src", "wb") as src, open(folder / "train.tgt", "wb") as tgt:
        for start in range(0, pairs, CHUNK):
            lengths = source.integers(2, 11, min(CHUNK, pairs - start))
            for stream in (src, tgt):
                stream.write(lines(table, lengths, source))


def lines(table: NDArray[np.uint8], lengths: NDArray[np.int64], source: np.random.Generator) -> bytes:
    """Sentences of so many words."""
    chosen = (WORDS ** source.random(lengths.sum())).astype(np.int64) - 1  # density ∝ 1 / rank
    text = table[np.minimum(chosen, WORDS - 1)]
    text[np.cumsum(lengths) - 1, -1] = ord("\n")
    sentences: bytes = text.tobytes()
    return sentences
