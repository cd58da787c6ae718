"""A corpus's tokenizers, trained: one for both sides or one for each, large corpora in a process of its own.

    python -m nmt.tokenizers FOLDER        (as `train_tokenizers` calls it: FOLDER/job.json says what to do)

SentencePiece's trainer keeps 25 to 65 MB for good of a million sentences. With a process that ends, it keeps nothing.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from nmt.config import TokenizerConfig
from nmt.corpus import read_batches
from nmt.errors import DataError, NmtError
from nmt.schema import read_section
from nmt.tokenizer import train_tokenizer

SEED = 1  # of the choice of sentences: apart from the training's, so that seeds share the cache
MANY_PAIRS = 50_000  # from here on a second Python's start (0.4 s) is little beside the training
BAD_INPUT = 3  # exit code of the process: its output is the error's line


def sides(cfg: TokenizerConfig) -> dict[str, tuple[str, ...]]:
    """The models by name, and the columns that each is trained on."""
    return {"joint": ("src", "tgt")} if cfg.joint else {"src": ("src",), "tgt": ("tgt",)}


def train_tokenizers(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    """Fills a folder with NAME.model for every side and report.json, lines for people; `table`: the training split."""
    if sum(batch.num_rows for batch in read_batches(table)) < MANY_PAIRS:
        _train(table, cfg, folder)
    else:
        _train_apart(table, cfg, folder)


def _train(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    report = []
    for name, columns in sides(cfg).items():
        lines: list[str] = []
        model = train_tokenizer(_sentences(table, columns), cfg, SEED, lines)
        (folder / f"{name}.model").write_bytes(model.bytes)
        report += [f"tokenizer ({name}): {line}" for line in lines]
    (folder / "report.json").write_text(json.dumps(report), "utf-8")


def _sentences(table: Path, columns: tuple[str, ...]) -> Iterator[str]:
    """One side's, or those of both in turn."""
    for batch in read_batches(table):
        for row in zip(*(batch[column].to_pylist() for column in columns), strict=True):
            yield from row


def _train_apart(table: Path, cfg: TokenizerConfig, folder: Path) -> None:
    job = folder / "job.json"
    job.write_text(json.dumps({"table": str(table), "tokenizer": asdict(cfg)}), "utf-8")
    command = [sys.executable, "-P", "-m", "nmt.tokenizers", str(folder)]  # -P: imports nothing from where it stands
    places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    job.unlink()
    if done.returncode == BAD_INPUT:
        raise DataError(done.stdout.strip())
    if done.returncode == -signal.SIGKILL:
        raise DataError(
            f"the training of the tokenizer was killed, most likely for lack of memory, {table};"
            f" set tokenizer.max_sentences={cfg.max_sentences} lower"
        )
    if done.returncode:
        raise RuntimeError(f"the training of the tokenizer ended with {done.returncode}: {done.stderr[-2000:]}")


def main(folder: Path) -> int:
    """The process's work."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    try:
        _train(Path(job["table"]), read_section(TokenizerConfig, job["tokenizer"], "tokenizer"), folder)
    except NmtError as error:
        print(error)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
