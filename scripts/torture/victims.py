"""Training runs in processes that die: at an instant of the clock, at the n-th touch of a file, or in a write.

Each process is forked from one that has imported everything and trained nothing, so that dying costs no start-up time.
"""

import mmap
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nmt import cli
from nmt.trainer import Trainer

Way = Literal["clock", "file", "write"]
WAYS: tuple[Way, ...] = ("clock", "file", "write")
TOUCHES = (
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.listdir",
    "os.scandir",
)  # Python's audit events
PHASES = (
    "start",
    "update",
    "validation",
    "checkpoint",
    "end",
)  # what a run does; a checkpoint may be part of the others
JUMP_S = 30 * 24 * 3600  # by which a jumping clock is wrong at most


@dataclass(frozen=True)
class Death:
    """How a process is to die: after so many seconds, touches of the run's files, or bytes of one file."""

    way: Way
    limit: float


@dataclass(frozen=True)
class End:
    """How a process ended."""

    code: int | None  # of its own accord; None: it died
    phase: str
    touches: int  # of the run's files, until then


class Victims:
    """Starts processes for one run folder; `jumping`: their clock is wrong, each time by something else."""

    def __init__(self, run: Path, jumping: bool, log: Path) -> None:
        self.run = run
        self.jumping = jumping
        self.log = log
        self.shared = mmap.mmap(-1, 8)  # the child's phase (byte 0) and touches (bytes 4 to 7)

    def train(self, words: Sequence[str], death: Death | None, chance: random.Random) -> End:
        """Runs `nmt train` with these words until it ends or dies."""
        self.shared[:] = bytes(8)
        jump = chance.uniform(-JUMP_S, JUMP_S) if self.jumping else None
        child = os.fork()
        if child == 0:
            self.live(words, death, jump)
        if death is not None and death.way == "clock":
            time.sleep(death.limit)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        touches = int.from_bytes(self.shared[4:8], "little")
        return End(os.WEXITSTATUS(status) if os.WIFEXITED(status) else None, PHASES[self.shared[0]], touches)

    def live(self, words: Sequence[str], death: Death | None, jump: float | None) -> None:
        """The child: never comes back."""
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        self.watch(death)
        if jump is not None:
            right = time.time
            time.time = lambda: right() + jump
        code = 1
        try:
            code = cli.main(["train", *words])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def watch(self, death: Death | None) -> None:
        """Notes phases and touches, and dies where it is told to."""
        for name, phase in (
            ("update", "update"),
            ("validate", "validation"),
            ("save", "checkpoint"),
            ("finish", "end"),
        ):
            setattr(Trainer, name, self.noting(getattr(Trainer, name), PHASES.index(phase)))
        inside, touches = str(self.run), 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal touches
            if event in TOUCHES and arguments and str(arguments[0]).startswith(inside):
                touches += 1
                self.shared[4:8] = touches.to_bytes(4, "little")
                if death is not None and death.way == "file" and touches >= death.limit:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        if death is not None and death.way == "write":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python's own choice is to go on with an error
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(death.limit), int(death.limit)))

    def noting(self, method: Callable[..., Any], phase: int) -> Callable[..., Any]:
        """The method, with the phase set while it lasts."""

        def noted(*arguments: Any) -> Any:
            before, self.shared[0] = self.shared[0], phase
            try:
                return method(*arguments)
            finally:
                self.shared[0] = before

        return noted
