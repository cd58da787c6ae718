"""Fine-tuning with replay: how much of a domain's gain stays, and what general text loses.

    python scripts/bench replay --general RUN --tatoeba FOLDER --multi30k FOLDER --runs RUNS    (words for nmt train)

RUN was trained on Tatoeba English–German. It is trained further for the captions of Multi30k in two ways. The first
training has the captions alone. The second mixes in three pairs of Tatoeba for each caption, with RUN's own greedy
translations as targets. It makes four times as many updates, so that each caption is seen as often. Then comes the mean
of RUN (1 part) and the second (4 parts). All four models are evaluated on the test sets of both (test_2016_flickr; beam
5). Bars: 90 % of the gain stays, general text loses 0.5 BLEU at most. Finished work in RUNS is not done again; RUNS of
another RUN, of other corpora or of other words are refused.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import add_multi30k, add_tatoeba, check_model, check_multi30k, check_tatoeba
from bench.evaluation import Score, evaluated
from bench.kept import refuse_others
from bench.processes import run_nmt
from bench.recipes import split_words, train
from bench.training_loop import configuration
from command_line import new_parser, one_or_more, own_and_words
from nmt.cli.exit_codes import BAD_INPUT

SIDES = {"src": "en", "tgt": "de"}
TEST_SETS = {"domain": "test_2016_flickr", "general": "test"}
LENGTH = (
    "recipe=null",
    "train.max_epochs=null",
    "train.patience=null",
    "optimizer.lr=0.001",
    "schedule=linear",
    "schedule.warmup=200",
)
GENERAL_PAIRS = 3  # replayed for each pair of the domain
OWN_SHARE = 4  # part of the replayed model in the mean, beside one of RUN
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
    general: Path = arguments.general.resolve()
    models = {"general": general, **{name: runs / name for name in ("domain_alone", "replay", "mean")}}
    configuration(words)  # refuses words that nmt does not know, before anything is done
    places = {"--general": general, "--tatoeba": folders["general"], "--multi30k": folders["domain"]}
    given_settings = {"--updates": arguments.updates, "words": words}
    refuse_others(runs, {option: str(place) for option, place in places.items()} | given_settings)
    own = translated(general, folders["general"] / "train.en", runs / "own" / "train.de")
    for name in ("domain_alone", "replay"):
        updates = arguments.updates if name == "domain_alone" else arguments.updates * (1 + GENERAL_PAIRS)
        length = [f"train.max_updates={updates}", f"train.validate_every={max(1, updates // 5)}", *LENGTH]
        corpora = training_words(folders, own if name == "replay" else None)
        if not train(models[name], [f"init_from={general}", *corpora, *length, *words]):
            return BAD_INPUT
    if not models["mean"].exists():
        parts = [f"model=[{general},{models['replay']}]", f"weights=[1,{OWN_SHARE}]"]
        run_nmt(["average", *parts, f"runs_dir={runs}", "name=mean"])
    print("| model | Multi30k BLEU | Tatoeba BLEU |\n|---|---:|---:|")
    scores = {}
    for name, model in models.items():
        found = {kind: bleu(model, folders[kind] / test, runs / name / kind) for kind, test in TEST_SETS.items()}
        scores[name] = Scores(**{kind: each.score for kind, each in found.items()})
        print(f"| {name.replace('_', ' ')} | {scores[name].domain:.1f} | {scores[name].general:.1f} |", flush=True)
    print(f"\n{judged(scores['general'], scores['domain_alone'], scores['mean'])}\n`{found['general'].signature}`")
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench replay", __doc__)
    parser.add_argument("--general", type=Path, required=True, help="run folder of the general model")
    add_tatoeba(parser)
    add_multi30k(parser)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--updates", type=one_or_more, default=2000, help="of the training on captions alone (2,000)")
    arguments, words = own_and_words(parser, given)
    check_model(parser, arguments.general, "--general")
    check_tatoeba(parser, arguments.tatoeba)
    check_multi30k(parser, arguments.multi30k, "train.de")
    return arguments, words


def translated(model: Path, sources: Path, output: Path) -> Path:
    """The file with the model's own greedy translations of a file."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        run_nmt(["translate", f"model={model}", f"input={sources}", f"output={output}", "search.beam=1"])
    return output


def training_words(folders: dict[str, Path], own: Path | None) -> list[str]:
    """The corpora of one training; `own`: translations of the general sources, to be replayed."""
    words = [f"data.{side}_lang={language}" for side, language in SIDES.items()]
    replayed = {"src": folders["general"] / "train.en", "tgt": own}
    for side, language in SIDES.items():
        files = [folders["domain"] / f"train.{language}", *([replayed[side]] if own is not None else [])]
        words.append(f"data.train.{side}=[{','.join(map(str, files))}]")
    weights = [f"data.train.weights=[1,{GENERAL_PAIRS}]"] if own is not None else []
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
