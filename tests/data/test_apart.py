"""Large files of segments are read by a second process: the same pairs, counts and errors, and it always ends."""

import io
import os
import pickle
import signal
import subprocess
from pathlib import Path

import pytest
from helpers.fuzz_corpora import SEGMENTS, STRINGS, SUFFIXES
from helpers.segment_files import SegmentFiles

from nmt.data.formats import apart
from nmt.data.formats.pairs import FORMATS, SegmentPairs
from nmt.errors import DataError, NmtError

TMX = SegmentFiles("tmx", "memory.tmx")


@pytest.fixture(autouse=True)
def anything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LARGE", 0)
    monkeypatch.setattr(apart, "cores", lambda: 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every second process that the test starts."""
    found: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *given: object, **options: object) -> None:
            super().__init__(*given, **options)  # type: ignore[call-overload]
            found.append(self)

    monkeypatch.setattr(apart.subprocess, "Popen", Noted)
    return found


def memory(count: int) -> str:
    """A translation memory of so many units, of which every third has no German."""
    units = (
        f'<tu><tuv xml:lang="en"><seg>dog {number}</seg></tuv><tuv xml:lang="{"de" if number % 3 else "fr"}"><seg>Hund '
        f"{number}</seg></tuv></tu>"
        for number in range(count)
    )
    return f'<tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'


def outcome(files: SegmentFiles, folder: Path, content: str | bytes) -> object:
    """Pairs, counts and report, or the error."""
    try:
        split = files.split(folder, content)
        return list(split.pairs()), str(split.tallies[0]), split.tallies[0]
    except NmtError as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "name",
    [
        "tmx",
        *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(SEGMENTS.keys() & FORMATS.keys() - {"tmx"})),
    ],
)
def test_both_processes_read_the_same(tmp_path, monkeypatch, started, name):
    files = SegmentFiles(name, "file")
    whole = SEGMENTS[name]
    for content in (whole, whole[: len(whole) // 2], whole.replace(b'"de"', b'"fr"').replace(b"German", b"French")):
        monkeypatch.setattr(apart, "LARGE", 0)
        there = outcome(files, tmp_path, content)
        monkeypatch.setattr(apart, "LARGE", 1 << 30)
        assert outcome(files, tmp_path, content) == there
    assert started


def test_both_processes_read_the_same_strings(tmp_path, started):
    src, tgt = (tmp_path / f"{side}.{SUFFIXES['android']}" for side in ("en", "de"))
    src.write_bytes(STRINGS["android"][0])
    tgt.write_bytes(STRINGS["android"][1])
    data = SegmentFiles("strings", "unused").data
    here, there = SegmentPairs(data, [(src, tgt)]), SegmentPairs(data, [(src, tgt)])
    assert list(apart.read_apart(data, [(src, tgt)], there.tally)) == list(here)
    assert there.tally == here.tally
    assert len(started) == 1


@pytest.mark.slow
def test_pairs_of_many_blocks_come_in_order_each_time(tmp_path):
    split = TMX.split(tmp_path, memory(4500))
    for _ in range(2):
        expected = [(f"dog {number}", f"Hund {number}") for number in range(4500) if number % 3]
        assert list(split.pairs()) == expected
        assert split.tallies[0].left_out == {"without German": 1500}


def test_the_process_ends_with_the_one_that_asked(tmp_path, started):
    pairs = TMX.split(tmp_path, memory(100_000)).pairs()
    assert next(pairs) == ("dog 1", "Hund 1")
    assert started[0].poll() is None
    pairs.close()  # as an error or Ctrl-C does
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.slow
def test_only_the_first_process_ends_at_ctrl_c(tmp_path, started):
    """The terminal sends the signal to both."""
    pairs = TMX.split(tmp_path, memory(100_000)).pairs()
    read = [next(pairs)]
    os.kill(started[0].pid, signal.SIGINT)
    read += pairs
    assert len(read) == 66_666


def test_a_process_that_is_killed_is_one_line(tmp_path, started):
    pairs = TMX.split(tmp_path, memory(100_000)).pairs()
    next(pairs)
    started[0].kill()
    with pytest.raises(DataError, match=r"^the reading of .*memory\.tmx was killed, most likely .*; divide the file$"):
        list(pairs)


def test_a_process_that_cannot_start_is_no_corpus(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(apart.second_process.sys, "executable", str(python))
    with pytest.raises(RuntimeError, match=r"memory\.tmx ended with 3"):
        list(TMX.split(tmp_path, memory(3)).pairs())


def test_a_mistake_of_nmt_keeps_its_traceback(monkeypatch):
    """The second process in this one."""
    said = io.BytesIO()
    monkeypatch.setattr(apart.signal, "signal", lambda *_: None)
    monkeypatch.setattr(apart.sys, "stdin", io.TextIOWrapper(io.BytesIO(pickle.dumps((None, [])))))
    monkeypatch.setattr(apart.sys, "stdout", io.TextIOWrapper(said))
    assert apart.main() == 0
    found = pickle.loads(said.getvalue())
    assert isinstance(found, AttributeError)
    assert "pairs = SegmentPairs(data, files)" in found.__notes__[0]


def test_a_second_process_ends_when_nobody_listens(tmp_path):
    """The first one may be killed, and then cannot end the second."""
    path = tmp_path / TMX.name
    path.write_text(memory(100_000))
    listener = subprocess.Popen(
        apart.second_process.command("nmt.data.formats.apart"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pickle.dump((TMX.data, [(path,)]), listener.stdin)
    listener.stdin.close()
    assert len(listener.stdout.read(100)) == 100
    listener.stdout.close()
    assert listener.wait(60) == 1


@pytest.mark.parametrize(("cores", "size", "pays"), [(1, 9, False), (2, 9, True), (2, 7, False)])
def test_it_pays_for_large_files_and_another_core(tmp_path, monkeypatch, cores, size, pays):
    monkeypatch.setattr(apart, "LARGE", 8)
    monkeypatch.setattr(apart, "cores", lambda: cores)
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    assert apart.pays([(path,)]) == pays
