"""Reads the pairs of large files in a second process, while the first one cleans, judges and writes them.

    python -P -m nmt.data.formats.apart        (as `read_apart` starts it: standard input says what to read)

The pairs, the counts and the errors are the same as if one process had read the files. The two processes talk in
Python's own format, pickle; both are this nmt, and nothing of the corpus is ever unpickled.
"""

import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data.formats.pairs import SegmentPairs
from nmt.data.formats.tally import Tally
from nmt.data.split import Block, Pair, blocks
from nmt.errors import DataError, NmtError
from nmt.machine import second_process
from nmt.machine.launch import cores

LARGE = 1 << 25  # bytes from which starting a second Python (0.4 s) pays
PIPE_BYTES = 1 << 20  # so that one process goes on while the other handles a batch
BLOCK_PAIRS, BLOCK_CHARACTERS = 1000, 1 << 20  # what one process gives the other at a time, at most or about


def pays(files: Sequence[tuple[Path, ...]]) -> bool:
    """Is there so much to read, and a core to read it on?"""
    return cores() > 1 and sum(path.stat().st_size for paths in files for path in paths) >= LARGE


def read_apart(data: DataConfig, files: Sequence[tuple[Path, ...]], tally: Tally) -> Iterator[Pair]:
    """The pairs of `SegmentPairs(data, files)`, read by a second process; the tally is whole at the end.

    Raises the errors of the reading, and DataError if the system kills it.
    """
    reading = subprocess.Popen(
        second_process.command("nmt.data.formats.apart"),
        env=second_process.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pipesize=PIPE_BYTES,
    )
    assert reading.stdin is not None
    assert reading.stdout is not None
    try:
        try:
            with reading.stdin:
                pickle.dump((data, files), reading.stdin)
            while isinstance(found := pickle.load(reading.stdout), tuple):
                yield from zip(*found, strict=True)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise _ended(reading.wait(), files[0][0]) from error
        if isinstance(found, BaseException):
            raise found
        tally.take(found)
    finally:
        reading.kill()
        reading.stdout.close()
        reading.wait()


def _ended(code: int, path: Path) -> Exception:
    """The error for a process that ended before it had read everything."""
    if code == -signal.SIGKILL:
        return DataError(f"the reading of {path} was killed, most likely because memory ran out; divide the file")
    return RuntimeError(f"the reading of {path} ended with {code}")


def main() -> int:
    """Does the work of the second process; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the first process, which ends this one
    data, files = pickle.load(sys.stdin.buffer)
    try:
        pairs = SegmentPairs(data, files)
        for block in blocks(pairs, BLOCK_PAIRS, BLOCK_CHARACTERS):
            _say(block)
        _say(pairs.tally)
    except BrokenPipeError:  # the first process has ended
        return 1
    except Exception as error:  # for the first process, as if it had read
        if not isinstance(error, NmtError):
            error.add_note(traceback.format_exc())
        _say(error)
    return 0


def _say(words: Block | Tally | Exception) -> None:
    pickle.dump(words, sys.stdout.buffer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
