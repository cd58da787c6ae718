"""Processes that begin with nmt imported: forked from one that has done nothing else, which saves seconds of each."""

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nmt.machine import launch

ROOT = Path(__file__).parents[2]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["nmt.commands.train", "nmt.commands.translate", "torch.distributed", "pytest"])


def _live(module: str, name: str, given: Sequence[Any], place: Mapping[str, Any]) -> None:
    """In the child: where the test is, with the environment of the test; exits with what the function returns."""
    launch.begin_anew()  # not when the process began that it is forked from, minutes ago
    os.environ.clear()
    os.environ.update(place["environment"])
    os.chdir(place["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a test run in the background of a shell ignores
    for number, stream in ((1, "stdout"), (2, "stderr")):
        file = os.open(place[stream], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.path.insert(0, str(ROOT))  # where tests are a package
    sys.exit(getattr(import_module(module), name)(*given))


class Forked:
    """A process that runs a function of a module; what tests use of `Popen`."""

    def __init__(
        self, function: Callable[..., int | None], *given: Any, cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "scripts")))):
            forkserver.ensure_running()
        self._said = tempfile.TemporaryDirectory(prefix="said-")
        self._files = {name: f"{self._said.name}/{name}" for name in ("stdout", "stderr")}
        place = {"environment": dict(os.environ if env is None else env), "folder": os.fspath(cwd or Path.cwd())}
        named = function.__module__, function.__qualname__
        self._process = CONTEXT.Process(target=_live, args=(*named, given, place | self._files))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Minus the signal that has killed it; None while it lives."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        self._process.join(timeout)
        code = self.returncode
        if code is None:
            raise TimeoutError(f"process {self.pid} still runs after {timeout} s")
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it has written on standard output and standard error, when it has ended."""
        self.wait(timeout)
        out, err = (Path(file).read_text() if Path(file).exists() else "" for file in self._files.values())
        return out, err

    def send_signal(self, number: int) -> None:
        """To a process that has ended, nothing."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """By SIGKILL."""
        self.send_signal(signal.SIGKILL)


def forked_nmt(words: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Forked:
    """`nmt WORDS`."""
    from nmt.cli.main import main

    return Forked(main, list(words), cwd=cwd, env=env)
