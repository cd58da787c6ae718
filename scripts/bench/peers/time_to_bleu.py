"""Minutes from the first command to 25, 30 and 35 BLEU on Multi30k's dev set: ours, JoeyNMT and OpenNMT-py.

    python scripts/bench time_to_bleu --multi30k FOLDER                          (five hours on two cores)
    python scripts/bench time_to_bleu --multi30k FOLDER --rows nmt,joeynmt --minutes 40

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de, as they were written. Everything is timed: making
the pieces, training, translating val with a beam of 5, BLEU. Ours is `nmt train budget=TIME`, then `nmt evaluate`, for
one budget after another. A peer is trained for --minutes and keeps its weights all along; they are translated
afterwards by the peer's own command, and their time is that of the pieces, of the training until they were written, and
of this translation. The first weights that reach a BLEU are found by halving, as if BLEU only rose. joeynmt and opennmt
are trained as their own recipes say; joeynmt_by_hand and opennmt_by_hand are the model and the settings of `bench
peers`, chosen for this corpus. Results are kept in --work, and not measured again with the same arguments.
"""

import argparse
import json
import re
import shutil
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from bench.arguments import WORK, add_multi30k, chosen, whole_numbers
from bench.evaluation import Score, evaluated
from bench.peers.environments import PEERS, Workplace, set_up, workplace
from bench.peers.tables import table
from bench.peers.text import SPLITS, require_corpus
from bench.peers.toolkits import BATCH_TOKENS, FOREVER, RATE, files_of, opennmt_words, render
from bench.processes import run_nmt
from bench.recipes import CORPORA, data_words
from bench.usage import Usage
from command_line import SCRIPTS, above_zero, new_parser
from nmt.config.times import seconds_of
from nmt.data.paths import read_lines
from nmt.errors import NmtError
from nmt.machine.installed import nmt_version
from nmt.scoring.metrics import score_corpus

VOCAB_SIZE = 8000
OURS = "nmt"
LAST = 3  # sets of weights, of which one must reach a level; BLEU does not always rise
PATIENCE = 16_000  # updates without gain before JoeyNMT's own recipe cuts the rate
HALF_WRITTEN = 5.0  # seconds before the end of a training, in which weights may not have been written whole
TRAIN = {"joeynmt": ("joeynmt", "train", "--skip-test"), "opennmt": ("onmt.bin.train", "-config")}


@dataclass(frozen=True)
class Row:
    """How a peer is trained."""

    key: str  # of the peer
    template: str  # of its configuration
    every: int  # updates between two sets of weights that are kept


ROWS = {
    "joeynmt": Row("joeynmt", "recommended_joeynmt.yaml", 100),
    "opennmt": Row("opennmt", "recommended_opennmt.yaml", 200),
    "joeynmt_by_hand": Row("joeynmt", "joeynmt.yaml", 100),
    "opennmt_by_hand": Row("opennmt", "opennmt.yaml", 100),
}


@dataclass(frozen=True)
class Point:
    """A model on the way."""

    minutes: float  # from the first command to its score
    bleu: float  # on val
    what: str  # it is


@dataclass(frozen=True)
class Outcome:
    """Of one row: models in the order of time."""

    points: list[Point]
    others: float  # share of the machine that other processes used meanwhile; OpenNMT-py's readers count as others
    signature: str  # of BLEU

    @property
    def minutes(self) -> float:
        """To the last model: what none has reached takes longer."""
        return max(point.minutes for point in self.points)

    def minutes_to(self, level: int) -> float | None:
        """To the first model with this BLEU; None: none has it."""
        return min((point.minutes for point in self.points if point.bleu >= level), default=None)

    def cells(self, levels: Sequence[int]) -> list[str]:
        """Of the table, after the row's name."""
        reached = [self.minutes_to(level) for level in levels]
        shown = [f"{minutes:.1f}" if minutes is not None else f"> {self.minutes:.1f}" for minutes in reached]
        return [*shown, f"{self.others:.0%}"]


@dataclass(frozen=True)
class Training:
    """When a peer was trained, by the clock of its files."""

    start: float
    end: float
    others: float


