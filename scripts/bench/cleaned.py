"""What cleaning is worth: BLEU after training on a clean corpus, on one with 30 % noise, and on what is cleaned of it.

    python scripts/bench cleaned --tatoeba FOLDER --runs RUNS train.max_updates=5000    (words for nmt train)
    python scripts/bench cleaned --tatoeba FOLDER --runs RUNS --only clean,cleaned --seeds 1,2,3

Noise of six kinds, as in `bench noise`, takes the place of 5 % of the training pairs each; it spares the others
("spared"). `nmt clean` removes what its filters find ("filtered"). The rest is cut into halves, every second pair.
Scorers of both directions are trained on each half, within --budget each, and `nmt clean` goes over each half with the
scorers of the other one ("cleaned"): a model has learned the noise that it was trained on. All models are trained with
the same words and each of --seeds, and evaluated on the clean test split, beam 5. Bars: in the mean, at most 0.5 BLEU
below the clean corpus, 95 % of each kind of noise removed, 2 % of the clean pairs lost. The clean corpus is larger than
the pairs that noise spared, so both are named. Finished work in RUNS is not done again; RUNS of another
corpus, budget or other words are refused.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.arguments import add_tatoeba, check_tatoeba, chosen, whole_numbers
from bench.evaluation import Score, evaluated
from bench.kept import refuse_others
from bench.noise import KINDS, SHARE, Pair, noisy
from bench.processes import run_nmt
from bench.recipes import split_words, train
from bench.training_loop import configuration
from command_line import new_parser, own_and_words
from nmt.cli.exit_codes import BAD_INPUT
from nmt.data.paths import read_lines
from nmt.machine.safe_files import folder_beside, put_in_place

SIDES = {"src": "en", "tgt": "de"}
LIMITS = ("max_contrast=0.9", "max_end_surprise=1")  # docs/cleaning.md
SCORERS = {"scorer": SIDES, "scorer_reverse": {"src": "de", "tgt": "en"}}
CORPORA = ["clean", "noisy", "spared", "filtered", "cleaned"]
LOST = 0.5  # BLEU: bar
SEED = 1  # of the noise


def main(given: Sequence[str]) -> int:
    """Makes what is missing, and prints a row for each corpus."""
    arguments, words = parse_arguments(given)
    runs, tatoeba = arguments.runs.resolve(), arguments.tatoeba.resolve()
    configuration(words)  # refuses words that nmt does not know, before anything is done
    refuse_others(runs, {"--tatoeba": str(tatoeba), "--budget": arguments.budget, "words": words})
    folders = {"clean": tatoeba} | {name: runs / f"{name}_text" for name in CORPORA[1:]}
    if arguments.only != ["clean"]:
        write_noisy(tatoeba, folders["noisy"], folders["spared"])
    if {"filtered", "cleaned"} & set(arguments.only):
        clean(folders["noisy"], folders["filtered"], [])
    of_scorers = words_of_scorer(words, arguments.budget)
    if "cleaned" in arguments.only and not clean_by_halves(
        folders["filtered"], folders["cleaned"], tatoeba, of_scorers
    ):
        return BAD_INPUT
    print("| trained on | pairs | BLEU of each seed | mean |\n|---|---:|---:|---:|")
    means: dict[str, float] = {}
    for name in arguments.only:
        scores = scores_of_seeds(runs / name, [*training_words(folders[name], tatoeba), *words], arguments.seeds)
        if not scores:
            return BAD_INPUT
        means[name] = fmean(score.score for score in scores)
        each = ", ".join(f"{score.score:.2f}" for score in scores)
        print(f"| {name} | {len(pairs_in(folders[name])):,} | {each} | {means[name]:.2f} |", flush=True)
    print_verdicts(means)
    print(f"`{scores[0].signature}`")
    for name in ("filtered", "cleaned"):
        if name in means:
            shares = removed(*noisy(pairs_in(tatoeba), SEED), pairs_in(folders[name]))
            print(f"{name}: removed {', '.join(f'{share:.1%} {kind}' for kind, share in shares.items())}")
    return 0


def scores_of_seeds(run: Path, words: Sequence[str], seeds: Sequence[int]) -> list[Score]:
    """BLEU on the test split of one training for each seed; none where nmt refused the words."""
    scores: list[Score] = []
    for seed in seeds:
        of_seed = run.with_name(f"{run.name}_{seed}")
        if not train(of_seed, [*words, f"seed={seed}"]):
            return []
        folder = of_seed / "evaluations" / "test"
        scores.append(evaluated(of_seed, ["split=test", "intervals=false"], folder)["BLEU"])
    return scores


def print_verdicts(means: dict[str, float]) -> None:
    """How far each corpus with noise, or what is left of it, is below both without."""
    for name in CORPORA:
        for whole in ("clean", "spared"):
            if name not in ("clean", "spared") and {name, whole} <= means.keys():
                lost = means[whole] - means[name]
                print(f"{name}: {lost:.2f} BLEU below {whole} (bar {LOST}: {'holds' if lost <= LOST else 'MISSED'})")


def clean_by_halves(filtered: Path, cleaned: Path, clean_corpus: Path, words: Sequence[str]) -> bool:
    """Each half of the filtered corpus, cleaned with models of the other; False: nmt refused the words for training."""
    runs = cleaned.parent
    halves = write_halves(filtered, runs)
    for half in halves:
        for key, sides in SCORERS.items():
            if not train(runs / f"{key}_{half.name}", [*training_words(half, clean_corpus, sides), *words]):
                return False
    for half, other in (halves, halves[::-1]):
        scorers = [f"{key}={runs / f'{key}_{other.name}'}" for key in SCORERS]
        clean(half, runs / f"{half.name}_cleaned", [*scorers, *LIMITS])
    join([runs / f"{half.name}_cleaned" for half in halves], cleaned)
    return True


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt train`."""
    parser = new_parser("bench cleaned", __doc__)
    add_tatoeba(parser)
    parser.add_argument("--runs", type=Path, required=True, help="folder for runs and corpora")
    parser.add_argument("--budget", default="10m", help="of each scorer; null: as long as the others (%(default)s)")
    parser.add_argument("--seeds", type=whole_numbers, default=[1], help="of the trainings, with commas (1)")
    parser.add_argument("--only", default=",".join(CORPORA), help=f"some of {', '.join(CORPORA)}, with commas (all)")
    arguments, words = own_and_words(parser, given)
    arguments.only = chosen(parser, "--only", arguments.only, CORPORA)
    check_tatoeba(parser, arguments.tatoeba)
    return arguments, words


