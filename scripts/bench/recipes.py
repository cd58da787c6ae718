"""How good is recipe=auto? BLEU, chrF and minutes beside the former defaults and the best words known, for each corpus.

    python scripts/bench recipes --runs RUNS --multi30k FOLDER --tatoeba FOLDER --tatoeba-zh FOLDER
    python scripts/bench recipes --runs RUNS --tatoeba FOLDER --corpora tatoeba_3000 seed=2    (words for nmt train)
    python scripts/bench recipes --runs RUNS --multi30k FOLDER --recipes budget=5m,budget=30m --figure budgets.png

The folders hold Multi30k (train, val and test_2016_flickr), Tatoeba English–German and English–Chinese (train, dev and
test). A corpus such as tatoeba_3000 is the first 3,000 pairs of a training split. Each run is `nmt train` as a user
starts it, then `nmt evaluate` on dev and on the test split, beam 5. Finished trainings in RUNS are not repeated, and
interrupted ones go on. Rows of corpora whose folder is not given are left out. The row `tune` is the best trial of
`nmt tune` around the recipe: up to 30 trials, of which the last begins within 90 minutes.
"""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from bench.evaluation import evaluated
from bench.kept import refuse_others
from bench.processes import nmt_command, train_command
from command_line import new_parser, own_and_words
from nmt.cli.exit_codes import BAD_INPUT
from nmt.config.compose import CONFIGS
from nmt.config.overrides import folder_name
from nmt.config.times import seconds_of
from nmt.figures.curves import Point, curves_figure
from nmt.figures.figure import FILE_KINDS, save_figure
from processes import ended, printed

MINUTES_FILE = "minutes.json"  # of the training, beside the run's own files
DEMO, DEMO_ZH = (CONFIGS.parent / "data" / name for name in ("demo_en_de", "demo_en_zh"))


@dataclass(frozen=True)
class Corpus:
    """Files of a corpus, and the words of the best training known on it, except those for the data."""

    folder: str  # the option that names it
    sides: tuple[str, str]
    dev: str
    test: str
    known: tuple[str, ...]
    pairs: int | None = None  # the first so many of the training split


NARROW = ("experiment=multi30k_en_de",)
CHINESE = (
    *NARROW,
    "tokenizer=unigram",
    "tokenizer.joint=false",
    "tokenizer.vocab_size=4000",
    "tokenizer.character_coverage=0.998",
    "schedule.warmup=400",
    "train.max_epochs=20",
)
CORPORA = {
    "multi30k_en_de": Corpus("multi30k", ("en", "de"), "val", "test_2016_flickr", NARROW),
    "multi30k_de_en": Corpus("multi30k", ("de", "en"), "val", "test_2016_flickr", NARROW),
    "tatoeba_1000": Corpus("tatoeba", ("en", "de"), "dev", "test", (*NARROW, "tokenizer.vocab_size=1000"), 1_000),
    "tatoeba_3000": Corpus("tatoeba", ("en", "de"), "dev", "test", (*NARROW, "tokenizer.vocab_size=2000"), 3_000),
    "tatoeba_10000": Corpus("tatoeba", ("en", "de"), "dev", "test", (*NARROW, "tokenizer.vocab_size=3000"), 10_000),
    "tatoeba_30000": Corpus("tatoeba", ("en", "de"), "dev", "test", NARROW, 30_000),
    "tatoeba_en_de": Corpus("tatoeba", ("en", "de"), "dev", "test", ("experiment=tatoeba_en_de",)),
    "tatoeba_en_zh": Corpus("tatoeba_zh", ("en", "zh"), "dev", "test", CHINESE),
    "tatoeba_zh_en": Corpus("tatoeba_zh", ("zh", "en"), "dev", "test", CHINESE),
    "demo_3000": Corpus("demo", ("en", "de"), "dev", "test", ("experiment=demo_en_de",), 3_000),
    "demo_en_de": Corpus("demo", ("en", "de"), "dev", "test", ("experiment=demo_en_de",)),
    "demo_en_zh": Corpus("demo_zh", ("en", "zh"), "dev", "test", ("experiment=demo_en_zh",)),
}
RECIPES = {"auto": ("recipe=auto",), "former defaults": ("recipe=null",), "known": None}
TUNE = "tune"
BEST = "nmt evaluate model="  # how nmt tune names the best trial
OTHERS = f"{TUNE}, budget=TIME"  # recipes that are trained only where they are named
STUDY = ("recipe=auto", "space=rnn_small", "trials=30", "time_limit=90m")