def main(words: Sequence[str]) -> int:
    """Measures what is missing, prints the tables."""
    arguments = parse_arguments(words)
    place = workplace(arguments.work, arguments.multi30k, arguments.torch_index)
    outcomes = {name: outcome_of(place, name, arguments) for name in arguments.rows}
    print(report(outcomes, arguments.levels))
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("bench time_to_bleu", __doc__)
    rows = [OURS, *ROWS]
    add_multi30k(parser)
    parser.add_argument("--work", type=Path, default=WORK, help="folder for all this (%(default)s)")
    parser.add_argument("--rows", default=",".join(rows), help="which, with commas (%(default)s)")
    parser.add_argument("--levels", type=whole_numbers, default=[25, 30, 35], help="of BLEU, with commas (25,30,35)")
    parser.add_argument("--minutes", type=above_zero, default=60.0, help="that a peer is trained for (%(default)s)")
    parser.add_argument("--budgets", default="2m,3m,4m,5m,6m,8m,12m", help="of ours, in turn (%(default)s)")
    parser.add_argument("--torch-index", help="package index that torch is installed from")
    arguments = parser.parse_args(words)
    arguments.rows = chosen(parser, "--rows", arguments.rows, rows)
    arguments.budgets = sorted(arguments.budgets.split(","), key=partial(seconds_of, "budget"))
    require_corpus(arguments.multi30k)
    return arguments


def outcome_of(place: Workplace, name: str, arguments: argparse.Namespace) -> Outcome:
    """The outcome of a row; steps that were done with these arguments are not done again."""
    folder = place.folder / "time_to_bleu" / name
    kept, levels = folder / "outcome.json", arguments.levels
    where = [str(place.multi30k), torch.get_num_threads()]
    if name == OURS:
        asked, work = (
            [levels, arguments.budgets, nmt_version(), *where],
            partial(measure_ours, place, folder, arguments.budgets, max(levels)),
        )
    else:
        row, trained = ROWS[name], folder / "training.json"
        set_up(place, row.key)
        training = [arguments.minutes, row.every, template_of(row), *where]
        place.once(
            f"{name}-training", json.dumps(training), trained, lambda: train(place, row, folder, arguments.minutes)
        )
        times = Training(**json.loads(trained.read_text("utf-8")))
        asked, work = [levels, vars(times)], partial(measure, place, row, folder, times, levels)
    place.once(f"{name}-scores", json.dumps(asked), kept, lambda: keep(kept, work()))
    values = json.loads(kept.read_text("utf-8"))
    return Outcome(**values | {"points": [Point(**each) for each in values["points"]]})


def keep(file: Path, values: Outcome | Training) -> None:
    """For a later call."""
    file.write_text(json.dumps(asdict(values), indent=1) + "\n", "utf-8")


def measure_ours(place: Workplace, folder: Path, budgets: Sequence[str], highest: int) -> Outcome:
    """One budget after another, each from nothing, until one reaches the highest level."""
    shutil.rmtree(folder, ignore_errors=True)
    data = data_words(CORPORA["multi30k_en_de"], place.multi30k, folder)
    points = []
    with Usage() as usage:
        for budget in budgets:
            run, start = folder / budget, time.monotonic()
            new = [f"runs_dir={folder}", f"name={budget}", f"cache_dir={folder / f'cache-{budget}'}"]
            run_nmt(["train", "train.device=cpu", f"budget={budget}", *data, *new])
            spent = (time.monotonic() - start) / seconds_of("budget", budget)
            bleu = evaluated(run, ["device=cpu", "split=dev"], run / "evaluations" / "dev")["BLEU"]
            what = f"budget={budget}, of which nmt train took {spent:.2f}"
            points.append(Point((time.monotonic() - start) / 60, bleu.score, what))
            if bleu.score >= highest:
                break
    return Outcome(points, usage.others, bleu.signature)


def train(place: Workplace, row: Row, folder: Path, minutes: float) -> None:
    """Makes the pieces and trains a peer, which keeps its weights all along."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name, python = PEERS[row.key].name, place.python(row.key)
    files = [place.multi30k / f"{SPLITS[split]}.{side}" for split in ("train", "dev") for side in ("en", "de")]
    with Usage() as usage:
        start = time.time()
        words = ["-m", "bench.peers.pieces", row.key, VOCAB_SIZE, folder, *files]
        place.run(f"{name} pieces", f"{folder.name}-pieces", [python, *words], path=str(SCRIPTS))
        command = [python, "-m", *TRAIN[row.key], configuration(row, folder, folder / "train.yaml")]
        place.run(f"{name} training", f"{folder.name}-train", command, path="", limit=60 * minutes)
        end = time.time()
    keep(folder / "training.json", Training(start, end, usage.others))


def measure(place: Workplace, row: Row, folder: Path, training: Training, levels: Sequence[int]) -> Outcome:
    """Translates with those of the kept weights that decide when a level is reached."""
    kept = [each for each in (folder / "model").glob("*") if is_kept(each, training.end - HALF_WRITTEN)]
    if not kept:
        minutes = (training.end - training.start) / 60
        raise NmtError(f"{PEERS[row.key].name} kept no weights within {minutes:.1f} minutes; give more --minutes")
    kept.sort(key=lambda weights: weights.stat().st_mtime)
    points: dict[int, Point] = {}
    signature = ""

    def reaches(number: int, level: int) -> bool:
        nonlocal signature
        if number not in points:
            weights, begun = kept[number], time.time()
            bleu, signature = scored(place, row, folder, weights)
            seconds = weights.stat().st_mtime - training.start + time.time() - begun
            points[number] = Point(seconds / 60, bleu, f"{updates_of(weights):,} updates")
        return points[number].bleu >= level

    for level in levels:
        for last in reversed(range(max(0, len(kept) - LAST), len(kept))):
            if reaches(last, level):
                bisect_left(range(last + 1), True, key=partial(reaches, level=level))
                break
    return Outcome([points[number] for number in sorted(points)], training.others, signature)


def scored(place: Workplace, row: Row, folder: Path, weights: Path) -> Score:
    """BLEU of a peer's translations of val with these weights."""
    lines = translated(place, row, folder, weights)
    references = list(read_lines(place.multi30k / f"{SPLITS['dev']}.de"))
    if len(lines) != len(references):
        what = f"{len(lines):,} translations of {len(references):,} sentences"
        raise NmtError(f"{PEERS[row.key].name} wrote {what}, in {folder}")
    bleu = score_corpus(lines, [references], "de", intervals=False)[0]
    return Score(bleu.score, bleu.signature)


