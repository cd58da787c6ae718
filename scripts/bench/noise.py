"""Cleaning: how much of six kinds of noise `nmt clean` removes, and how many good pairs it takes for noise.

    python scripts/bench noise --tatoeba FOLDER                                       (filters alone)
    python scripts/bench noise --tatoeba FOLDER scorer=runs/en-de scorer_reverse=runs/de-en max_contrast=0.9
                                                                                      (words for nmt clean)

FOLDER holds the splits, .en and .de; those named by --splits are taken for clean, and no scorer should have been
trained on them. Each kind of noise takes the place of 5 % of the pairs, drawn by the seed. Bars: 95 % of each kind
removed, at most 2 % of the clean pairs lost. Misaligned and truncated pairs are text like any other: only a scorer
knows them.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.arguments import add_tatoeba, check_corpus
from command_line import new_parser, own_and_words
from nmt.commands.clean import open_scoring, say
from nmt.config.compose import command_of
from nmt.data.clean_corpus import judge
from nmt.data.corpus import training_split
from nmt.data.filters import Sifted
from nmt.data.paths import read_lines

SHARE = 0.05  # of the pairs, for each kind
REMOVED, LOST = 0.95, 0.02  # bars
SYMBOLS = "#@%$^~|*+=_\\/<>{}[]"
FEWEST_WORDS = 4  # of a target to be cut in half

Pair = tuple[str, str]


def misaligned(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """The target of another pair."""
    return pair[0], other[1]


def other_language(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """On either side a sentence of another pair, in the language of the other side."""
    return (pair[0], other[0]) if rng.random() < 0.5 else (other[1], pair[1])


def copied(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """The source as its own target."""
    return pair[0], pair[0]


def truncated(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """The first half of the target's words."""
    words = pair[1].split()
    return pair[0], " ".join(words[: len(words) // 2])


def other_numbers(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """One digit of the target changed, or a number put into it where it has none."""
    places = [place for place, character in enumerate(pair[1]) if character.isdecimal()]
    if places:
        place = rng.choice(places)
        digit = rng.choice([each for each in "0123456789" if each != pair[1][place]])
        return pair[0], pair[1][:place] + digit + pair[1][place + 1 :]
    words = pair[1].split()
    words.insert(rng.randrange(len(words) + 1), str(rng.randrange(1, 3000)))
    return pair[0], " ".join(words)


def garbage(rng: random.Random, pair: Pair, other: Pair) -> Pair:
    """A target in tags, of a wrong encoding, or with symbols in place of most of its characters."""
    kind = rng.randrange(3)
    if kind == 0:
        return pair[0], f'<p class="text">{pair[1]}</p>&nbsp;'
    if kind == 1:
        return pair[0], f"{pair[1]} ü".encode().decode("latin-1")
    return pair[0], "".join(rng.choice(SYMBOLS) if rng.random() < 0.6 else character for character in pair[1])


KINDS: dict[str, Callable[[random.Random, Pair, Pair], Pair]] = {
    "misaligned": misaligned,
    "other language": other_language,
    "copied": copied,
    "truncated": truncated,
    "other numbers": other_numbers,
    "garbage": garbage,
}


def main(given: Sequence[str]) -> int:
    """Measures and prints the table."""
    arguments, words = parse_arguments(given)
    sides = [
        [line for split in arguments.splits for line in read_lines(arguments.tatoeba / f"{split}.{side}")]
        for side in ("en", "de")
    ]
    pairs, kinds = noisy(list(zip(*sides, strict=True)), arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        show(sifted(pairs, words, Path(folder)), kinds)
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt clean`."""
    parser = new_parser("bench noise", __doc__)
    add_tatoeba(parser)
    parser.add_argument("--splits", default="dev,test", help="names of files, with commas (dev,test)")
    parser.add_argument("--seed", type=int, default=1, help="decides which pairs become which noise (1)")
    arguments, rest = own_and_words(parser, words)
    arguments.splits = arguments.splits.split(",")
    for split in arguments.splits:
        for side in ("en", "de"):
            check_corpus(parser, "--tatoeba", arguments.tatoeba, f"{split}.{side}", ", ".join(arguments.splits))
    return arguments, rest


def noisy(pairs: list[Pair], seed: int) -> tuple[list[Pair], list[str]]:
    """The pairs with noise among them, and the kind of each; "clean" for the others."""
    rng = random.Random(seed)
    count = int(SHARE * len(pairs))
    free = rng.sample(range(len(pairs)), len(pairs))
    found, kinds = list(pairs), ["clean"] * len(pairs)
    for kind, make in KINDS.items():
        fit = [row for row in free if kind != "truncated" or len(pairs[row][1].split()) >= FEWEST_WORDS][:count]
        free = sorted(set(free) - set(fit))
        rng.shuffle(free)
        for row in fit:
            other = rng.randrange(len(pairs) - 1)
            found[row] = make(rng, pairs[row], pairs[other + (other >= row)])
            kinds[row] = kind
    return found, kinds


def sifted(pairs: list[Pair], words: list[str], folder: Path) -> Sifted:
    """What `nmt clean` decides on these pairs."""
    for name, side in (("train.en", 0), ("train.de", 1)):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
    place = [f"data.root={folder}", "data.train.src=train.en", "data.train.tgt=train.de"]
    fixed = ["data=text", *place, "data.src_lang=en", "data.tgt_lang=de", f"output={folder / 'clean'}"]
    command = command_of("clean", [*fixed, *words])
    split = training_split(command.data, folder)
    return judge(split, command.data, open_scoring(command), folder / "read.arrow", say).sifted


def show(found: Sifted, kinds: list[str]) -> None:
    """One line for each kind: how many went, by which filters."""
    print(f"{'kind':<16}{'pairs':>8}{'removed':>10}   {'bar':<15}by")
    for kind in [*KINDS, "clean"]:
        rows = np.array([each == kind for each in kinds])
        removed = float((rows & ~found.keep).sum() / max(rows.sum(), 1))
        holds = removed <= LOST if kind == "clean" else removed >= REMOVED
        bar = f"{LOST if kind == 'clean' else REMOVED:.0%}: {'holds' if holds else 'MISSED'}"
        counts = {name: int((found.dropped_by[rows] == n).sum()) for n, name in enumerate(found.names, 1)}
        most = sorted(counts.items(), key=lambda each: -each[1])
        by = ", ".join(f"{name} {count:,}" for name, count in most if count)
        print(f"{kind:<16}{int(rows.sum()):>8,}{removed:>10.1%}   {bar:<15}{by}")
