"""Any input whatever: nothing crashes or hangs, no line is lost. A few cases of each property; `make fuzz` tries more.

NMT_FUZZ_CASES=N tries N cases in all, NMT_FUZZ_SEED=S others.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import FrameType

import pytest
from fuzz_commands import COMMANDS
from fuzz_properties import PROPERTIES, Property
from hypothesis import HealthCheck, given, seed, settings

CASES = int(os.environ.get("NMT_FUZZ_CASES", "1000"))
SEED = int(os.environ.get("NMT_FUZZ_SEED", "0"))
PART = 2000  # cases of one search: what it remembers of them grows
HANGS_S = 20  # a case that takes so long


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raises where the block hangs."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tried(what: Property, cases: int, start: int) -> int:
    """How many cases were tried; raises, with the smallest input found, where one fails."""
    done = 0
    for part in range(-(-cases // PART)):

        @seed(start * 1_000_003 + part)
        @settings(
            max_examples=min(PART, cases - part * PART),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(what.inputs)
        def check(value: object) -> None:
            nonlocal done
            done += 1
            with no_longer_than(HANGS_S):
                what.check(value)

        check()
    return done


@pytest.mark.parametrize("name", [*PROPERTIES, *COMMANDS])
def test_it_holds_for_any_input(name: str) -> None:
    what, start = (PROPERTIES | COMMANDS)[name], perf_counter()
    done = tried(what, max(10, round(CASES * what.share)), SEED)
    print(f"fuzzed {name}: {done} cases in {perf_counter() - start:.1f} s")
    assert done >= 10
