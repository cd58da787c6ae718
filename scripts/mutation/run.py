"""Mutation testing: how many small changes of the model, the search and the training do the tests notice?

    make mutation                                  (300 mutants of seed 1: some minutes)
    make mutation ARGS="--seed 2 --only search/"   (others)
    make mutation ARGS="--numbers 3 17 45"         (these of the sample again, for instance after a new test)

No file is touched: each mutant is compiled into a forked process, where it takes the place of its function, and the
tests that belong to its file run, cheapest file first, until one fails. They get LIMIT times the processor time that
they take on the unchanged code, and a bit. Module constants and default arguments are not changed. Survivors are
written as diffs; those in equivalent.yaml, each with its reason, do not count. Exit code 1: fewer than --least per cent
are noticed.
"""

import importlib
import os
import random
import resource
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FunctionType

import pytest
import yaml

from command_line import ROOT, new_parser, one_or_more
from mutation.mutants import Mutant, mutants
from mutation.targets import TARGETS

LIMIT, EXTRA_S = 3, 10  # a mutant's processor time: LIMIT times the tests' own, and EXTRA_S
PATIENCE = 30  # times as long it may take on a busy machine
OUTCOMES = ("killed", "timeout", "survived", "equivalent")


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can notice, or that none should."""

    path: str
    change: str  # the changed lines of its diff
    reason: str


def main(words: Sequence[str]) -> int:
    """1 if too few are noticed, 2 if nothing could be measured."""
    parser = new_parser("mutation", __doc__)
    parser.add_argument("--mutants", type=one_or_more, default=300, help="size of the random sample (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--numbers", type=int, nargs="*", help="of the sample, only these")
    parser.add_argument("--workers", type=one_or_more, default=1, help="processes (1)")
    parser.add_argument("--least", type=float, default=95.0, help="per cent of mutants that must be noticed (95)")
    parser.add_argument("--survivors", type=Path, default=Path("survivors.diff"), help="file to write (survivors.diff)")
    arguments = parser.parse_args(words)
    if not arguments.survivors.resolve().parent.is_dir():
        parser.error(f"--survivors {arguments.survivors} cannot be written; name a folder that exists")
    sample = drawn(arguments.mutants, arguments.seed, arguments.only)
    if not sample:
        parser.error(f"--only {arguments.only}: no path contains it; choose from: {', '.join(TARGETS)}")
    if outside := sorted(set(arguments.numbers or ()) - set(range(len(sample)))):
        parser.error(f"--numbers: {outside[0]} is not in the sample; it has 0 to {len(sample) - 1}")
    known = equivalents()
    chosen = [n for n in range(len(sample)) if arguments.numbers is None or n in arguments.numbers]
    outcomes = {n: "equivalent" for n in chosen if change(sample[n]) in known}
    trial = Trial({n: sample[n] for n in chosen if n not in outcomes}, arguments.workers, outcomes)
    survivors = arguments.survivors.resolve()
    files = sorted({test for n in chosen for test in TARGETS[str(sample[n].path)]})
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    options = ["-s", "-qq", "--tb=line", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    if pytest.main([*options, *files], plugins=[trial]) != 0 or len(outcomes) != len(chosen):
        return 2
    survived = [n for n in sorted(outcomes) if outcomes[n] == "survived"]
    survivors.write_text("".join(f"# number {n}\n{sample[n].diff(ROOT)}\n" for n in survived), "utf-8")
    share = report(sample, outcomes)
    print(f"{len(survived)} survivors: {survivors}")
    return 0 if share >= arguments.least else 1


def drawn(count: int, seed: int, only: str) -> list[Mutant]:
    """A random sample, the same for the same source."""
    every = [m for path in TARGETS if only in path for m in mutants(ROOT, Path(path))]
    print(f"{len(every)} mutants, of which {min(count, len(every))} are tried")
    return random.Random(seed).sample(every, min(count, len(every)))


def equivalents() -> set[tuple[str, str]]:
    """Path and changed lines of the mutants that do not count."""
    listed = yaml.safe_load(Path(__file__).with_name("equivalent.yaml").read_text("utf-8"))
    entries = [Equivalent(**entry) for entry in listed]
    for entry in entries:
        assert entry.reason, entry
        if entry.path not in TARGETS:
            raise SystemExit(f"error: equivalent.yaml names {entry.path}, which is not a target; correct it")
    return {(entry.path, " ".join(entry.change.split())) for entry in entries}


def change(mutant: Mutant) -> tuple[str, str]:
    """What identifies a mutant wherever its lines have moved to."""
    lines = [line for line in mutant.diff(ROOT).splitlines()[2:] if line[0] in "+-"]
    return str(mutant.path), " ".join(" ".join(lines).split())


class Trial:
    """A pytest plugin that runs the collected tests again and again: once as they are, then for each mutant."""

    def __init__(self, jobs: dict[int, Mutant], workers: int, outcomes: dict[int, str]) -> None:
        self.jobs = jobs
        self.workers = workers
        self.outcomes = outcomes
        self.running: dict[int, tuple[int, float]] = {}  # process -> mutant's number, its limit
        self.total = len(jobs) + len(outcomes)
        self.tests: dict[str, list[pytest.Item]] = {}
        self.times: dict[str, float] = {}  # processor seconds of test files

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own loop."""
        for item in session.items:
            self.tests.setdefault(str(item.path.relative_to(ROOT)), []).append(item)
        for number, mutant in self.jobs.items():
            files = sorted(TARGETS[str(mutant.path)], key=self.time)
            limit_s = int(LIMIT * sum(map(self.time, files)) + EXTRA_S)
            if len(self.running) >= self.workers:
                self.wait()
            function, code = replacement(mutant)
            self.running[forked(partial(self.attack, function, code, files, limit_s))] = (number, limit_s)
        while self.running:
            self.wait()
        return True

    def time(self, file: str) -> float:
        """Processor seconds of a test file on unchanged code, on which all must pass; measured once."""
        if file not in self.times:
            child = forked(partial(run, self.tests[file]))
            _, status, usage = os.wait4(child, 0)
            if status != 0:
                pytest.exit(f"error: {file} fails on the unchanged code; mend it first", returncode=2)
            self.times[file] = usage.ru_utime + usage.ru_stime
            print(f"{file}: {self.times[file]:.1f} s", flush=True)
        return self.times[file]

    def attack(self, function: FunctionType, code: CodeType, files: Sequence[str], limit_s: int) -> None:
        """Runs the tests with other code in a function, in a forked process."""
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit_s)
        function.__code__ = code
        run([item for file in files for item in self.tests[file]])

    def wait(self) -> None:
        """For the next process to end."""
        child, status, usage = os.wait4(-1, 0)
        number, limit_s = self.running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
        late = code in (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL) or used >= limit_s
        outcome = "timeout" if late else "killed" if code else "survived"
        self.outcomes[number] = outcome
        mutant = self.jobs[number]
        done = f"{len(self.outcomes)}/{self.total}"
        print(f"{done} number {number} {mutant.path}:{mutant.line}: {outcome}, {used:.1f} s", flush=True)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Nothing is measured with tests that cannot be collected."""
        if report.failed:
            pytest.exit(
                f"error: {report.nodeid} cannot be collected; mend it first: {report.longreprtext}", returncode=2
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first failure ends a forked process; only those run tests."""
        if report.failed:
            os._exit(1)


