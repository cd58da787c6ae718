"""Sentences: how many lines of a corpus are cut, how many joined lines are cut where they were joined, how fast.

    python scripts/bench sentences FILE…
    python scripts/bench sentences FILE… --show 20         (so many of the cut lines, and of the pairs cut elsewhere)

Files have a sentence a line, or mostly so: whether a line that is cut should have been can only be read (--show, lines
drawn at random). Joined are lines that are left whole and end with a mark, drawn at random, behind a space (where the
first ends with a mark of Chinese or Japanese: without); right is a cut there and nowhere else.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from command_line import new_parser
from nmt.data.paths import read_lines
from nmt.data.sentences import sentence_spans
from nmt.scoring.alignment import unspaced

PAIRS = 10_000
MARKS = tuple('.!?…。！？”"“»」')  # that a line ends with


def main(given: Sequence[str]) -> int:
    """Prints a line for each file."""
    arguments = parsed(given)
    rng = random.Random(arguments.seed)
    for path in arguments.files:
        lines = list(read_lines(path))
        start = process_time()
        parts = [cut(line) for line in lines]
        seconds = process_time() - start
        size = sum(len(line.encode()) for line in lines) / 1e6
        several = [own for own in parts if len(own) > 1]
        whole = [own[0] for own in parts if len(own) == 1 and own[0].endswith(MARKS)]
        pairs = [rng.sample(whole, 2) for _ in range(PAIRS)] if len(whole) > 1 else []
        wrong = [found for pair in pairs if (found := cut(together(*pair))) != pair]
        right = f"{1 - len(wrong) / len(pairs):.2%} of joined pairs cut right" if pairs else "no pair to join"
        print(f"{path}: {len(lines):,} lines, {len(several):,} cut, {right}, {size / seconds:.1f} MB/s")
        for kind in (several, wrong):
            for own in rng.sample(kind, min(arguments.show, len(kind))):
                print("  " + " | ".join(own))
    return 0


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """Refuses files that are not there."""
    parser = new_parser("bench sentences", __doc__)
    parser.add_argument("files", type=Path, nargs="+", help="text files")
    parser.add_argument("--show", type=int, default=0, help="lines shown of a kind (0)")
    parser.add_argument("--seed", type=int, default=1, help="decides which lines are joined and shown (1)")
    arguments = parser.parse_args(given)
    for path in arguments.files:
        if not path.is_file():
            parser.error(f"no file {path}; check the path")
    return arguments


def cut(text: str) -> list[str]:
    """Its sentences."""
    return [text[span.start : span.end] for span in sentence_spans(text)]


def together(first: str, second: str) -> str:
    """On one line."""
    return first + ("" if unspaced(first[-1]) or unspaced(second[0]) else " ") + second
