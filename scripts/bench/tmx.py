"""A large translation memory: how fast it is read into the table of a corpus, and in how much memory.

    python scripts/bench tmx                    (a million units; three rounds, each in a new process)
    python scripts/bench tmx --units 100000     (fewer)
    python scripts/bench tmx --alone            (each reading by one process instead of two)

The units are random words with a number each, so that no two are the same; every tenth has a pair of inline tags. Bars:
50,000 units a second, 300 MB. The most memory is that of both processes, the one that reads the file and the one that
cleans and writes, with code and libraries, but not torch, which `nmt prepare` loads, too.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from omegaconf import OmegaConf

from bench.memory import watched_memory
from bench.processes import measured_apart
from bench.usage import Usage
from command_line import new_parser, one_or_more
from nmt.config.check import read
from nmt.config.compose import composed, loader
from nmt.config.sections import DataConfig
from nmt.data.corpus import read_corpus
from nmt.data.formats import apart

UNITS_PER_S, MEMORY_MB = 50_000, 300  # bars
WORDS = "the a small old green dog house sees takes near behind today quickly woman river letter bread".split()
MOST_WORDS = 14
TAGGED = 10  # one unit of so many has tags
HEADER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en" datatype="PlainText"/><body>\n'
)


@dataclass(frozen=True)
class Reading:
    """One reading of the memory, by new processes."""

    wall_s: float
    peak_mb: float
    others: float  # share of the machine that other processes used meanwhile


def main(given: Sequence[str]) -> int:
    """Prints a row for each round, and whether the bars hold in the best one."""
    arguments = parse_arguments(given)
    if arguments.case is not None:
        print(json.dumps(asdict(reading(arguments.case, arguments.alone))))
        return 0
    from bench import machine  # imports torch, which the memory of a reading must not include

    print(f"{machine.describe()}\n\n| units | units/s | most memory, MB | others |\n|---:|---:|---:|---:|")
    alone = ["--alone"] if arguments.alone else []
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder) / "memory.tmx"
        with memory.open("w", encoding="utf-8") as file:
            file.writelines(units(arguments.units))
        readings = [measured_apart(Reading, "tmx", ["--case", str(memory), *alone]) for _ in range(arguments.rounds)]
    for each in readings:
        speed = arguments.units / each.wall_s
        print(f"| {arguments.units:,} | {speed:,.0f} | {each.peak_mb:,.0f} | {each.others:.0%} |")
    speed, peak = arguments.units / min(each.wall_s for each in readings), max(each.peak_mb for each in readings)
    holds = "hold" if speed >= UNITS_PER_S and peak <= MEMORY_MB else "MISSED"
    print(f"\nbest {speed:,.0f} units/s (bar {UNITS_PER_S:,}), most {peak:,.0f} MB (bar {MEMORY_MB}): {holds}")
    return 0


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    """Its own options."""
    parser = new_parser("bench tmx", __doc__)
    parser.add_argument("--units", type=one_or_more, default=1_000_000, help="of the memory (1,000,000)")
    parser.add_argument("--rounds", type=one_or_more, default=3, help="readings, each by new processes (3)")
    parser.add_argument("--alone", action="store_true", help="one process reads, cleans and writes")
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def units(count: int) -> Iterator[str]:
    """The lines of a memory of so many units."""
    chance = random.Random(1)
    yield HEADER
    for number in range(count):
        sides = [" ".join(chance.choices(WORDS, k=chance.randint(3, MOST_WORDS))) for _ in range(2)]
        if number % TAGGED == 0:
            sides = [f'<bpt i="1">&lt;b&gt;</bpt>{side}<ept i="1">&lt;/b&gt;</ept>' for side in sides]
        en, de = (f"{side} {number}." for side in sides)
        tuvs = "".join(f'<tuv xml:lang="{lang}"><seg>{text}</seg></tuv>' for lang, text in (("en", en), ("de", de)))
        yield f'<tu tuid="{number}">{tuvs}</tu>\n'
    yield "</body></tmx>\n"


def reading(memory: Path, alone: bool) -> Reading:
    """Reads the memory into a new cache."""
    if alone:
        apart.LARGE = 1 << 62
    words = ["data=tmx", f"data.train.files={memory}", "data.src_lang=en", "data.tgt_lang=de", "data.dev_size=0"]
    with loader():
        data = read(DataConfig, OmegaConf.to_container(composed("prepare", words).data, resolve=True))
    with tempfile.TemporaryDirectory(dir=memory.parent) as cache, watched_memory("VmRSS") as highest, Usage() as usage:
        read_corpus(data, Path(cache))
    return Reading(usage.wall_s, highest.mb, usage.others)