def forked(work: Callable[[], None]) -> int:
    """The number of a silent process that does this and ends: 0, or 1 after an error."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            work()
        except BaseException:  # whatever a mutant does
            os._exit(1)
        os._exit(0)
    return child


def run(items: list[pytest.Item]) -> None:
    """Runs the tests; `pytest_runtest_logreport` sees what comes out."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def replacement(mutant: Mutant) -> tuple[FunctionType, CodeType]:
    """The function object that everybody holds, and the code that it has in the mutant."""
    with warnings.catch_warnings(action="ignore"):  # of strange syntax
        code: CodeType = compile(mutant.apply((ROOT / mutant.path).read_bytes()), str(ROOT / mutant.path), "exec")
    found: object = importlib.import_module(".".join(mutant.path.with_suffix("").parts))
    for name in mutant.function.split("."):
        code = next(inner for inner in code.co_consts if isinstance(inner, CodeType) and inner.co_name == name)
        found = getattr_static(found, name)
    function = innermost(found)
    assert function.__code__.co_qualname == mutant.function == code.co_qualname
    assert function.__code__.co_freevars == code.co_freevars
    return function, code


def innermost(found: object) -> FunctionType:
    """The function as it is written, below decorators and shape checks."""
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        below = [getattr(found, name) for name in ("fget", "func", "__func__", "__wrapped__") if hasattr(found, name)]
        found = below[0]
    return found


def report(sample: Sequence[Mutant], outcomes: dict[int, str]) -> float:
    """Prints the table; the share in per cent of the mutants that count which were noticed."""

    def row(name: str, numbers: Sequence[int]) -> float:
        counts = Counter(outcomes[n] for n in numbers)
        counted = len(numbers) - counts["equivalent"]
        noticed = counts["killed"] + counts["timeout"]
        share = 100 * noticed / counted if counted else 100.0
        print(f"{name:<34}" + "".join(f"{counts[outcome]:>11}" for outcome in OUTCOMES) + f"{share:>9.1f} %")
        return share

    print(f"{'':<34}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES) + "  noticed")
    for path in sorted({str(sample[n].path) for n in outcomes}):
        row(path, [n for n in outcomes if str(sample[n].path) == path])
    return row("all", list(outcomes))
