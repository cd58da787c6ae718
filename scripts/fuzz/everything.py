"""Tries any input whatever on readers, tokenizers, configuration and translator: nothing crashes, no line is lost.

    make fuzz                                (a million cases on two cores, under an hour)
    make fuzz ARGS="--cases 20000"           (fewer)
    make fuzz ARGS="--seed 2"                (others)
    make fuzz ARGS="--only tsv"              (the properties whose names begin so; several with commas)

The properties are in tests/helpers/fuzz_properties.py and fuzz_commands.py beside it. Prints how many cases each was
tried with, and the smallest input found where one does not hold; the exit code is then 1. One property by what code its
inputs reach: python scripts/fuzz guided --help. Many more damaged files: python scripts/fuzz damaged --help
"""

import os
import re
import sys
from collections.abc import Sequence
from time import perf_counter

from command_line import ROOT, new_parser
from fuzz.arguments import add_cases, chosen
from nmt.machine.launch import cores
from processes import side_by_side

RESULT = re.compile(r"fuzzed ([\w ]+): (\d+) cases in ([\d.]+) s")


def main(words: Sequence[str]) -> int:
    """1 if a property does not hold."""
    parser = new_parser("fuzz", __doc__)
    add_cases(parser, 1_000_000, "of the properties together")
    parser.add_argument("--only", default="", help="beginnings of names of properties, with commas (all)")
    arguments = parser.parse_args(words)
    start = perf_counter()
    sys.path.insert(0, str(ROOT / "tests"))
    from helpers.fuzz_commands import COMMANDS  # type: ignore[import-not-found]
    from helpers.fuzz_properties import PROPERTIES  # type: ignore[import-not-found]

    properties = PROPERTIES | COMMANDS
    names = chosen(parser, arguments.only, properties)
    share = sum(properties[name].share for name in names)  # of all cases
    environment = os.environ | {
        "NMT_FUZZ_CASES": str(round(arguments.cases / share)),
        "NMT_FUZZ_SEED": str(arguments.seed),
        "OMP_NUM_THREADS": "1",
    }
    total = failed = 0

    pytest = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    commands = [[*pytest, f"tests/robustness/test_fuzz.py::test_it_holds_for_any_input[{name}]"] for name in names]
    print("| property | cases | s |\n|---|---:|---:|", flush=True)
    results = side_by_side(commands, cores(), cwd=ROOT, env=environment)
    for name, done in zip(names, results, strict=True):
        if found := RESULT.search(done.stdout):
            total += int(found[2])
            print(f"| {name} | {int(found[2]):,} | {float(found[3]):,.0f} |", flush=True)
        if done.returncode:
            failed += 1
            print(f"{name} FAILED\n{done.stdout}", flush=True)
    print(f"\n{total:,} cases, {failed} properties that do not hold; {perf_counter() - start:.0f} s")
    return 1 if failed else 0