@dataclass(frozen=True)
class Outcome:
    """Of one training."""

    dev_bleu: float
    test_bleu: float
    test_chrf: float
    minutes: float
    signature: str  # of the BLEU

    def __str__(self) -> str:
        return f"{self.dev_bleu:.2f} | {self.test_bleu:.2f} | {self.test_chrf:.1f} | {self.minutes:.1f}"


def main(given: Sequence[str]) -> int:
    """Trains what is missing and prints a row for each training."""
    arguments, words = parse_arguments(given)
    print("| corpus | recipe | dev BLEU | test BLEU | test chrF | minutes | ÷ budget |")
    print("|---|---|---:|---:|---:|---:|---:|")
    runs: Path = arguments.runs.resolve()
    refuse_others(runs, {f"--{name}": str(folder.resolve()) for name, folder in arguments.given.items()})
    signatures: dict[str, None] = {}
    curves: dict[str, list[Point]] = {}
    for name in arguments.corpora:
        corpus = CORPORA[name]
        data = data_words(corpus, arguments.folders[corpus.folder].resolve(), runs / "data" / name)
        for recipe in arguments.recipes:
            run = runs / folder_name("-".join([name, recipe.replace(" ", "_"), *words]))
            found = best_of_study(run, [*data, *words]) if recipe == TUNE else trained(run, recipe, corpus, data, words)
            if found is None:
                print(f"| {name} | {recipe} | refused | | | | |", flush=True)
                continue
            print(f"| {name} | {recipe} | {found} | {of_budget(recipe, found.minutes)} |", flush=True)
            signatures[found.signature] = None
            if is_budget(recipe):
                curves.setdefault(name, []).append((budget_minutes(recipe), found.test_bleu))
    if not signatures:
        return BAD_INPUT  # nmt refused everything
    print("\n" + "\n".join(f"`{each}`" for each in signatures))
    if arguments.figure is not None:
        draw(curves, arguments.figure)
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench recipes", __doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--multi30k", type=Path, help="folder of Multi30k")
    parser.add_argument("--tatoeba", type=Path, help="folder of Tatoeba English–German")
    parser.add_argument("--tatoeba-zh", type=Path, help="folder of Tatoeba English–Chinese")
    parser.add_argument("--corpora", help=f"which, with commas (all whose folder is given): {', '.join(CORPORA)}")
    parser.add_argument("--recipes", default=",".join(RECIPES), help=f"which, with commas (%(default)s); {OTHERS}")
    parser.add_argument("--figure", type=Path, help="picture of BLEU over the budgets: .png, .svg or .pdf")
    arguments, words = own_and_words(parser, given)
    folders = {"multi30k": arguments.multi30k, "tatoeba": arguments.tatoeba, "tatoeba_zh": arguments.tatoeba_zh}
    arguments.given = {name: each for name, each in folders.items() if each is not None}
    arguments.folders = arguments.given | {"demo": DEMO, "demo_zh": DEMO_ZH}
    there = [name for name, corpus in CORPORA.items() if corpus.folder in arguments.folders]
    arguments.corpora = arguments.corpora.split(",") if arguments.corpora else there
    arguments.recipes = arguments.recipes.split(",")
    for name in arguments.corpora:
        if name not in CORPORA:
            parser.error(f"--corpora {name} is not one of {', '.join(CORPORA)}")
        if name not in there:
            parser.error(f"--corpora {name} needs --{CORPORA[name].folder.replace('_', '-')} FOLDER")
        file = arguments.folders[CORPORA[name].folder] / f"train.{CORPORA[name].sides[0]}"
        if not file.is_file():
            parser.error(f"{file} is missing; name the folder that holds it")
    for name in arguments.recipes:
        if not is_budget(name) and name not in (*RECIPES, TUNE):
            parser.error(f"--recipes {name} is not one of {', '.join(RECIPES)}, {OTHERS}")
    if arguments.figure is not None:
        if not any(map(is_budget, arguments.recipes)):
            parser.error("--figure draws BLEU over budgets; name some: --recipes budget=5m,budget=30m")
        if arguments.figure.suffix.lower() not in FILE_KINDS or not arguments.figure.parent.is_dir():
            kinds = ", ".join(FILE_KINDS)
            parser.error(f"--figure {arguments.figure} cannot be written; name a folder that exists, and {kinds}")
    return arguments, words


def words_of(recipe: str, corpus: Corpus) -> tuple[str, ...]:
    """The words of a recipe, except those for the data."""
    return (recipe,) if is_budget(recipe) else RECIPES[recipe] or corpus.known


def is_budget(recipe: str) -> bool:
    """Is it the recipe for a given time?"""
    return recipe.startswith("budget=")


