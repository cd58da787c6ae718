"""Translation on a machine that does something else as well: beside busy neighbours, one sentence and many.

    python scripts/bench busy_translation --model RUN --multi30k FOLDER
    python scripts/bench busy_translation --model RUN --multi30k FOLDER workers=1      (words for nmt translate)

A neighbour is a process that counts without end. One process translates beside each number of neighbours in turn,
beam 5, over the full vocabulary. It first translates 100 sentences of 13 words of test_2016_flickr, one after another,
from the beginning again if there are fewer. Then it translates the first sentences of that set together. The table has
the medians over the rounds (least to most); shares of the idle machine are those of the same round. The fair share of w
workers on c cores beside n neighbours is c / (w + n) of the idle rate, at most all of it.
"""

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from bench import machine
from bench.arguments import (
    add_model,
    add_multi30k,
    add_neighbours,
    add_rounds,
    check_model,
    check_neighbours,
    parse_measuring,
)
from bench.neighbours import busy_neighbours, fair_share
from bench.spread import spread
from bench.translate import WORDS, each_ms, load, of_words, read
from bench.usage import Usage
from command_line import new_parser, one_or_more
from nmt.errors import ConfigError
from nmt.translation.translator import Translator

FIXED = ["search.beam=5", "shortlist=false"]
WARM_UP = 10  # single sentences


@dataclass(frozen=True)
class Times:
    """Of one round beside some neighbours."""

    median_ms: float  # of single sentences
    slowest_ms: float
    sentences_per_s: float  # of many together


def main(given: Sequence[str]) -> int:
    """Measures in turn and prints the table."""
    arguments, words = parse_arguments(given)
    print(machine.describe())
    sources = read(arguments, "en")
    singles = list(islice(cycle(of_words(sources)), arguments.singles))
    if not singles:
        raise ConfigError(f"none of the first {len(sources)} sentences has {WORDS} words; give --sentences 1000")
    translator = load(arguments.model, [*FIXED, *words])
    translator.translate(sources)
    rounds = [
        {count: measured(count, translator, singles, sources) for count in arguments.neighbours}
        for _ in range(arguments.rounds)
    ]
    print("\n| neighbours | one, median ms | ÷ idle | one, slowest ms | ÷ idle | sentences/s | ÷ idle | ÷ fair share |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for count in arguments.neighbours:
        print(line(count, translator.workers.count, rounds))
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt translate`."""
    parser = new_parser("bench busy_translation", __doc__)
    add_model(parser)
    add_multi30k(parser)
    add_neighbours(parser)
    parser.add_argument("--singles", type=one_or_more, default=100, help="sentences translated one at a time (100)")
    parser.add_argument("--sentences", type=one_or_more, default=1000, help="translated together (1000)")
    add_rounds(parser)
    arguments, rest = parse_measuring(parser, given, "test_2016_flickr.en")
    check_model(parser, arguments.model)
    check_neighbours(parser, arguments.neighbours)
    return arguments, rest


def measured(count: int, translator: Translator, singles: Sequence[str], sources: Sequence[str]) -> Times:
    """Beside so many neighbours."""
    with busy_neighbours(count):
        each_ms(translator, singles[:WARM_UP])
        milliseconds = each_ms(translator, singles)
        with Usage() as usage:
            translator.translate(sources)
    return Times(statistics.median(milliseconds), max(milliseconds), len(sources) / usage.wall_s)


def line(count: int, workers: int, rounds: Sequence[dict[int, Times]]) -> str:
    """One line of the table."""
    here, idle = [each[count] for each in rounds], [each[0] for each in rounds]
    pairs = list(zip(here, idle, strict=True))
    share = [one.sentences_per_s / alone.sentences_per_s for one, alone in pairs]
    figures = [
        spread([one.median_ms for one in here], ".1f"),
        spread([one.median_ms / alone.median_ms for one, alone in pairs]),
        spread([one.slowest_ms for one in here], ".1f"),
        spread([one.slowest_ms / alone.slowest_ms for one, alone in pairs]),
        spread([one.sentences_per_s for one in here], ".1f"),
        spread(share),
        spread([each / fair_share(workers, count) for each in share]),
    ]
    return f"| {count} | {' | '.join(figures)} |"
