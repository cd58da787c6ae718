"""What cleaning is worth: BLEU after training on a clean corpus, on one with 30 % noise, and on what is cleaned of it.

    python scripts/bench cleaned --tatoeba FOLDER --runs RUNS train.max_updates=5000    (words for nmt train)
    python scripts/bench cleaned --tatoeba FOLDER --runs RUNS --only noisy              (one of the trainings)

Noise of six kinds, as in `bench noise`, takes the place of 5 % of the training pairs each. `nmt clean` removes what its
filters find ("filtered"); a scorer is trained on the rest, within --budget, and `nmt clean` goes over the noisy corpus
once more with it ("cleaned"). All models are trained with the same words and evaluated on the clean test split, beam 5.
Bar: at most 0.5 BLEU below the clean corpus. What is finished in RUNS is not done again.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.arguments import add_tatoeba, check_tatoeba, chosen
from bench.evaluation import Score, evaluated
from bench.noise import SHARE, noisy, read
from bench.recipes import REFUSED, split_words, train
from command_line import new_parser

SIDES = {"src": "en", "tgt": "de"}
LANGUAGES = tuple(f"data.{side}_lang={language}" for side, language in SIDES.items())
LIMITS = ("max_contrast=0.9", "max_end_surprise=1")  # docs/cleaning.md
CORPORA = ["clean", "noisy", "filtered", "cleaned"]
LOST = 0.5  # BLEU: bar


def main(given: Sequence[str]) -> int:
    """Makes what is missing, and prints a row for each corpus."""
    arguments, words = parse_arguments(given)
    runs, tatoeba = arguments.runs.resolve(), arguments.tatoeba.resolve()
    folders = {"clean": tatoeba} | {name: runs / f"{name}_text" for name in CORPORA[1:]}
    if arguments.only != ["clean"]:
        write_noisy(tatoeba, folders["noisy"])
    if {"filtered", "cleaned"} & set(arguments.only):
        clean(folders["noisy"], folders["filtered"], [])
    if "cleaned" in arguments.only:
        scorer = runs / "scorer"
        if not train(
            scorer,
            [*training_words(folders["filtered"], tatoeba), *words_of_scorer(words, arguments.budget)],
        ):
            return REFUSED
        clean(folders["noisy"], folders["cleaned"], [f"scorer={scorer}", *LIMITS])
    print("| trained on | pairs | BLEU |\n|---|---:|---:|")
    found: dict[str, Score] = {}
    for name in arguments.only:
        if not train(runs / name, [*training_words(folders[name], tatoeba), *words]):
            return REFUSED
        found[name] = evaluated(runs / name, ["split=test", "intervals=false"], runs / name / "evaluations" / "test")[
            "BLEU"
        ]
        pairs = len(read(folders[name] / "train.en"))
        print(f"| {name} | {pairs:,} | {found[name].score:.2f} |", flush=True)
    for name in CORPORA[1:] if "clean" in found else []:
        if name in found:
            lost = found["clean"].score - found[name].score
            print(f"{name}: {lost:.2f} BLEU below clean (bar {LOST}: {'holds' if lost <= LOST else 'MISSED'})")
    print(f"`{next(iter(found.values())).signature}`")
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench cleaned", __doc__)
    add_tatoeba(parser)
    parser.add_argument("--runs", type=Path, required=True, help="folder for runs and corpora")
    parser.add_argument("--budget", default="10m", help="of the scorer's training; null = as the others' (%(default)s)")
    parser.add_argument("--only", default=",".join(CORPORA), help=f"some of {', '.join(CORPORA)}, with commas (all)")
    arguments, words = parser.parse_known_args(given)
    arguments.only = chosen(parser, "--only", arguments.only, CORPORA)
    check_tatoeba(parser, arguments.tatoeba)
    return arguments, words


def words_of_scorer(words: Sequence[str], budget: str) -> list[str]:
    """Those for the trainings, but for their length where a budget decides it."""
    if budget == "null":
        return list(words)
    return [f"budget={budget}", *(word for word in words if not word.startswith(("train.max_", "budget=")))]


def training_words(folder: Path, clean: Path) -> list[str]:
    """The data of one training; dev and test are clean."""
    splits = [*split_words("train", folder, "train", SIDES), *split_words("dev", clean, "dev", SIDES)]
    return ["data=text", *LANGUAGES, *splits, *split_words("test", clean, "test", SIDES)]


def write_noisy(clean: Path, folder: Path) -> None:
    """The training split with noise in place of some of its pairs."""
    if folder.is_dir():
        return
    sides = [read(clean / f"train.{language}") for language in SIDES.values()]
    pairs, _ = noisy(list(zip(*sides, strict=True)), seed=1)
    folder.mkdir(parents=True)
    for side, language in enumerate(SIDES.values()):
        (folder / f"train.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
    print(f"{folder}: {6 * SHARE:.0%} of {len(pairs):,} pairs are noise", file=sys.stderr)


def clean(source: Path, output: Path, words: Sequence[str]) -> None:
    """`nmt clean` as a user starts it, unless it has been done."""
    if (output / "report.json").is_file():
        return
    data = ["data=text", *LANGUAGES, *split_words("train", source, "train", SIDES)]
    command = [sys.executable, "-m", "nmt.cli.main", "clean", *data, f"output={output}", *words]
    if code := subprocess.run(command, stdout=sys.stderr).returncode:
        sys.exit(code)
