"""Training runs in processes that something happens to: death, a disk that fails, NaN or infinity.

Each process is forked from one that has imported everything and trained nothing, so that dying costs no start-up time.
"""

import itertools
import mmap
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch.utils.tensorboard  # noqa: F401 (these three: what a child would import otherwise)

import nmt.cli.run
import nmt.commands.train  # noqa: F401
from nmt.cli.main import main
from nmt.training.trainer import Trainer

Way = Literal["clock", "file", "write", "asked"]
WAYS: tuple[Way, ...] = ("clock", "file", "write", "asked")
TOUCHES = (
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.listdir",
    "os.scandir",
)  # Python's audit events
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PHASES = ("start", "update", "validation", "checkpoint", "end")  # a checkpoint may be part of the others


@dataclass(frozen=True)
class Fate:
    """What happens to a process after so many seconds, touches of the run's files, or bytes of one file.

    It dies ("asked": is asked to stop, by SIGTERM, after so many touches), or the disk gives this error from then on.
    `spoil` is called at its beginning, to change what it does.
    """

    way: Way | None = None
    limit: float = 0
    error: int | None = None  # None: SIGKILL
    jump_s: float = 0.0  # by which the clock is wrong, forwards and backwards in turn
    spoil: Callable[[], None] | None = None


@dataclass(frozen=True)
class End:
    """How a process ended."""

    code: int | None  # of its own accord; None: it died
    signal: int | None  # that ended it; None: it ended of its own accord
    phase: str  # in which it was then, or in which it was asked to stop
    touches: int  # of the run's files, until then


class Victims:
    """Starts processes for one run folder."""

    def __init__(self, run: Path, log: Path) -> None:
        self.run = run
        self.log = log
        # The child's phase (byte 0), 1 + that in which it was asked to stop (byte 1), touches (bytes 4 to 7).
        self.shared = mmap.mmap(-1, 8)

    def train(self, words: Sequence[str], fate: Fate) -> End:
        """Runs `nmt train` with these words until it ends or dies."""
        self.shared[:] = bytes(8)
        self.log.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self.live(words, fate)
        try:
            if fate.way == "clock":
                time.sleep(fate.limit)
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        except BaseException:  # this process is stopped
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        touches = int.from_bytes(self.shared[4:8], "little")
        phase = self.shared[1] - 1 if self.shared[1] else self.shared[0]
        code = os.waitstatus_to_exitcode(status)
        return End(code if code >= 0 else None, -code if code < 0 else None, PHASES[phase], touches)

    def live(self, words: Sequence[str], fate: Fate) -> None:
        """The child: never comes back."""
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 1
        try:
            self.watch(fate)
            if fate.jump_s:
                right, calls = time.time, itertools.count()
                time.time = lambda: right() + fate.jump_s * (-1) ** (next(calls) // 10)
            if fate.spoil is not None:
                fate.spoil()
            code = main(["train", *words])
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            sys.excepthook(*sys.exc_info())  # the log shows it
        finally:
            os._exit(code)

    def watch(self, fate: Fate) -> None:
        """Notes phases and touches, and has happen what is to happen."""
        names = {"update": "update", "validate": "validation", "save": "checkpoint", "finish": "end"}
        for name, phase in names.items():
            setattr(Trainer, name, self.noting(getattr(Trainer, name), PHASES.index(phase)))
        inside, touches = str(self.run), 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal touches
            if event not in TOUCHES or not arguments or not str(arguments[0]).startswith(inside):
                return
            touches += 1
            self.shared[4:8] = touches.to_bytes(4, "little")
            if fate.way == "asked" and touches == fate.limit:
                self.shared[1] = 1 + self.shared[0]
                os.kill(os.getpid(), signal.SIGTERM)
            if fate.way == "file" and touches >= fate.limit:
                if fate.error is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                elif event != "open" or (arguments[2] or 0) & WRITES:
                    raise OSError(fate.error, os.strerror(fate.error), str(arguments[0]))

        sys.addaudithook(hook)
        if fate.way == "write":
            if fate.error is None:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python's own choice is to go on with an error
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(fate.limit), int(fate.limit)))

    def noting(self, method: Callable[..., Any], phase: int) -> Callable[..., Any]:
        """The method, with the phase set while it lasts."""

        def noted(*arguments: Any) -> Any:
            before, self.shared[0] = self.shared[0], phase
            try:
                return method(*arguments)
            finally:
                self.shared[0] = before

        return noted
