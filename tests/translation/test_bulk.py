"""Many processes fill one folder. Some are killed, and every file is there once, with the bytes of one process."""

import bz2
import errno
import fcntl
import gzip
import lzma
import os
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from helpers.forked import Forked

from nmt.data.packed import packed_format
from nmt.data.paths import read_lines
from nmt.errors import DataError
from nmt.machine.claims import claimed_file
from nmt.translation import bulk

EVERYTHING = slice(None)
WRITTEN = re.compile(r"^out/(\S+): [\d,]+ lines, [\d,]+ a second$", re.MULTILINE)


def capitals_slowly(source: Path) -> Iterator[str]:
    for line in read_lines(source):
        time.sleep(0.002)
        yield line.upper()


def write_in_capitals(output: str) -> None:
    """A process that writes every line of in/* in capitals, slowly."""
    plan = bulk.plan(sorted(Path("in").iterdir()), Path(output))
    bulk.prepare(plan, {"made": "in capitals"}, False)
    bulk.translate_files(plan, slice(None), capitals_slowly)


def start(folder: Path, output: str) -> Forked:
    return Forked(write_in_capitals, output, cwd=folder)


def finish(process: Forked) -> str:
    """What it said on standard error."""
    said = process.communicate(timeout=240)[1]
    assert process.returncode == 0, said
    return said


def content(folder: Path) -> dict[str, bytes]:
    """Files by their names, the record of the folder included."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_inputs(folder: Path, count: int) -> None:
    folder.mkdir()
    rng = random.Random(1)
    for number in range(count):
        text = "".join(f"line {line} of {number}\n" for line in range(rng.randint(0, 120))).encode()
        if number % 2:
            (folder / f"{number:02}.txt").write_bytes(text)
        else:
            (folder / f"{number:02}.txt.gz").write_bytes(gzip.compress(text))


@pytest.mark.slow
def test_killed_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in", 40)
    finish(start(tmp_path, "undisturbed"))
    whole = content(tmp_path / "undisturbed")
    assert gzip.decompress(whole["02.txt.gz"]).startswith(b"LINE 0 OF 2\n")
    assert whole["03.txt"].startswith(b"LINE 0 OF 3\n")
    (tmp_path / "out").mkdir()
    rng = random.Random(2)
    said, halves = "", 0
    processes = [start(tmp_path, "out") for _ in range(3)]
    for _ in range(6):
        end = time.monotonic() + 30
        while len(list((tmp_path / "out").glob(".*.writing"))) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        victim = rng.randrange(3)
        processes[victim].send_signal(signal.SIGKILL)
        said += processes[victim].communicate()[1]
        for path in (tmp_path / "out").iterdir():
            halves += path.name.endswith(".writing")
            assert path.name.endswith(".writing") or path.read_bytes() == whole[path.name]
        processes[victim] = start(tmp_path, "out")
    assert halves > 2
    said += "".join(map(finish, processes))
    said += finish(start(tmp_path, "out"))  # what the last process to be killed had, if the others were through
    assert content(tmp_path / "out") == whole
    written = WRITTEN.findall(said)  # not every file: a process may be killed between writing and saying so
    assert len(written) == len(set(written)) > 30
    assert finish(start(tmp_path, "out")).endswith("40 of 40 files: 40 there already\n")


def capitals(source: Path) -> Iterator[str]:
    return (line.upper() for line in read_lines(source))


def run(sources: list[Path], folder: Path, share: slice = EVERYTHING, sharded: bool = False, **made: str) -> None:
    plan = bulk.plan(sources, folder)
    bulk.prepare(plan, made, sharded)
    bulk.translate_files(plan, share, capitals)


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Ten small files."""
    write_inputs(tmp_path / "in", 10)
    return sorted((tmp_path / "in").iterdir())


