"""The peers that we measure beside, and the folder where they live: an environment each, with what is known to work.

Every step that is done is stamped in the folder, so that an interrupted setup goes on.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from command_line import ROOT, SCRIPTS
from nmt.errors import ConfigError, NmtError


@dataclass(frozen=True)
class Patch:
    """Code of a toolkit that our torch, which is newer, no longer understands, and its replacement."""

    file: str  # inside site-packages
    old: str
    new: str


@dataclass(frozen=True)
class Peer:
    """A toolkit to be measured beside."""

    name: str
    installs: tuple[str, ...]  # words for pip, one call each, in this order; TORCH stands for the version we test
    patch: Patch


TORCH = "torch=="
PEERS = {
    "joeynmt": Peer(
        "JoeyNMT 2.3.0",
        (TORCH, f"joeynmt==2.3.0 importlib_metadata {TORCH}"),
        Patch(
            "joeynmt/builders.py",
            '"mode": scheduler_mode,\n            "verbose": False,\n',
            '"mode": scheduler_mode,\n',
        ),
    ),
    "opennmt": Peer(
        "OpenNMT-py 3.5.1",
        (
            TORCH,
            "--no-deps OpenNMT-py==3.5.1",  # it asks for a torch of long ago
            "configargparse ctranslate2 fasttext-wheel flask numpy pyahocorasick pyonmttok pyyaml rapidfuzz sacrebleu"
            f" sentencepiece six spacy tensorboard waitress {TORCH}",
        ),
        Patch(
            "onmt/models/model_saver.py",
            'torch.load(ckpt_path, map_location=torch.device("cpu"))',
            'torch.load(ckpt_path, map_location=torch.device("cpu"), weights_only=False)',
        ),
    ),
}


def torch_version() -> str:
    """The torch that we test with, as a word for pip."""
    constraints = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return next(line for line in constraints if line.startswith(TORCH))


@dataclass(frozen=True)
class Workplace:
    """The folder where everything lies, and what it is made from."""

    folder: Path
    multi30k: Path
    torch_index: str | None = None  # where torch comes from, if not from where pip finds the rest

    @property
    def cache(self) -> Path:
        """Where our prepared corpus is kept."""
        return self.folder / "cache"

    def python(self, key: str) -> Path:
        """The interpreter of a peer's environment."""
        return self.folder / "venvs" / key / "bin" / "python"

    def run(
        self, what: str, name: str, command: Sequence[object], path: str | None = None, limit: float | None = None
    ) -> str:
        """What a process says, which is also kept in logs/NAME.log.

        `path`: of Python's modules, instead of ours; `limit`: seconds, after which the process is ended.
        """
        log = self.folder / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        threads = str(torch.get_num_threads())
        ours = f"{SCRIPTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}
        environment |= {"PYTHONPATH": ours if path is None else path, "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"}
        try:
            with open(log, "wb") as file:
                words = list(map(str, command))
                process = subprocess.Popen(
                    words, stdout=file, stderr=subprocess.STDOUT, cwd=self.folder, env=environment,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise NmtError(f"{what}: cannot start {command[0]} ({error.strerror}); {REPEAT}") from None
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = 0
        finally:  # also where this process is interrupted
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it has started
            process.wait()
        said = log.read_text("utf-8", errors="replace")
        if code:
            raise NmtError(f"{what} ended with code {code} ({reason(said)}), log {log}; {REPEAT}")
        return said

    def once(self, name: str, contents: str, made: Path, work: Callable[[], object]) -> None:
        """Does the work unless it has been done with these contents, and what it made is there."""
        stamp = self.folder / "done" / name
        if made.exists() and stamp.is_file() and stamp.read_text("utf-8") == contents:
            return
        print(f"{name} …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        work()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(contents, "utf-8")


def workplace(folder: Path, multi30k: Path, torch_index: str | None) -> Workplace:
    """The folder, made where it is missing."""
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make --work {folder} ({error.strerror}); name another folder") from None
    return Workplace(folder, multi30k.resolve(), torch_index)


REPEAT = "put that right and run this again: it goes on where it stopped"


def reason(said: str) -> str:
    """The line of a log that is likeliest to say why: the last that begins with an error, else the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(\w|\.)*error\b", line, re.IGNORECASE)]
    return (errors or lines or ["it said nothing"])[-1]


def set_up(place: Workplace, key: str) -> None:
    """A peer's environment, unless it is complete."""
    peer = PEERS[key]
    contents = json.dumps([torch_version(), peer.installs, vars(peer.patch)])
    place.once(f"environment-{key}", contents, place.python(key), lambda: make_environment(place, key))


def make_environment(place: Workplace, key: str) -> None:
    """A virtual environment with the toolkit, patched; completes one that an interrupted call left."""
    peer = PEERS[key]
    python = place.python(key)
    what = f"setting up {peer.name}"
    place.run(what, f"venv-{key}", [sys.executable, "-m", "venv", python.parents[1]], path="")
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for number, words in enumerate(peer.installs):
        index = ["--index-url", place.torch_index] if words == TORCH and place.torch_index else []
        wanted = words.replace(TORCH, torch_version()).split()
        place.run(what, f"pip-{key}-{number}", [python, *pip, *index, *wanted], path="")
    site = place.run(what, f"site-{key}", [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], "")
    apply(peer.patch, Path(site.strip()))


def apply(patch: Patch, site: Path) -> None:
    """Changes the file, once."""
    path = site / patch.file
    if not path.is_file():
        raise NmtError(f"no {patch.file} in {site}; delete that environment and run this again")
    text = path.read_text("utf-8")
    if patch.new in text and patch.old not in text:
        return
    if patch.old not in text:
        raise NmtError(f"{path} is not as the patch for it expects; delete that environment and run this again")
    path.write_text(text.replace(patch.old, patch.new), "utf-8")
