"""Options that parts of the fuzzer share."""

import argparse
from collections.abc import Iterable

from command_line import one_or_more


def add_cases(parser: argparse.ArgumentParser, default: int, of: str) -> None:
    """How many cases, and which: `of` what the number is."""
    parser.add_argument("--cases", type=one_or_more, default=default, help=f"{of} ({default:,})")
    parser.add_argument("--seed", type=int, default=1, help="of the cases (1)")


def chosen(parser: argparse.ArgumentParser, only: str, names: Iterable[str]) -> list[str]:
    """The names that begin with one of the words in `only`, which commas separate; all if it is empty."""
    known = list(names)
    beginnings = [each.strip() for each in only.split(",")]
    for each in beginnings:
        if not any(name.startswith(each) for name in known) or (only and not each):
            parser.error(f"--only {only}: '{each}' is the beginning of none of {', '.join(known)}")
    return [name for name in known if name.startswith(tuple(beginnings))]
