"""Trains the tokenizers of a corpus: one for both sides or one for each; for large corpora, in a separate process.

    python -m nmt.data.train_tokenizers FOLDER        (as `train_tokenizers` calls it: FOLDER/job.json says what to do)

SentencePiece's trainer never frees 25 to 65 MB per million sentences; only the end of its process does. It also keeps
all other threads of its process waiting, so it is apart wherever other processes wait for this one.
"""

import io
import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import sentencepiece

from nmt.config.check import read
from nmt.config.sections import TokenizerConfig
from nmt.data.tables import read_batches
from nmt.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, _escape
from nmt.errors import ConfigError, DataError, NmtError, counted
from nmt.machine import second_process
from nmt.machine.launch import processes

MAX_SENTENCE_BYTES = 4192  # longer sentences are not used in training
THREADS = 16  # the same on every machine: SentencePiece's sums, and so the model, depend on it


def train_tokenizer(sentences: Iterable[str], cfg: TokenizerConfig, seed: int, report: list[str]) -> Tokenizer:
    """A model trained on the sentences; the same sentences give the same bytes. Adds a line to `report`."""
    shown, skipped = _choose_sentences(sentences, cfg.max_sentences, seed)
    if not any(sentence.strip() for sentence in shown):
        long = f": {counted(skipped, 'text')} with more than {MAX_SENTENCE_BYTES:,} bytes" if skipped else ""
        raise DataError(
            f"there is no sentence to train a tokenizer on{long}; put one sentence on each line, data.train"
        )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(shown),
            model_writer=model,
            model_type=cfg.model,
            vocab_size=cfg.vocab_size,
            character_coverage=cfg.character_coverage,
            byte_fallback=cfg.byte_fallback,
            user_defined_symbols=cfg.user_defined_symbols,
            split_digits=cfg.split_digits,
            normalization_rule_name=cfg.normalization,
            add_dummy_prefix=True,
            remove_extra_whitespaces=True,
            max_sentence_length=MAX_SENTENCE_BYTES,
            num_threads=THREADS,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            minloglevel=3,
        )
    except RuntimeError as error:
        raise _explain(str(error), cfg) from error
    tokenizer = Tokenizer.from_bytes(model.getvalue())
    long = f", {skipped:,} longer than {MAX_SENTENCE_BYTES:,} bytes skipped" if skipped else ""
    report.append(f"{cfg.model}, {tokenizer.vocab_size:,} pieces, trained on {counted(len(shown), 'sentence')}{long}")
    return tokenizer


def _choose_sentences(sentences: Iterable[str], count: int, seed: int) -> tuple[list[str], int]:
    """At most `count` sentences, escaped, chosen at random; and the number of sentences that were too long."""
    rng = random.Random(seed)
    chosen: list[str] = []
    skipped = 0
    for number, sentence in enumerate(_escape(text) for text in sentences):
        if len(sentence.encode()) > MAX_SENTENCE_BYTES:
            skipped += 1
        elif len(chosen) < count:
            chosen.append(sentence)
        elif (place := rng.randrange(number - skipped + 1)) < count:
            chosen[place] = sentence
    return chosen, skipped


class VocabularySizeError(ConfigError):
    """The corpus supports no vocabulary of this size, but one of `bound` pieces."""

    bound: int

    @classmethod
    def of(cls, message: str, bound: str | int) -> "VocabularySizeError":
        """The error with this bound."""
        error = cls(message)
        error.bound = int(bound)
        return error


def _explain(message: str, cfg: TokenizerConfig) -> ConfigError:
    if most := re.search(r"Please set it to a value <= (\d+)", message):
        return VocabularySizeError.of(
            f"tokenizer.vocab_size={cfg.vocab_size} is too large for this corpus and model {cfg.model};"
            f" set it to at most {most[1]}",
            most[1],
        )
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return VocabularySizeError.of(
            f"tokenizer.vocab_size={cfg.vocab_size} is too small for the characters of this corpus;"
            f" set it to at least {least[1]}, or lower tokenizer.character_coverage",
            least[1],
        )
    return ConfigError(f"SentencePiece cannot train this tokenizer: {message.strip()[:300]}; check tokenizer.*")


SENTENCES_SEED = 1  # seed for choosing sentences; not the seed of a run, so that runs of any seed share the cache
MANY_PAIRS = 50_000  # from this size on, starting a second Python (0.4 s) is short compared to the training
TRAINING_REFUSED = 3  # exit code of the process if it printed an error, as JSON


def sides(cfg: TokenizerConfig) -> dict[str, tuple[str, ...]]:
    """The columns that each model is trained on, by the name of the model."""
    return {"joint": ("src", "tgt")} if cfg.joint else {"src": ("src",), "tgt": ("tgt",)}


def train_tokenizers(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    """Writes NAME.model for each of `sides`, and report.json (lines for the report); `table`: the training split."""
    if sum(batch.num_rows for batch in read_batches(table)) < MANY_PAIRS and processes() == 1:
        _train(table, cfg, folder)
    else:
        _train_apart(table, cfg, folder)


def _train(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    report = []
    for name, columns in sides(cfg).items():
        lines: list[str] = []
        model = train_tokenizer(_sentences(table, columns), cfg, SENTENCES_SEED, lines)
        (folder / f"{name}.model").write_bytes(model.bytes)
        report += [f"tokenizer ({name}): {line}" for line in lines]
    (folder / "report.json").write_text(json.dumps(report), "utf-8")


def _sentences(table: Path, columns: tuple[str, ...]) -> Iterator[str]:
    """The sentences of one side, or of both sides in turn."""
    for batch in read_batches(table):
        for row in zip(*(batch[column].to_pylist() for column in columns), strict=True):
            yield from row


def _train_apart(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    job = folder / "job.json"
    job.write_text(json.dumps({"table": str(table), "tokenizer": asdict(cfg)}), "utf-8")
    command = second_process.command("nmt.data.train_tokenizers", str(folder))
    environment = second_process.environment()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    job.unlink()
    if done.returncode == TRAINING_REFUSED:
        refused = json.loads(done.stdout)
        if refused["bound"] is not None:
            raise VocabularySizeError.of(refused["message"], refused["bound"])
        raise DataError(refused["message"])
    if done.returncode == -signal.SIGKILL:
        raise DataError(
            f"the tokenizer's training was killed, most likely because it ran out of memory, {table}; "
            f"lower tokenizer.max_sentences={cfg.max_sentences}"
        )
    if done.returncode:
        raise RuntimeError(f"the training of the tokenizer ended with {done.returncode}: {done.stderr[-2000:]}")


def main(folder: Path) -> int:
    """Does the work of the separate process; returns its exit code."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    try:
        _train(Path(job["table"]), read(TokenizerConfig, job["tokenizer"], "tokenizer"), folder)
    except NmtError as error:
        bound = error.bound if isinstance(error, VocabularySizeError) else None
        print(json.dumps({"message": str(error), "bound": bound}))
        return TRAINING_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
