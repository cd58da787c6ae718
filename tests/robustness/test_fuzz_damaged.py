"""The script that damages files tells which case failed, hung or crashed."""

import multiprocessing
import re

import pytest
from helpers.bad_checks import crashing, failing, hanging
from helpers.fuzz_corpora import CORPORA, whole_corpora
from helpers.fuzz_properties import damaged, damaged_once

from fuzz import damaged as script
from fuzz.damaged import damage_of, in_a_process, try_cases


def test_a_crash_is_told_with_its_case() -> None:
    tried = in_a_process(crashing, "tmx", 10, 7)
    assert tried.cases == 3
    assert tried.readable is tried.seconds is None
    assert tried.failure == f"SIGSEGV ended its process in case 3, damage {damage_of(7, 3)!r}"


@pytest.mark.slow
def test_a_case_that_hangs_ends_its_process() -> None:
    tried = in_a_process(hanging, "tmx", 10, 7)
    assert tried.failure is not None
    assert tried.failure.startswith("SIGALRM ended its process in case 0")


def test_a_failure_is_told_with_its_case_and_traceback() -> None:
    tried = in_a_process(failing, "tmx", 10, 7)
    assert (tried.cases, tried.readable, tried.growth_mb) == (3, 1, None)
    assert tried.failure is not None
    assert tried.failure.startswith(f"case 3, damage {damage_of(7, 3)!r}\nTraceback")
    assert "ValueError: this one" in tried.failure


def test_memory_that_grows_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([100.0, 350.0])
    monkeypatch.setattr(script, "peak_mb", lambda: next(sizes))
    tried = try_cases(lambda _: True, multiprocessing.Value("q", 0), 500, 1)
    assert tried.failure == "memory grew by 250 MB (at most 200)"


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_is_readable_before_it_is_damaged(name: str) -> None:
    assert damaged(name, b"")


def test_each_kind_of_damage() -> None:
    place = (3).to_bytes(2, "little")

    def done(how: int, size: int, rest: bytes = b"") -> bytes:
        return damaged_once(b"abcdefgh", place + bytes([8 * (size - 1) + how]) + rest)

    assert done(0, 1) == b"abc"
    assert done(1, 2) == b"abcdedefgh"
    assert done(2, 2) == b"abcfgh"
    assert done(3, 2, (6).to_bytes(2, "little")) == b"abcghdefgh"
    assert done(4, 1) == b"abcfefgh"
    assert done(5, 1, b"\xf0\xf1") == b"abc\xf0\xf1defgh"
    assert done(6, 1, b"\xf0\xf1") == done(7, 3, b"\xf0\xf1") == b"abc\xf0\xf1fgh"
    assert damaged_once(b"", b"\0\0\0") == b""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cases", "0"], "--cases: 0 is not a whole number from 1 on"),
        (["--only", "tmx, none"], "--only tmx, none: 'none' is the beginning of none of tmx, xliff, tbx"),
        (["--only", "tmx,"], "--only tmx,: '' is the beginning of none of tmx"),
    ],
)
def test_nothing_to_try_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        script.main(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_script_counts_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--cases", "40", "--only", "po,zip"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^\| (\w+) \| (\d+) \|", out, re.MULTILINE) == [("po", "40"), ("zip", "40")]
    assert out.endswith("\n80 cases, 0 of 2 formats fail\n")


def test_corpora_have_the_names_that_the_script_tries() -> None:
    assert set(whole_corpora()) == set(CORPORA)
