"""`nmt compare` of small runs over a corpus of made-up sentences, through the command line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.small_corpora import make_pairs
from nmt.cli.main import main

AXES = ("attention=none,dot", "seed=1,2")


def write_splits(folder: Path) -> Path:
    """Training, dev and test files in the folder, and gold alignments of the test sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = make_pairs(130)
    for name, part in (("train", pairs[:100]), ("dev", pairs[100:110]), ("test", pairs[110:])):
        for side, suffix in enumerate(("src", "tgt")):
            (folder / f"{name}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in part), "utf-8")
    lengths = [len(source.split()) for source, _ in pairs[110:]]
    links = [" ".join(f"{i}-{n - 1 - i}" for i in range(n)) for n in lengths]  # targets are sources read backwards
    (folder / "test.gold").write_text("".join(f"{line}\n" for line in links))
    return folder


def words(data: Path, runs: Path) -> list[str]:
    """What every comparison here types besides its axes."""
    splits = [f"data.{split}.{side}={split}.{side}" for split in ("train", "dev", "test") for side in ("src", "tgt")]
    return [
        "data=text", f"data.root={data}", "data.tgt_lang=de", *splits, "data.gold=test.gold", f"cache_dir={data}/cache",
        f"runs_dir={runs}", "tokenizer.vocab_size=60", "tokenizer.byte_fallback=false", "model.d_embed=8",
        "encoder.d_hidden=8", "decoder.d_hidden=16", "optimizer.lr=0.02", "schedule=constant", "search.beam=2",
        "search.max_length_a=1", "search.max_length_b=5", "train.batch_tokens=600", "train.max_updates=6",
        "train.max_epochs=null", "train.validate_every=3", "train.log_every=2", "train.examples=0",
        "train.patience=null", "train.precision=fp32", "train.device=cpu", "train.workers=1",
    ]  # fmt: skip


@contextmanager
def no_figures() -> Iterator[None]:
    """Comparisons draw none meanwhile, which takes most of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt.commands.compare.results_pictures", lambda results: iter(()))
        yield


def compare(data: Path, runs: Path, *more: str) -> int:
    """The exit code."""
    return main(["compare", *words(data, runs), *(more or AXES)])


def results(output: Path) -> dict[str, Any]:
    """results.json."""
    found: dict[str, Any] = json.loads((output / "results.json").read_bytes())
    return found


def models(runs: Path) -> dict[str, tuple[int, bytes]]:
    """Time and content of every model and checkpoint below the folder."""
    return {
        str(path.relative_to(runs)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(runs.rglob("*.safetensors"))
    }
