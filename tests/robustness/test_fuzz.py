"""Any input whatever: nothing crashes or hangs, no line is lost. A few cases of each property; `make fuzz` tries more.

NMT_FUZZ_CASES=N tries N cases in all, NMT_FUZZ_SEED=S others.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from types import FrameType

import pytest
from helpers.fuzz_commands import COMMANDS
from helpers.fuzz_properties import PROPERTIES, Property
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from fuzz import everything

ROOT = Path(__file__).parents[2]
CASES = int(os.environ.get("NMT_FUZZ_CASES", "1000"))
SEED = int(os.environ.get("NMT_FUZZ_SEED", "0"))
PART = 2000  # cases of one search: what it remembers of them grows
HANGS_S = 20  # a case that takes so long


class Hangs(BaseException):
    """Not an Exception: code that refuses damaged files by catching those does not take it for one."""


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raises where the block hangs."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise Hangs(f"more than {seconds} s")

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


def test_the_smallest_input_for_which_a_property_does_not_hold_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # schemathesis, which other tests import, has hypothesis print its own cases only
    monkeypatch.setattr("hypothesis.core.RepresentationPrinter", RepresentationPrinter)

    def small(number: int) -> None:
        assert number < 100

    with pytest.raises(AssertionError) as failed:
        tried(Property(st.integers(), small, 0.1), 200, 0)
    assert "value=100" in "".join(failed.value.__notes__)


@pytest.mark.slow
def test_a_case_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "HANGS_S", 1)
    with pytest.raises(Hangs, match="more than 1 s"):
        tried(Property(st.just(0), lambda _: sleep(30), 0.1), 1, 0)


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "fuzz"), *words], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cases", "0"], "--cases: 0 is not a whole number from 1 on"),
        (["--only", "tsv, none"], "--only tsv, none: 'none' is the beginning of none of lines, text, tsv"),
        (["--only", "tsv,"], "--only tsv,: '' is the beginning of none of lines"),
    ],
)
def test_nothing_to_try_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        everything.main(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_script_counts_every_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Fewer names; a process for each knows them all.
    code, out = everything.main(["--cases", "50", "--only", "normal,commands"]), capsys.readouterr().out
    assert code == 0, out
    counts = {
        name: int(count.replace(",", ""))
        for name, count in re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|", out, re.MULTILINE)
    }
    assert list(counts) == ["normal form", "commands"]
    assert f"\n{sum(counts.values()):,} cases, 0 properties that do not hold" in out


def test_inputs_that_reach_other_code_are_looked_for() -> None:
    pytest.importorskip("atheris")
    done = fuzz("guided", "lines", "--runs", "300")
    assert done.returncode == 0, done.stderr
    assert "Done 300 in" in done.stderr


@pytest.mark.parametrize("name", [*PROPERTIES, *COMMANDS])
def test_it_holds_for_any_input(name: str) -> None:
    what, start = (PROPERTIES | COMMANDS)[name], perf_counter()
    done = tried(what, max(10, round(CASES * what.share)), SEED)
    print(f"fuzzed {name}: {done} cases in {perf_counter() - start:.1f} s")
    assert done >= 10
