"""How memory and speed grow: with the corpus, the sentences, the vocabulary, the model and the batch.

    python scripts/bench scale --output FOLDER                     (everything; a picture and a table of each)
    python scripts/bench scale --only pairs,hidden --quick         (a few points of some, no pictures)

Every point is a process of its own. `pairs` writes synthetic text, prepares it with an empty cache and trains the
reference model on it. The others train on random ids, and change one size of the reference model (vocabulary 8,000,
hidden 512, 20 tokens a sentence, 4,096 tokens a batch). Memory is what is resident and no file's
(RssAnon). The arithmetic beside a speed is that of the point marked *, scaled by the operations a token takes.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench import machine
from bench.arguments import chosen
from bench.processes import measured_apart
from bench.scale_figure import scale_figure
from bench.scale_point import Point, measure
from command_line import above_zero, new_parser, one_or_more
from nmt.figures.figure import save_figure

SIZES = {
    "pairs": [10**4, 10**5, 10**6, 10**7],
    "lengths": [10, 20, 50, 100, 200, 500, 1000],
    "vocabularies": [2_000, 4_000, 8_000, 16_000, 32_000, 64_000],
    "hidden": [128, 256, 512, 1024, 2048],
    "batches": [1, 4, 16, 64, 256, 1024],
}
QUICK = {
    "pairs": [10**4, 10**5],
    "lengths": [10, 20, 100],
    "vocabularies": [2_000, 8_000],
    "hidden": [128, 512],
    "batches": [1, 64],
}
MIDDLE = {"pairs": 10**5, "lengths": 20, "vocabularies": 8_000, "hidden": 512, "batches": 64}  # marked *
LABELS = {
    "pairs": "sentence pairs in the corpus",
    "lengths": "tokens in a sentence, source and target",
    "vocabularies": "pieces in the vocabulary",
    "hidden": "size of the decoder's state",
    "batches": "sentences in a batch",
}
FLAT = 1.2  # memory at the most pairs / memory at 10⁵ pairs


def main(words: Sequence[str]) -> int:
    """Measures every point, prints the tables, draws the pictures."""
    arguments = parse_arguments(words)
    if arguments.case:
        kind, size = arguments.case.split("=")
        with tempfile.TemporaryDirectory() as folder:
            point = measure(kind, int(size), arguments.seconds, Path(folder))
        print(json.dumps(asdict(point)))
        return 0
    print(machine.describe())
    for kind in arguments.only:
        sizes = (QUICK if arguments.quick else SIZES)[kind]
        if kind == "pairs":
            sizes = [size for size in sizes if size <= arguments.most_pairs]
        print(f"\n{LABELS[kind]}")
        points = show(kind, sizes, arguments.seconds)
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            save_figure(scale_figure(points, MIDDLE[kind], LABELS[kind]), arguments.output / f"scale_{kind}.png")
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What to measure."""
    parser = new_parser("bench scale", __doc__)
    parser.add_argument("--only", default=",".join(SIZES), help=f"some of {', '.join(SIZES)}, with commas (all)")
    parser.add_argument("--quick", action="store_true", help="few and small points")
    parser.add_argument("--most-pairs", type=one_or_more, default=10**7, help="leave out larger corpora (10,000,000)")
    parser.add_argument("--seconds", type=above_zero, default=10.0, help="of training at each point (10)")
    parser.add_argument("--output", type=Path, help="folder for the pictures (none are drawn)")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    arguments.only = chosen(parser, "--only", arguments.only, list(SIZES))
    least = min(SIZES["pairs"])
    if arguments.most_pairs < least:
        parser.error(f"--most-pairs {arguments.most_pairs} leaves nothing; give {least:,} or more")
    return arguments


def show(kind: str, sizes: list[int], seconds: float) -> list[Point]:
    """The points of one curve, printed as they come."""
    heads = f"{'tokens/s':>10}{'Mflop/token':>13}{'share':>7}{'memory MB':>11}{'others':>8}"
    more = f"{'prepared MB':>13}{'highest MB':>12}{'prepare s':>11}{'waiting':>9}" if kind == "pairs" else ""
    print(f"{'':<13}{heads}{more}")
    points: list[Point] = []
    for size in sizes:
        point = measured_apart(Point, "scale", ["--case", f"{kind}={size}", "--seconds", str(seconds)])
        points.append(point)
        name = f"{size:,}{' *' if size == MIDDLE[kind] else ''}"
        figures = f"{point.tokens_per_s:>10,.0f}{point.operations_per_token / 1e6:>13.1f}{point.share:>7.0%}"
        line = f"{name:<13}{figures}{point.memory_mb:>11,.0f}{point.others:>8.0%}"
        if kind == "pairs":
            line += f"{point.prepared_mb:>13,.0f}{point.highest_mb:>12,.0f}{point.prepare_s:>11.1f}"
            line += f"{point.waiting_share:>9.2%}"
        print(line, flush=True)
    if kind == "pairs":
        print_growth(points)
    return points


def print_growth(points: list[Point]) -> None:
    """Memory of the largest corpus beside that of 10⁵ pairs."""
    base = next((point for point in points if point.size == MIDDLE["pairs"]), None)
    last = points[-1]
    if base is None or last.size <= base.size:
        return
    for name in ("prepared_mb", "memory_mb"):
        small, large = getattr(base, name), getattr(last, name)
        each = (large - small) * 1e6 / (last.size - base.size)
        verdict = "holds" if large <= FLAT * small else "MISSED"
        when = "after preparing" if name == "prepared_mb" else "in training"
        print(f"memory {when}: {large / small:.2f} times ({FLAT}: {verdict}), {each:.1f} bytes a pair")
