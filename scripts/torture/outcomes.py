"""What came of faults: counted, shown, and kept where something was lost."""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from nmt.machine.safe_files import refuse_unwritable

LOST = "LOST"  # begins the outcome of a fault that cost something


def add_options(parser: argparse.ArgumentParser) -> None:
    """What every torture is given."""
    parser.add_argument("--seed", type=int, default=1, help="of instants and places (1)")
    parser.add_argument("--work", type=Path, help="folder for the runs (a temporary one)")


def check_work(parser: argparse.ArgumentParser, folder: Path | None) -> None:
    """Refuses a folder that is not there, or that nothing can be written to."""
    if folder is not None and not folder.is_dir():
        parser.error(f"--work {folder} is not a folder; make it first")
    if folder is not None:
        refuse_unwritable(folder, "--work")


def table(head: str, rows: Mapping[str, str], columns: Sequence[str], counts: Counter[tuple[str, str]]) -> str:
    """Counts by row and column; `rows`: key -> what it is called."""
    lines = [f"| {head} | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|"]
    for key, name in rows.items():
        lines.append(f"| {name} | {' | '.join(str(counts[key, column]) for column in columns)} |")
    return "\n".join(lines)


def conclude(head: str, counts: Counter[tuple[str, str]], start: float) -> int:
    """Prints faults by what came of them, since this start of the clock; the exit code: 1 if anything is lost."""
    faults, outcomes = (sorted(set(names)) for names in zip(*counts, strict=True))
    print(table(head, {fault: fault for fault in faults}, outcomes, counts))
    lost = sum(count for (_, outcome), count in counts.items() if outcome.startswith(LOST))
    print(f"\n{counts.total()} faults, {lost} lost; {perf_counter() - start:.0f} s")
    return 1 if lost else 0


def lost(place: Path, torture: str, what: str) -> str:
    """The outcome, kept to be looked at."""
    keep(place, torture, [what])
    return f"{LOST}: {what}"


def keep(place: Path, what: str, found: Sequence[str]) -> None:
    """Says what is wrong, and keeps its runs, so that somebody can look into them."""
    kept = Path(tempfile.mkdtemp(prefix="torture-"))
    shutil.copytree(place, kept, dirs_exist_ok=True)
    print(f"{what}, kept in {kept}:", *found[:5], sep="\n    ", file=sys.stderr)