def words_of_scorer(words: Sequence[str], budget: str) -> list[str]:
    """The words for the trainings; unless the budget is null, it takes the place of their length."""
    if budget == "null":
        return list(words)
    return [f"budget={budget}", *(word for word in words if not word.startswith(("train.max_", "budget=")))]


def training_words(folder: Path, clean: Path, sides: dict[str, str] = SIDES) -> list[str]:
    """The data of one training; dev and test are clean."""
    splits = [*split_words("train", folder, "train", sides), *split_words("dev", clean, "dev", sides)]
    return ["data=text", *languages(sides), *splits, *split_words("test", clean, "test", sides)]


def languages(sides: dict[str, str]) -> list[str]:
    """The words that name the languages of both sides."""
    return [f"data.{side}_lang={language}" for side, language in sides.items()]


def write_noisy(clean: Path, folder: Path, spared: Path) -> None:
    """The training split with noise in place of some of its pairs, and the pairs that it spared."""
    pairs, kinds = noisy(pairs_in(clean), SEED)
    write(spared, [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "clean"])
    if folder.is_dir():
        return
    write(folder, pairs)
    print(f"{folder}: {6 * SHARE:.0%} of {len(pairs):,} pairs are noise", file=sys.stderr)


def clean(source: Path, output: Path, words: Sequence[str]) -> None:
    """`nmt clean` as a user starts it, unless it has been done."""
    if (output / "report.json").is_file():
        return
    data = ["data=text", *languages(SIDES), *split_words("train", source, "train", SIDES)]
    run_nmt(["clean", *data, f"output={output}", *words])


def write_halves(whole: Path, runs: Path) -> tuple[Path, Path]:
    """Two folders with every second pair of a corpus."""
    pairs = pairs_in(whole)
    halves = runs / "odd", runs / "even"
    for first, half in enumerate(halves):
        write(half, pairs[first::2])
    return halves


def join(parts: Sequence[Path], folder: Path) -> None:
    """The pairs of several corpora, one after the other."""
    write(folder, [pair for part in parts for pair in pairs_in(part)])


def write(folder: Path, pairs: Sequence[Pair]) -> None:
    """A new folder with these training pairs, whole or not at all; one that is there stays as it is."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder_beside(folder) as whole:
        for side, language in enumerate(SIDES.values()):
            (whole / f"train.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
        put_in_place(whole, folder)


def pairs_in(folder: Path) -> list[Pair]:
    """The training pairs of a folder."""
    return list(zip(*(read_lines(folder / f"train.{language}") for language in SIDES.values()), strict=True))


def removed(pairs: Sequence[Pair], kinds: Sequence[str], kept: Sequence[Pair]) -> dict[str, float]:
    """The share of the pairs of each kind, the clean ones among them, that are not among those `kept`."""
    left = Counter(kept)
    counts = dict.fromkeys([*KINDS, "clean"], 0)
    for pair, kind in zip(pairs, kinds, strict=True):
        counts[kind] += left[pair] == 0
        left[pair] -= left[pair] > 0
    return {kind: count / kinds.count(kind) for kind, count in counts.items()}
