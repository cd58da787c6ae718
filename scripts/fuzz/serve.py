"""Sends `nmt serve` any request whatever: it makes no mistake, does not hang, and translates as before afterwards.

    python scripts/fuzz serve                          (100,000 cases)
    python scripts/fuzz serve --cases 2000 --seed 2    (fewer, others)

Four parts: schemathesis' requests from the description of the API, valid and not; valid HTTP with any content; bytes
that are almost HTTP; several requests at once (tests/helpers/fuzz_parts.py). Every valid request must be answered in
time as the description says, with no 5xx but 503; memory must not grow with the number of requests. Prints how often
each status was answered. The exit code is 1 where something does not hold; the request is printed.
"""

import re
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from command_line import ROOT, new_parser
from fuzz.arguments import add_cases

GROWTH = 1.25  # of the server's memory between the first tenth of the cases and the last, at most
SLACK_MB = 50  # besides


def main(words: Sequence[str]) -> int:
    """1 if something does not hold."""
    parser = new_parser("fuzz serve", __doc__)
    add_cases(parser, 100_000, "of all parts together")
    arguments = parser.parse_args(words)
    sys.path.insert(0, str(ROOT / "tests"))
    from helpers.fuzz_parts import PARTS, Normal, words_of  # type: ignore[import-not-found]
    from helpers.servers import command  # type: ignore[import-not-found]

    start = perf_counter()
    total = 0
    said: list[str] = []
    print("| part | cases | s | answers |\n|---|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with command("device=cpu", "precision=fp32", *words_of(folder), timeout_s=12 * 3600) as (url, process):
            normal = Normal(folder / "first")
            threading.Thread(target=said.extend, args=(process.stderr,), daemon=True).start()
            try:
                before = 0.0
                for share in (0.1, 0.9):
                    for part, about in PARTS.items():
                        begun = perf_counter()
                        cases = max(1, round(arguments.cases * about.share * share))
                        counts = about.tried(url, cases, arguments.seed + (share > 0.5))
                        total += sum(counts.values())
                        row = ", ".join(f"{status or 'none'}: {count:,}" for status, count in sorted(counts.items()))
                        print(
                            f"| {part} | {sum(counts.values()):,} | {perf_counter() - begun:,.0f} | {row} |", flush=True
                        )
                        normal.check(url)
                    before = before or memory_mb(process.pid)
                after = memory_mb(process.pid)
                assert process.poll() is None, "the server has ended"
                assert not said, "the server complained"
                assert after <= GROWTH * before + SLACK_MB, f"memory grew from {before:,.0f} to {after:,.0f} MB"
            except Exception:
                traceback.print_exc(file=sys.stdout)
                print("the server said:", *said[-100:], sep="\n", flush=True)
                return 1
    print(f"\n{total:,} cases, memory {before:,.0f} → {after:,.0f} MB, {perf_counter() - start:.0f} s; all holds")
    return 0


def memory_mb(pid: int) -> float:
    """Of the process, resident."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1000
