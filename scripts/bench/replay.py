"""Fine-tuning with replay: how much of a domain's gain stays, and what general text loses.

    python scripts/bench replay --general RUN --tatoeba FOLDER --multi30k FOLDER --runs RUNS    (words for nmt train)

RUN was trained on Tatoeba English–German. It is trained further for the captions of Multi30k: once on them alone, once
with as many pairs of Tatoeba mixed in. All three are evaluated on the test sets of both (test_2016_flickr; beam 5).
Bars: 90 % of the gain stays, general text loses 0.5 BLEU at most. What is finished in RUNS is not trained again.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import add_multi30k, add_tatoeba, check_model, check_multi30k, check_tatoeba
from bench.evaluation import Score, evaluated
from bench.recipes import REFUSED, split_words, train
from command_line import new_parser

SIDES = {"src": "en", "tgt": "de"}
TEST_SETS = {"domain": "test_2016_flickr", "general": "test"}
LENGTH = (
    "recipe=null",
    "train.max_updates=2000",
    "train.max_epochs=null",
    "train.patience=null",
    "train.validate_every=400",
    "optimizer.lr=0.001",
    "schedule=linear",
    "schedule.warmup=200",
)
KEPT, LOST = 0.9, 0.5  # bars: share of the gain, BLEU


@dataclass(frozen=True)
class Scores:
    """BLEU of one model."""

    domain: float
    general: float


def main(given: Sequence[str]) -> int:
    """Trains what is missing, and prints a row for each model."""
    arguments, words = parse_arguments(given)
    folders = {"domain": arguments.multi30k.resolve(), "general": arguments.tatoeba.resolve()}
    runs: Path = arguments.runs.resolve()
    models = {"general": arguments.general.resolve(), "domain_alone": runs / "domain_alone", "replay": runs / "replay"}
    for name in ("domain_alone", "replay"):
        own = training_words(folders, replay=name == "replay")
        if not train(models[name], [f"init_from={models['general']}", *own, *LENGTH, *words]):
            return REFUSED
    print("| model | Multi30k BLEU | Tatoeba BLEU |\n|---|---:|---:|")
    scores = {}
    for name, model in models.items():
        found = {kind: bleu(model, folders[kind] / test, runs / name / kind) for kind, test in TEST_SETS.items()}
        scores[name] = Scores(**{kind: each.score for kind, each in found.items()})
        print(f"| {name.replace('_', ' ')} | {scores[name].domain:.1f} | {scores[name].general:.1f} |", flush=True)
    print(f"\n{judged(scores['general'], scores['domain_alone'], scores['replay'])}\n`{found['general'].signature}`")
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench replay", __doc__)
    parser.add_argument("--general", type=Path, required=True, help="run folder of the general model")
    add_tatoeba(parser)
    add_multi30k(parser)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the runs")
    arguments, words = parser.parse_known_args(given)
    check_model(parser, arguments.general, "--general")
    check_tatoeba(parser, arguments.tatoeba)
    check_multi30k(parser, arguments.multi30k, "train.de")
    return arguments, words


def training_words(folders: dict[str, Path], replay: bool) -> list[str]:
    """The corpora of one training; with replay, half of every epoch is general text."""
    parts = ["domain", "general"] if replay else ["domain"]
    words = [f"data.{side}_lang={language}" for side, language in SIDES.items()]
    for side, language in SIDES.items():
        words.append(f"data.train.{side}=[{','.join(str(folders[part] / f'train.{language}') for part in parts)}]")
    weights = ["data.train.weights=[1,1]"] if replay else []
    return ["data=text", *words, *weights, *split_words("dev", folders["domain"], "val", SIDES)]


def bleu(model: Path, test_set: Path, output: Path) -> Score:
    """Of the model on one test set."""
    files = [f"src={test_set}.{SIDES['src']}", f"ref={test_set}.{SIDES['tgt']}"]
    return evaluated(model, [*files, f"output={output}", "intervals=false"], output)["BLEU"]


def judged(general: Scores, alone: Scores, replay: Scores) -> str:
    """The two figures beside their bars."""
    gain = alone.domain - general.domain
    kept = "no gain to keep" if gain <= 0 else f"{(replay.domain - general.domain) / gain:.0%} of the gain stays"
    lost = general.general - replay.general
    without = general.general - alone.general
    return f"{kept} (bar {KEPT:.0%}); general text loses {lost:.1f} BLEU (bar {LOST}), without replay {without:.1f}"
