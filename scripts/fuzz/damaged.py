"""Damages small files of every format that nmt reads: each time, pairs of text come out, or one clear error.

    python scripts/fuzz damaged                             (10,000 cases of each format)
    python scripts/fuzz damaged --cases 100000 --seed 2     (more, others)
    python scripts/fuzz damaged --only tmx,xlsx             (formats whose names begin so)

The corpora are in tests/helpers/fuzz_corpora.py. One, two or four damages are drawn at random: bytes put in, left out,
replaced or repeated, a bit, the end cut off (`damaged_once` in tests/helpers/fuzz_properties.py). One process for each
format, as many at once as there are cores. A case that takes over 20 s ends its process, as a crash does. Prints how
many files were still readable, and by how much memory grew; the exit code is 1 where something does not hold.
"""

import multiprocessing
import os
import random
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from time import perf_counter, sleep
from typing import TypeAlias

from command_line import ROOT, new_parser
from fuzz.arguments import add_cases, chosen

Check = Callable[[bytes], bool]  # is a file with this damage still readable? raises unless it is refused
Case: TypeAlias = "Synchronized[int]"
HANGS_S = 20  # a case that takes so long
GROWTH_MB = 200  # of memory, at most
WARM = 200  # cases after which libraries have loaded what they need
SIZES = (5, 5, 10, 20)  # bytes of damage: in one place, two or four


@dataclass
class Tried:
    """What came of the cases of one format."""

    cases: int = 0
    readable: int | None = None  # None: nobody knows, since the process has ended
    seconds: float | None = None
    growth_mb: float | None = None  # None: too few cases to tell
    failure: str | None = None  # and the case that shows it


def main(words: Sequence[str]) -> int:
    """1 if something does not hold."""
    parser = new_parser("fuzz damaged", __doc__)
    add_cases(parser, 10_000, "of each format")
    parser.add_argument("--only", default="", help="beginnings of names of formats, with commas (all)")
    arguments = parser.parse_args(words)
    sys.path.insert(0, str(ROOT / "tests"))
    from helpers.fuzz_corpora import CORPORA  # type: ignore[import-not-found]

    names = chosen(parser, arguments.only, CORPORA)
    failures = total = 0
    print("| format | cases | still readable | memory grew by, MB | s |\n|---|---:|---:|---:|---:|", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        all_tried = side_by_side.map(lambda name: in_a_process(check_of, name, arguments.cases, arguments.seed), names)
        try:
            for name, tried in zip(names, all_tried, strict=True):
                total += tried.cases
                numbers = (tried.cases, tried.readable, tried.growth_mb, tried.seconds)
                shown = ("–" if number is None else f"{number:,.0f}" for number in numbers)
                print(f"| {name} | {' | '.join(shown)} |", flush=True)
                if tried.failure is not None:
                    failures += 1
                    print(f"{name} FAILED: {tried.failure}", flush=True)
        except BaseException:  # Ctrl-C
            side_by_side.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise
    print(f"\n{total:,} cases, {failures} of {len(names)} formats fail")
    return 1 if failures else 0


def check_of(name: str) -> Check:
    """Damages the corpus of that name."""
    from helpers.fuzz_properties import damaged  # type: ignore[import-not-found]

    return partial(damaged, name)


def in_a_process(find_check: Callable[[str], Check], name: str, cases: int, seed: int) -> Tried:
    """Tries a format in a process of its own, which a damaged file may end."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    case = context.Value("q", 0)
    process = context.Process(target=_child, args=(sender, case, find_check, name, cases, seed), daemon=True)
    process.start()
    sender.close()
    try:
        tried: Tried = receiver.recv()
    except EOFError:
        process.join()
        end = process.exitcode
        assert end is not None
        how = signal.Signals(-end).name if end < 0 else f"exit code {end}"
        damage = damage_of(seed, case.value)
        tried = Tried(case.value, failure=f"{how} ended its process in case {case.value}, damage {damage!r}")
    finally:
        process.kill()
        process.join()
    return tried


def _child(sender: Connection, case: Case, find_check: Callable[[str], Check], name: str, *of: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, even inside a library
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback of each
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sender.send(try_cases(find_check(name), case, *of))


def _end_with(parent: int) -> None:
    """Ends this process soon after its parent."""
    while os.getppid() == parent:
        sleep(1)
    os._exit(1)


def try_cases(check: Check, case: Case, cases: int, seed: int) -> Tried:
    """Checks each case until one raises; keeps its number in `case`, which the parent reads if this process dies."""
    tried, readable, start, before = Tried(), 0, perf_counter(), None
    for number in range(cases):
        case.value = number
        signal.alarm(HANGS_S)
        try:
            readable += check(damage_of(seed, number))
        except Exception:
            tried.failure = f"case {number}, damage {damage_of(seed, number)!r}\n{traceback.format_exc()}"
            break
        finally:
            signal.alarm(0)
        tried.cases += 1
        if tried.cases == WARM:
            before = peak_mb()
    tried.readable, tried.seconds = readable, perf_counter() - start
    if before is not None and tried.cases > WARM:
        tried.growth_mb = peak_mb() - before
    if tried.failure is None and tried.growth_mb is not None and tried.growth_mb > GROWTH_MB:
        tried.failure = f"memory grew by {tried.growth_mb:.0f} MB (at most {GROWTH_MB})"
    return tried


def damage_of(seed: int, number: int) -> bytes:
    """The same for each run with this seed."""
    drawn = random.Random(seed * 1_000_000_007 + number)
    return drawn.randbytes(drawn.choice(SIZES))


def peak_mb() -> float:
    """The most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