def of_budget(recipe: str, minutes: float) -> str:
    """How much of a budget the training took; nothing for other recipes."""
    if not is_budget(recipe):
        return ""
    return f"{minutes / budget_minutes(recipe):.2f}"


def budget_minutes(recipe: str) -> float:
    """Minutes of a budget."""
    return seconds_of(*recipe.split("=")) / 60


def draw(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """A picture of BLEU over the budget, a line for each corpus."""
    figure = curves_figure({name: [points] for name, points in curves.items()}, "budget (minutes)", "BLEU")
    (axes,) = figure.axes
    minutes = sorted({x for points in curves.values() for x, _ in points})
    axes.set_xscale("log")
    axes.set_xticks(minutes, [f"{each:g}" for each in minutes])
    axes.minorticks_off()
    save_figure(figure, path)


def data_words(corpus: Corpus, folder: Path, cut: Path) -> list[str]:
    """The words that name its files; the first pairs of a training split are written into the folder `cut`."""
    train = folder
    if corpus.pairs is not None:
        cut.mkdir(parents=True, exist_ok=True)
        for side in corpus.sides:
            with open(folder / f"train.{side}", encoding="utf-8", newline="\n") as lines:
                (cut / f"train.{side}").write_text("".join(islice(lines, corpus.pairs)), "utf-8", newline="\n")
        train = cut
    files = {"train": (train, "train"), "dev": (folder, corpus.dev), "test": (folder, corpus.test)}
    sides = dict(zip(("src", "tgt"), corpus.sides, strict=True))
    words = [f"data.{key}_lang={language}" for key, language in sides.items()]
    return ["data=text", *words, *(word for split in files for word in split_words(split, *files[split], sides))]


def split_words(split: str, folder: Path, name: str, sides: dict[str, str]) -> Iterator[str]:
    """Of one split."""
    for key, language in sides.items():
        yield f"data.{split}.{key}={folder / f'{name}.{language}'}"


def train(run: Path, words: Sequence[str]) -> bool:
    """Trains the run, unless it is finished; goes on with one that was interrupted. False: nmt refused the words."""
    done = run / MINUTES_FILE
    before = json.loads(done.read_text()) if done.exists() else {"minutes": 0.0, "finished": False}
    if before["finished"]:
        return True
    begun = (run / "manifest.json").exists()
    own = [f"resume={run}"] if begun else [f"runs_dir={run.parent}", f"name={run.name}", *words]
    start, code = time.monotonic(), None
    try:
        code = ended(train_command(None, own), stdout=sys.stderr)
    finally:  # also where this process is stopped
        minutes = before["minutes"] + (time.monotonic() - start) / 60
        if run.is_dir():
            done.write_text(json.dumps({"minutes": minutes, "finished": code == 0}))
    if code == BAD_INPUT and not run.is_dir():
        return False
    if code:
        sys.exit(code)
    return True


def trained(run: Path, recipe: str, corpus: Corpus, data: Sequence[str], words: Sequence[str]) -> Outcome | None:
    """The outcome of a training, which is finished first if it was not; None: nmt refused the words."""
    if not train(run, [*words_of(recipe, corpus), *data, *words]):
        return None
    return outcome(run, json.loads((run / MINUTES_FILE).read_text())["minutes"])


def best_of_study(folder: Path, words: Sequence[str]) -> Outcome:
    """The best trial of a study, and how long the study took; goes on with one that was interrupted."""
    done = folder / "study.json"
    study: dict[str, Any] = json.loads(done.read_text()) if done.exists() else {"minutes": 0.0, "best": None}
    if study["best"] is None:
        start = time.monotonic()
        try:
            said = printed(nmt_command("tune", f"runs_dir={folder}", "name=study", *STUDY, *words))
            best = next(line for line in said.splitlines() if line.startswith(BEST))
            study["best"] = shlex.split(best.removeprefix(BEST))[0]
            print(said, file=sys.stderr)
        finally:  # also where this process is stopped
            study["minutes"] += (time.monotonic() - start) / 60
            folder.mkdir(parents=True, exist_ok=True)
            done.write_text(json.dumps(study))
    return outcome(Path(study["best"]), study["minutes"])


def outcome(run: Path, minutes: float) -> Outcome:
    """BLEU on dev, BLEU and chrF on the test split of a run that took so many minutes."""
    dev, test = (evaluated(run, [f"split={split}"], run / "evaluations" / split) for split in ("dev", "test"))
    return Outcome(dev["BLEU"].score, test["BLEU"].score, test["chrF2"].score, minutes, test["BLEU"].signature)