def test_shards_are_all_files_each_once_whatever_the_order_and_the_folder(sources: list[Path], tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(sources, whole)
    for start in range(3):
        before = set(os.listdir(parts)) if parts.exists() else {bulk.RECORD}
        run(sources[::-1], parts, slice(start, None, 3))
        new = sorted(set(os.listdir(parts)) - before)
        assert new == [path.name for path in sources[start::3]]
    assert content(parts) == content(whole)


def test_what_another_process_has_is_left_to_it(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with suppress(KeyboardInterrupt), claimed_file(out / sources[3].name):
        run(sources, out)
        raise KeyboardInterrupt
    assert capsys.readouterr().err.endswith("10 of 10 files: 9 translated, 1 in the hands of other processes\n")
    run(sources, out)
    assert capsys.readouterr().err.endswith("10 of 10 files: 9 there already, 1 translated\n")
    last = out / sources[9].name
    last.unlink()
    (out / sources[3].name).unlink()

    def translated(source: Path) -> Iterator[str]:
        yield from capitals(source)
        other.__exit__(None, None, None)  # ends its file while this one is at the last

    other = claimed_file(out / sources[3].name)
    other.__enter__()
    bulk.translate_files(bulk.plan(sources, out), EVERYTHING, translated)
    assert capsys.readouterr().err.endswith(
        "10 of 10 files: 8 there already, 1 translated, 1 done by other processes meanwhile\n"
    )
    assert len(os.listdir(out)) == 11


def test_what_another_process_leaves_unwritten_is_taken_at_the_end(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(sources[9:], out)
    (out / sources[9].name).unlink()
    other = claimed_file(out / sources[3].name)
    other.__enter__()

    def translated(source: Path) -> Iterator[str]:
        yield from capitals(source)
        if source == sources[9]:
            with suppress(KeyboardInterrupt):
                other.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)

    bulk.translate_files(bulk.plan(sources, out), EVERYTHING, translated)
    assert capsys.readouterr().err.endswith("10 of 10 files: 10 translated\n")
    assert len(os.listdir(out)) == 11


def test_a_bad_file_that_another_process_had_is_counted_once(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(sources[9:], out)
    (out / sources[9].name).unlink()
    others = [claimed_file(out / sources[number].name) for number in (3, 5)]
    for other in others:
        other.__enter__()

    def translated(source: Path) -> Iterator[str]:
        if source == sources[3]:
            raise DataError("line 1 is bad")
        yield from capitals(source)
        for other in others if source == sources[9] else ():
            with suppress(KeyboardInterrupt):
                other.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)

    with pytest.raises(DataError, match=r"^1 of 10 files cannot be translated, for the reasons above: "):
        bulk.translate_files(bulk.plan(sources, out), EVERYTHING, translated)
    assert "10 of 10 files: 9 translated, 1 not translated\n" in capsys.readouterr().err


def test_a_bad_file_does_not_keep_the_others(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources[1].write_bytes(b"fine\nnot \xff\n")
    sources[4].write_bytes(sources[4].read_bytes()[:-9])
    out = tmp_path / "out"
    with pytest.raises(DataError) as found:
        run(sources, out)
    assert str(found.value) == (
        f"2 of 10 files cannot be translated, for the reasons above: {sources[1]}, {sources[4]}; repair them, and type "
        "the same command again"
    )
    said = capsys.readouterr().err
    assert f"caution: {sources[1]}, line 2: byte 0xff is not valid UTF-8; convert the file" in said
    assert f"caution: {sources[4]} is a damaged gzip file" in said
    assert said.endswith("10 of 10 files: 8 translated, 2 not translated\n")
    others = {path.name for path in sources} - {sources[1].name, sources[4].name}
    assert {*os.listdir(out)} == {bulk.RECORD, *others}
    for path in sources[1], sources[4]:
        path.write_bytes(b"mended\n")
    run(sources, out)
    assert len(os.listdir(out)) == 11
    many = [tmp_path / f"{number}.bad" for number in range(7)]
    for path in many:
        path.write_bytes(b"\xff\n")
    with pytest.raises(DataError, match=r"/4.bad and 2 more; repair them"):
        run(many, out)


def test_a_file_that_changes_meanwhile_is_not_translated(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def while_it_grows(source: Path) -> Iterator[str]:
        yield from capitals(source)
        if source == sources[3]:
            source.write_bytes(source.read_bytes() + b"more\n")
        if source == sources[5]:
            source.unlink()

    out = tmp_path / "out"
    bulk.prepare(bulk.plan(sources, out), {}, False)
    with pytest.raises(DataError, match=r"^2 of 10 files cannot be translated, for the reasons above: "):
        bulk.translate_files(bulk.plan(sources, out), EVERYTHING, while_it_grows)
    said = capsys.readouterr().err
    for source in sources[3], sources[5]:
        assert f"caution: {source} has changed while it was translated; the other files go on\n" in said
        assert not (out / source.name).exists()
    sources[5].write_text("again\n")
    run(sources, out)
    assert (out / sources[3].name).read_text().endswith("\nMORE\n")
    assert (out / sources[5].name).read_text() == "AGAIN\n"


def test_a_target_that_alone_cannot_be_written_does_not_keep_the_others(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    long = tmp_path / "in" / ("x" * 250)
    long.write_text("long\n")
    bulk.prepare(bulk.plan([*sources, long], out), {}, False)
    (out / sources[1].name).mkdir()
    with pytest.raises(DataError, match=r"^2 of 11 files cannot be translated, for the reasons above: "):
        run([*sources, long], out)
    said = capsys.readouterr().err
    assert f"caution: cannot write {out / sources[1].name} (Is a directory); check that place, or choose" in said
    assert f"caution: cannot write {out / long.name} (File name too long); check that place, or choose" in said
    assert said.endswith("11 of 11 files: 9 translated, 2 not translated\n")
    assert len(os.listdir(out)) == 11, "nine translations, the folder and the record"


def test_what_could_not_be_read_is_named_where_the_disk_ends_the_command(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def on_a_full_disk(lines: Iterator[str], *_: object) -> int:
        if len(list(lines)) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return 0

    sources[0].write_bytes(b"\xff\n")
    sources[1].write_text("the only line\n")
    monkeypatch.setattr("nmt.translation.bulk._write", on_a_full_disk)
    with pytest.raises(DataError, match=r"^cannot write .* \(No space left on device\); make room, or choose another"):
        run(sources, tmp_path / "out")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"caution: 1 of 10 files cannot be translated, for the reasons above: {sources[0]}"


def test_odd_names_are_printed_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = [tmp_path / "a\nb", tmp_path / "c\x1b[2Jd"]
    odd[0].write_text("one\n")
    odd[1].write_bytes(b"\xff\n")
    with pytest.raises(DataError):
        run(odd, tmp_path / "out")
    said = capsys.readouterr().err
    assert "/out/a\\nb: 1 line, " in said
    assert "/c\\x1b[2Jd, line 1: byte 0xff is not valid UTF-8" in said
    assert said.count("\n") == 3


def test_a_folder_of_translations_made_otherwise_is_refused(sources: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(sources, out, beam="5", model="a")
    before = content(out)
    with pytest.raises(DataError) as found:
        run(sources, out, beam="8", model="a", new="x")
    assert str(found.value) == (
        f'{out} holds translations that were made with other settings: beam was "5", is "8"; new was null, is "x"; '
        "type the same as there, or choose another output="
    )
    with pytest.raises(DataError, match='model was "a", is null'):
        run(sources, out, beam="5")
    for damage in (b"", b"[1]", b"{", b"3"):
        (out / bulk.RECORD).write_bytes(damage)
        with pytest.raises(DataError, match=r"translate\.json is damaged; choose another output="):
            run(sources, out, beam="5", model="a")
    (out / bulk.RECORD).unlink()
    with pytest.raises(DataError) as found:
        run(sources[2:], out, beam="5", model="a")
    assert str(found.value) == (
        f"{out / sources[2].name} exists, and no .nmt-translate.json beside it says that nmt translate wrote it; "
        "choose another output=, or move it away"
    )
    assert content(out) == {name: text for name, text in before.items() if name != bulk.RECORD}


def test_of_two_that_begin_together_one_decides(sources: list[Path], tmp_path: Path) -> None:
    """Another process is writing the record when this one looks."""
    out = tmp_path / "out"
    out.mkdir()

    def wait_for_the_other(_: float) -> None:
        other.write(b'{"beam": "8"}')
        holding.__exit__(None, None, None)

    holding = claimed_file(out / bulk.RECORD)
    other = holding.__enter__()
    assert other is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", wait_for_the_other)
        with pytest.raises(DataError, match='beam was "8", is "5"'):
            run(sources, out, beam="5")
    assert os.listdir(out) == [bulk.RECORD]


def test_files_that_changed_later_are_named(
    sources: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(sources, out)
    later = time.time() + 100
    for others, path in enumerate((sources[7], sources[2])):
        assert "caution" not in capsys.readouterr().err
        os.utime(path, (later, later))
        run(sources, out)
        said = f"caution: {out / path.name} is older than the file that it translates{', and so is 1 other' * others}; "
        assert capsys.readouterr().err.splitlines()[-1].startswith(said)


def test_files_that_cannot_have_a_translation_each_are_refused(sources: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "more").mkdir()
    twin = tmp_path / "more" / sources[0].name
    twin.touch()
    with pytest.raises(DataError) as found:
        bulk.plan([*sources, sources[1], twin], out)
    assert str(found.value) == (
        f"{sources[0]} and {twin} have the same name, input; their translations would be one file, "
        f"{out / sources[0].name}: translate them into two folders"
    )
    with pytest.raises(DataError) as found:
        bulk.plan([*sources, out.parent / "in"], out)
    assert (
        str(found.value)
        == f"{tmp_path / 'in'} is not a regular file, input; name files, or another output= than a folder"
    )
    out.symlink_to(tmp_path / "in")
    with pytest.raises(DataError) as found:
        bulk.plan(sources, out)
    assert str(found.value) == (
        f"{sources[0]} is in the folder {out}, output; choose another folder, or name a file in it"
    )


def test_a_folder_that_cannot_be_written_is_refused(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write .*/file/out .Not a directory.; .*, or choose another output="):
        run(sources, tmp_path / "file" / "out")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nmt.translation.bulk._write", full)
    with pytest.raises(DataError) as found:
        run(sources, tmp_path / "out")
    target = tmp_path / "out" / sources[0].name
    assert str(found.value) == f"cannot write {target} (No space left on device); make room, or choose another output="
    assert os.listdir(tmp_path / "out") == [bulk.RECORD]


def test_without_locks_shards_are_needed(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    out = tmp_path / "out"
    with pytest.raises(DataError) as found:
        run(sources, out)
    assert str(found.value) == (
        f"{out} is on a file system without locks, so processes cannot see which files others translate; give each its "
        "own shard=i/n, or shard=1/1 if there is only one"
    )
    run(sources, out, slice(0, None, 2), sharded=True)
    said = capsys.readouterr().err
    assert said.startswith(f"note: {out} is on a file system without locks: start one process for each shard\n")
    run(sources, out, slice(1, None, 2), sharded=True)
    assert sorted(os.listdir(out)) == sorted([bulk.RECORD, *(path.name for path in sources)])


def test_a_translation_is_compressed_as_its_source_and_none_is_a_zip(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pack = {
        "gz": gzip.compress,
        "GZ": gzip.compress,
        "xz": lzma.compress,
        "bz2": bz2.compress,
        "zst": zstandard.compress,
    }
    for suffix, compress in pack.items():
        (tmp_path / "in" / f"a.{suffix}").write_bytes(compress(b"line\n" * 300))
    run(sorted((tmp_path / "in").iterdir()), tmp_path / "out")
    for suffix in pack:
        packed = tmp_path / "out" / f"a.{suffix}"
        assert packed_format(packed.read_bytes()) is not None
        assert list(read_lines(packed)) == ["LINE"] * 300
    for name in ("a.zip", "a.ZIP"):
        (tmp_path / "in" / name).write_bytes(b"PK")
        with pytest.raises(DataError, match=rf"{name} is a zip, which cannot be written to .*; unpack it first"):
            bulk.plan([tmp_path / "in" / name], tmp_path / "out")