def template_of(row: Row) -> str:
    """The configuration, with words for values."""
    return Path(__file__).with_name(row.template).read_text("utf-8")


def configuration(row: Row, folder: Path, file: Path, weights: Path | None = None) -> Path:
    """The peer's, written into the file: to train, or with these weights to translate val."""
    values = files_of(row.key, folder) | {"vocabulary": folder / "vocabulary", "every": row.every, "kept": -1}
    values |= {"learning_rate": RATE, "batch_tokens": BATCH_TOKENS}
    if row.key == "joeynmt":
        values |= {"folder": folder / ("translating" if weights else "model"), "model": weights, "beam": 5}
        values |= {"test": folder / "dev", "patience": PATIENCE // row.every} | ({"dev": None} if weights else {})
        (folder / "translating").mkdir(exist_ok=True)  # for its log
    else:
        (folder / "model").mkdir(exist_ok=True)
        sentences = sum(1 for _ in read_lines(folder / "train.src"))
        values |= {"model": folder / "model" / "weights", "input_feed": 0, "sentences": sentences, "updates": FOREVER}
    file.write_text(render(template_of(row), values), "utf-8")
    return file


def is_kept(path: Path, latest: float) -> bool:
    """Are these weights, written by then, and not another name of them?"""
    return path.suffix in (".ckpt", ".pt") and not path.is_symlink() and path.stat().st_mtime < latest


def updates_of(weights: Path) -> int:
    """After which they were written."""
    return int(re.findall(r"\d+", weights.stem)[-1])


def translated(place: Workplace, row: Row, folder: Path, weights: Path) -> list[str]:
    """Lines of text."""
    output = folder / f"{weights.stem}.translations"
    if row.key == "joeynmt":
        config = configuration(row, folder, folder / "translate.yaml", weights)
        command, written = ["joeynmt", "test", config, "-o", output], Path(f"{output}.test")
    else:
        command, written = ["onmt.bin.translate", *opennmt_words(weights, folder / "dev.src", output, beam=5)], output
    what = f"{PEERS[row.key].name} translating"
    place.run(what, f"{folder.name}-translate", [place.python(row.key), "-m", *command], path="")
    return ["".join(line.split()).replace("\u2581", " ").strip() for line in read_lines(written)]


def report(outcomes: Mapping[str, Outcome], levels: Sequence[int]) -> str:
    """When each level is reached, every model that was scored, ours ÷ each peer's time, and how BLEU was counted."""
    head = ["", *(f"minutes to {level}" for level in levels), "others"]
    parts = [table(head, [[name, *outcome.cells(levels)] for name, outcome in outcomes.items()])]
    models = [(name, point) for name, outcome in outcomes.items() for point in outcome.points]
    rows = [[name, point.what, f"{point.minutes:.1f}", f"{point.bleu:.1f}"] for name, point in models]
    parts.append(table(["", "model", "minutes", "BLEU"], rows))
    for name, outcome in outcomes.items():
        if OURS in outcomes and name != OURS:
            ratios = (f"{level} BLEU {ratio(outcomes[OURS], outcome, level)}" for level in levels)
            parts.append(f"ours \u00f7 {name}: {', '.join(ratios)}")
    return "\n\n".join([*parts, "\n".join(sorted({outcome.signature for outcome in outcomes.values()}))])


def ratio(ours: Outcome, peer: Outcome, level: int) -> str:
    """The ratio of the times; a bound where the peer was not trained long enough."""
    own, other = ours.minutes_to(level), peer.minutes_to(level)
    if own is None:
        return "not reached"
    return f"{own / other:.2f}" if other is not None else f"< {own / peer.minutes:.2f}"
