"""A server that gets any request whatever: a few cases of each part; `python scripts/fuzz serve` tries more."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.fuzz_garbage import garbage
from helpers.fuzz_parts import PARTS, Normal, description_of, words_of
from helpers.fuzz_requests import Request, Requests
from helpers.fuzz_server import Fuzzed
from helpers.http_bytes import Reply
from helpers.servers import listening

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with listening(*words_of(folder)) as (url, _):
        yield url


@pytest.fixture(scope="module")
def description(url: str) -> dict[str, Any]:
    return description_of(url)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["requests", "garbage", "pipelined"])
def test_any_request_is_answered_and_the_next_one_is_translated(url: str, folder: Path, name: str) -> None:
    cases = {"requests": 100, "garbage": 60, "pipelined": 5}[name]
    counts = PARTS[name].tried(url, cases, 0)
    assert sum(counts.values()) == cases
    if name == "requests":
        assert counts[200] > 10
        assert counts[400] > 10
    Normal(folder / "first").check(url)


@pytest.mark.slow
def test_every_route_is_asked(description: dict[str, Any]) -> None:
    requests, rng = Requests(description), random.Random(1)
    asked = Counter(requests.one(rng).route for _ in range(3000))
    assert set(asked) == set(description["paths"])


def test_the_same_seed_makes_the_same_bytes(description: dict[str, Any]) -> None:
    requests = Requests(description)
    first, second = ([garbage(random.Random(seed), requests) for seed in range(100)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 60


ASKED = Request("POST", "/translate", b"POST /translate HTTP/1.1\r\n\r\n")
BAD = [
    (500, {"content-type": "application/json"}, b'{"error": "a mistake"}'),
    (503, {"content-type": "application/json"}, b'{"error": "busy"}'),
    (418, {"content-type": "application/json"}, b'{"error": "tea"}'),
    (400, {"content-type": "application/json"}, b'{"message": "no"}'),
    (400, {"content-type": "application/json"}, b'{"error": ""}'),
    (400, {"content-type": "application/json"}, b'{"error": 3}'),
    (400, {"content-type": "text/plain"}, b"no"),
    (200, {"content-type": "application/json"}, b'{"score": NaN}'),
    (200, {"content-type": "application/json"}, b'{"score": '),
    (200, {"content-type": "text/event-stream"}, b"event: sentence\ndata: {}\n\n"),
]


@pytest.mark.parametrize(("status", "headers", "body"), BAD)
def test_answers_that_are_wrong_are_noticed(
    url: str, description: dict[str, Any], status: int, headers: dict[str, str], body: bytes
) -> None:
    with pytest.raises((AssertionError, ValueError, KeyError)):
        Fuzzed(url, description).check(ASKED, Reply(status, headers, body))


def fuzz(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "fuzz"), "serve", *words], capture_output=True, text=True
    )


def test_no_cases_are_refused() -> None:
    done = fuzz("--cases", "0")
    assert done.returncode == 2
    assert "--cases: 0 is not a whole number from 1 on" in done.stderr


@pytest.mark.slow
def test_the_script_tries_every_part_and_reports(folder: Path) -> None:
    done = fuzz("--cases", "150")
    assert done.returncode == 0, done.stdout
    for name in PARTS:
        assert done.stdout.count(f"| {name} | ") == 2
    assert done.stdout.rstrip().endswith("all holds")
