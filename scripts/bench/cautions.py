"""Cautions about files: how many good corpora get one, and what noise does to the lengths that they look at.

    python scripts/bench cautions --po FOLDER                                          (translations of programs)
    python scripts/bench cautions --po FOLDER --text train.en,train.de --noise 0.2,0.5

FOLDER holds gettext files, LOCALE/LC_MESSAGES/NAME.po, at any depth; the wheels of Django, Wagtail, Weblate and other
programs have such folders, for some 150 locales. All files of a locale are one corpus from English. The output has
nmt's cautions about each corpus. It ends with the range of the correlation of lengths in the median block of 200 pairs:
for the corpora as they are, and with a share of the targets replaced by those of other pairs.
"""

import argparse
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from command_line import new_parser
from nmt.config.compose import command_of
from nmt.config.verbs import TrainCommand
from nmt.data.corpus import Corpus, read_batches, read_corpus
from nmt.data.parallel import LengthAgreement
from nmt.errors import DataError, NmtError

FEWEST = 100  # pairs of a corpus that is looked at
SEED = 1  # of the noise
Pairs = tuple[list[str], list[str]]


def main(given: Sequence[str]) -> int:
    """Prints a line for each caution, and the ranges."""
    arguments = parse_arguments(given)
    found: dict[str, Pairs] = {}
    warned = 0
    with tempfile.TemporaryDirectory() as cache:
        for name, words in [*gettext(arguments.po), *texts(arguments.text)]:
            try:
                corpus = read(words, Path(cache))
            except NmtError as error:  # such as a locale that names no language
                print(f"{name} left out: {error}", file=sys.stderr)
                continue
            pairs = pairs_of(corpus)
            if len(pairs[0]) < FEWEST:
                continue
            found[name] = pairs
            cautions = [line for line in corpus.report if line.startswith("caution: ")]
            warned += bool(cautions)
            for line in cautions:
                print(f"{name}: {line}", flush=True)
    if not found:
        raise DataError(f"no corpus has {FEWEST} pairs that could be read; name other files")
    print(f"{warned} of {len(found)} corpora have a caution")
    for share in [0.0, *arguments.noise]:
        medians = {name: median_correlation(with_noise(pairs, share)) for name, pairs in found.items()}
        known = sorted((value, name) for name, value in medians.items() if value is not None)
        if known:
            (low, lowest), (high, highest) = known[0], known[-1]
            print(f"{share:.0%} wrong: {low:.2f} ({lowest}) to {high:.2f} ({highest}), {len(known)} corpora")
    return 0


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("bench cautions", __doc__)
    parser.add_argument("--po", type=Path, help="folder of gettext files")
    parser.add_argument(
        "--text", action="append", default=[], help="two text files with a comma between them; repeat it"
    )
    parser.add_argument("--noise", default="", help="shares of wrong pairs, with commas")
    arguments = parser.parse_args(given)
    try:
        arguments.noise = [float(share) for share in arguments.noise.split(",") if share]
    except ValueError:
        parser.error(f"--noise {arguments.noise} is not numbers with commas between them")
    if arguments.po is None and not arguments.text:
        parser.error("neither --po nor --text is given; name what to look at")
    if arguments.po is not None and not next(arguments.po.rglob("LC_MESSAGES/*.po"), None):
        parser.error(f"--po {arguments.po} has no LC_MESSAGES/*.po below it")
    for pair in arguments.text:
        if pair.count(",") != 1:
            parser.error(f"--text {pair} is not two files with a comma between them")
        if missing := [file for file in pair.split(",") if not Path(file).is_file()]:
            parser.error(f"--text {pair}: {missing[0]} is not a file; name one with a sentence a line")
    return arguments


def gettext(folder: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Each locale with the words that name its files."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("LC_MESSAGES/*.po")) if folder is not None else ():
        files[path.parents[1].name].append(path)
    for locale, paths in sorted(files.items()):
        code = locale.split("@")[0].replace("_", "-")
        listed = ",".join(f"'{path.resolve()}'" for path in paths)
        yield locale, ["data=po", f"data.train.files=[{listed}]", "data.src_lang=en", f"data.tgt_lang={code}"]


def texts(pairs: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each two files with the words that name them."""
    for pair in pairs:
        src, tgt = (Path(file).resolve() for file in pair.split(","))
        yield pair, ["data=text", f"data.train.src={src}", f"data.train.tgt={tgt}"]


def read(words: Sequence[str], cache: Path) -> Corpus:
    """The corpus, with no part cut off."""
    command: TrainCommand = command_of("train", [*words, "data.dev_size=0", "data.test_size=0"])
    return read_corpus(command.run.data, cache)


def pairs_of(corpus: Corpus) -> Pairs:
    """All sources and all targets."""
    pairs: Pairs = [], []
    for batch in read_batches(corpus.path("train")):
        for side, column in zip(pairs, ("src", "tgt"), strict=True):
            side += batch[column].to_pylist()
    return pairs


def with_noise(pairs: Pairs, share: float) -> Pairs:
    """The pairs, a share of them with another pair's target."""
    chance = random.Random(SEED)
    src, tgt = pairs
    return src, [chance.choice(tgt) if chance.random() < share else text for text in tgt]


def median_correlation(pairs: Pairs) -> float | None:
    """That of the lengths in the median block; None: no block can be judged."""
    agreement = LengthAgreement()
    agreement.add(*pairs)
    known = [value for value in agreement.correlations if value is not None]
    return statistics.median(known) if known else None
