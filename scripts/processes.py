"""Processes that scripts start; what stops a script leaves them the time to save and to clear up.

A terminal sends Ctrl-C to all of them. Other signals come to the script alone, which passes them on.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any


@contextmanager
def started(command: Sequence[str], **settings: Any) -> Iterator["subprocess.Popen[str]"]:
    """A process that ends with the block."""
    with subprocess.Popen(command, text=True, **settings) as process:
        try:
            yield process
        except KeyboardInterrupt:
            process.communicate()
            raise
        except BaseException:
            process.terminate()
            process.communicate()
            raise


def ended(command: Sequence[str], **settings: Any) -> int:
    """The exit code of a process."""
    with started(command, **settings) as process:
        return process.wait()


def printed(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a process writes on standard output; its failure ends this one."""
    with started(command, stdout=subprocess.PIPE, env=environment) as process:
        text: str = process.communicate()[0]
    if process.returncode:
        sys.exit(process.returncode)
    return text


def side_by_side(
    commands: Sequence[Sequence[str]], count: int, **settings: Any
) -> Iterator["subprocess.CompletedProcess[str]"]:
    """Runs commands, so many at a time; yields how each ended and what it printed, in their order."""
    running: list[subprocess.Popen[str]] = []
    stopped = Event()

    def run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **settings) as process:
            running.append(process)
            if stopped.is_set():
                process.terminate()
            text = process.communicate()[0]
        return subprocess.CompletedProcess(command, process.returncode, text)

    pool = ThreadPoolExecutor(count)
    try:
        yield from pool.map(run, commands)
    except BaseException as stop:
        pool.shutdown(wait=False, cancel_futures=True)
        if not isinstance(stop, KeyboardInterrupt):
            stopped.set()
            for process in running:
                process.terminate()
        raise
    finally:
        pool.shutdown()
