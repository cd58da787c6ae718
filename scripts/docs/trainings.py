"""Runs the commands of README and docs/ that train, compare, tune, clean and prepare, one after the other.

    python scripts/docs trainings                          (all of them: about 100 commands, half an hour)
    python scripts/docs trainings --only data=tmx          (those that contain this text, or whose page does)
    python scripts/docs trainings --updates 20             (of each training; 1 otherwise)

Each runs as it is typed, in a folder with small corpora under the names that the pages use, but with few updates of a
small model, so that it takes seconds instead of hours. The table has the exit code of each, and the last line of the
error. Exit code 1 if one of them fails. What needs a network, a cluster or another command before it is not run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from command_line import ROOT, new_parser, one_or_more

if TYPE_CHECKING:
    from helpers.pages import Typed  # type: ignore[import-not-found]

VERBS = ("train", "prepare", "clean", "compare", "tune")
ELSEWHERE = {  # words of commands that are not run, and why
    "data=hub": "downloads",
    "hydra/launcher=submitit_local": "needs the package hydra-submitit-launcher",
    "resume=": "is the beginning of a command",
    "init_from=RUN": "is the beginning of a command",
    "resume=runs/both": "goes on with a run of several processes",
    "experiment=mine": "needs a file that the reader writes",
    "data.train.src=$half.en": "is in a loop of the shell",
    "data.train.src=$half.de": "is in a loop of the shell",
}
LENGTHS = ("budget=", "train.max_updates=", "train.max_epochs=", "train.validate_every=", "trials=")
SIZES = ("tokenizer.vocab_size=", "train.batch_tokens=", "model.d_embed=", "encoder.d_hidden=", "decoder.d_hidden=")
OF_RNN = ("encoder.d_hidden=32", "decoder.d_hidden=64")  # a Transformer has no such keys
PAIRS = 100
SIDES = (("src", "en"), ("tgt", "de"))


def main(given: Sequence[str]) -> int:
    """Prints the table."""
    arguments = parse_arguments(given)
    sys.path.insert(0, str(ROOT / "tests"))
    from helpers.pages import commands
    from helpers.pages_corpora import write_corpora  # type: ignore[import-not-found]

    found = {command: page for command, page in commands().items() if is_one(command)}
    chosen = {command: page for command, page in found.items() if arguments.only in f"{page} {' '.join(command.words)}"}
    if not chosen:
        sys.exit(f"no command of the pages contains {arguments.only!r}")
    failed = 0
    print("| page | command | s | exit code |\n|---|---|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpora(folder, demo_pairs())
        if any("runs/" in word for command in chosen for word in command.words):
            train_runs(folder)
        for command, page in chosen.items():
            reason = next((ELSEWHERE[word] for word in command.words if word in ELSEWHERE), None)
            seconds, outcome = (
                run(shortened(command, arguments.updates, folder), folder) if reason is None else (0.0, "")
            )
            failed += outcome not in ("", "0")
            typed = " ".join(command.words).replace("|", "\\|")
            print(f"| {page} | `{typed}` | {seconds:.0f} | {outcome or f'not run: {reason}'} |", flush=True)
    print(f"\n{failed} of {len(chosen)} commands failed")
    return 1 if failed else 0


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    """Its own options."""
    parser = new_parser("docs trainings", __doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="run commands that contain it, or whose page does")
    parser.add_argument("--updates", type=one_or_more, default=1, help="of each training (1)")
    return parser.parse_args(given)


def is_one(command: "Typed") -> bool:
    """Does the command do one of these things? Help, and mistakes whose errors a page shows, do not."""
    program, verb, *rest = command.words
    return program == "nmt" and verb in VERBS and command.error is None and not {"--help", "--cfg"} & {*rest}


def demo_pairs() -> list[tuple[str, str]]:
    """The first pairs of the demo corpus."""
    sides = [(ROOT / "data" / "demo_en_de" / f"train.{side}").read_text("utf-8").splitlines() for side in ("en", "de")]
    return list(zip(*(side[:PAIRS] for side in sides), strict=True))


def train_runs(folder: Path) -> None:
    """The runs that commands begin with."""
    for name, src, tgt in (("mine", "en", "de"), ("back", "de", "en")):
        words = [f"data.train.src=my.{src}", f"data.train.tgt=my.{tgt}", f"name={name}", "runs_dir=runs"]
        seconds, outcome = run(["train", *words, *short(1), "model.d_embed=8", *OF_RNN], folder)
        if outcome != "0":
            sys.exit(f"the first training failed after {seconds:.0f} s: {outcome}")
    for name, made in (("one", "mine"), ("general", "mine"), ("en-de", "mine"), ("even", "mine"), ("odd", "mine")):
        (folder / "runs" / name).symlink_to(made)
    for name in ("de-en", "even-back", "odd-back"):
        (folder / "runs" / name).symlink_to("back")


def short(updates: int) -> list[str]:
    """Words that make a training short."""
    return [
        *(f"train.max_updates={updates}", f"train.validate_every={updates}", "train.patience=null"),
        *("train.batch_tokens=200", "train.bleu_sentences=1", "cache_dir=cache"),
        *("search.beam=1", "search.max_length_a=0.1", "data.dev_size=2", "data.test_size=2"),
    ]


def shortened(command: "Typed", updates: int, folder: Path) -> list[str]:
    """The words of the command, with few updates of a small model in place of what it says of its length.

    The demo corpora keep their training pairs alone; the others come from the folder. The limits of `nmt clean` become
    wide, for scorers that have learned nothing.
    """
    verb, *words = command.words[1:]
    if verb in ("clean", "prepare"):
        wide = (re.sub(r"^(max_contrast|max_end_surprise)=.*", r"\1=1000", word) for word in words)
        return [verb, *wide, "cache_dir=cache"]
    words = [word for word in words if not word.startswith(LENGTHS)]
    if any(word.startswith("resume=") for word in words):
        return [verb, *words]
    keys = {word.partition("=")[0] for word in words}
    if not any(key.startswith("data.train.") for key in keys):  # the page means any corpus
        words += ["data=demo_en_de"] if keys.isdisjoint(("data", "experiment")) else []
        words += ["data.train.src=my.en", "data.train.tgt=my.de"] if "data=text" in words else []
    if not keys.isdisjoint(("data.root", "tokenizer.vocab_size")):
        words = [*(word for word in words if not word.startswith(SIZES)), "tokenizer.vocab_size=360"]
    if any("=demo_en_" in word for word in words):
        words.append("data.gold=null")
        words += [f"data.{split}.{side}={folder}/{split}.{name}" for split in ("dev", "test") for side, name in SIDES]
    words += [*short(updates), "runs_dir=made"]
    if verb == "tune":  # which chooses sizes
        return [verb, *(word for word in words if not word.startswith(SIZES)), "trials=1"]
    if "init_from" in keys:  # which keeps the model of the other run
        return [verb, *words]
    has_transformer = any("=transformer" in word or "rnn," in word for word in words)
    return [verb, *words, "model.d_embed=8", *(() if has_transformer else OF_RNN)]


def run(words: Sequence[str], folder: Path) -> tuple[float, str]:
    """Seconds, and the exit code with the last line of an error."""
    outputs = [word.partition("=")[2] for word in words if words[0] == "clean" and word.startswith("output=")]
    for made in ("made", *outputs):
        shutil.rmtree(folder / made, ignore_errors=True)
    begun = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "nmt.cli.main", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    said = (done.stderr.strip().splitlines() or [""])[-1] if done.returncode else ""
    return perf_counter() - begun, f"{done.returncode}{said and f': {said}'}".replace("|", "\\|")
