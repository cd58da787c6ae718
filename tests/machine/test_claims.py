"""Claims on files: whole or not at all, one writer at a time, and none that outlives its process."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.machine import claims
from nmt.machine.claims import claimed_file, has_locks

HOLD = """
import pathlib, sys
from nmt.machine.claims import claimed_file
with claimed_file(pathlib.Path(sys.argv[1])) as file:
    file.write(b"half of a much longer file")
    file.flush()
    print("held", flush=True)
    input()
"""


def held(path: Path) -> subprocess.Popen[str]:
    """A process that is writing the file."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def fail_half_way(path: Path, error: type[BaseException]) -> None:
    with claimed_file(path) as file:
        assert file is not None
        file.write(b"half")
        raise error


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with claimed_file(path) as file:
        assert file is not None
        file.write(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"
    with claimed_file(path) as file:
        assert file is None
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail_half_way(tmp_path / "other", error)
    assert os.listdir(tmp_path) == ["out"]


def test_one_process_at_a_time_and_none_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    process = held(path)
    with claimed_file(path) as file:
        assert file is None
    assert os.listdir(tmp_path) == [".out.writing"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert os.listdir(tmp_path) == [".out.writing"]
    with claimed_file(path) as file:
        assert file is not None
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["out"]
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("end", ["finished", "gave up", "finished before"])
def test_another_process_ends_while_this_one_claims(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two steps the other may give its file the path's name, or delete it."""
    path, beside = tmp_path / "out", tmp_path / ".out.writing"
    opened, locked = os.open, claims.take_lock

    def other_ends() -> None:
        if end == "gave up":
            beside.unlink()
        else:
            beside.write_bytes(b"of the other")
            beside.rename(path)
        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(claims, "take_lock", locked)

    def late_lock(handle: int) -> bool | None:
        if beside.exists():  # it is no question about the folder
            other_ends()
        return locked(handle)

    def late_open(name: Path, *more: int) -> int:
        if name == beside:
            other_ends()
        return opened(name, *more)

    if end == "finished before":
        beside.touch()
        monkeypatch.setattr(os, "open", late_open)
    else:
        monkeypatch.setattr(claims, "take_lock", late_lock)
    with claimed_file(path) as file:
        if end == "gave up":
            assert file is not None
            file.write(b"of this one")
        else:
            assert file is None
    assert os.listdir(tmp_path) == ["out"]
    assert path.read_bytes() == (b"of this one" if end == "gave up" else b"of the other")


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"as it was")
    (tmp_path / ".out.writing").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"), claimed_file(tmp_path / "out"):
        pass
    assert (tmp_path / "precious").read_bytes() == b"as it was"


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without them."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
def test_without_locks_every_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert not has_locks(tmp_path)
    with claimed_file(path) as first, claimed_file(path) as second:
        assert first is not None
        assert second is not None
        first.write(b"whole")
        second.write(b"whole")
    assert path.read_bytes() == b"whole"
    with claimed_file(path) as file:
        assert file is None
    assert os.listdir(tmp_path) == ["out"]


def test_a_lock_that_fails_once_is_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, calls = fcntl.flock, []

    def fails_for_the_claim(handle: int, how: int) -> None:
        calls.append(handle)
        if len(calls) == 2:  # the first shows whether the folder has locks
            raise OSError(errno.ENOLCK, "no locks")
        flock(handle, how)

    holder = held(tmp_path / "file")
    monkeypatch.setattr(fcntl, "flock", fails_for_the_claim)
    with pytest.raises(OSError, match="does not lock it now"), claimed_file(tmp_path / "file"):
        pytest.fail("claimed")
    holder.communicate("\n")
    assert (tmp_path / "file").read_bytes() == b"half of a much longer file"


def test_most_folders_have_locks(tmp_path: Path) -> None:
    assert has_locks(tmp_path)
    assert os.listdir(tmp_path) == []
