"""Trainings of several processes, as torchrun starts them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import yaml
from torch.distributed import TCPStore

from helpers.forked import Forked, forked_nmt


def words_of(config: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """A configuration as words of a command line."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from words_of(value, f"{prefix}{key}.")
        else:
            text = "null" if value is None else yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
            yield f"{prefix}{key}={text}"


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def torchrun(count: int, words: Sequence[str], *options: str) -> list[str]:
    """The command that starts `nmt train WORDS` in so many processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={count}"]
    return [*launcher, f"--master-port={free_port()}", *options, "-m", "nmt.cli.main", "train", *words]


def finished(command: Sequence[str], timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL
    )


@contextmanager
def store_at(port: int) -> Iterator[None]:
    """Hosts what processes tell each other, as torchrun does, so that it does not end with the first of them."""
    store = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    with patch.dict(os.environ, TORCHELASTIC_USE_AGENT_STORE="True"):
        yield
    del store


@contextmanager
def started_apart(commands: Sequence[Sequence[str]], port: int) -> Iterator[list[Forked]]:
    """`nmt train` in as many processes as there are commands, started by no launcher; all are killed in the end."""
    processes = []
    for rank, words in enumerate(commands):
        place = {"RANK": str(rank), "WORLD_SIZE": str(len(commands)), "LOCAL_RANK": str(rank)}
        place |= {"LOCAL_WORLD_SIZE": str(len(commands)), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        processes.append(forked_nmt(["train", *words], env=os.environ | place | {"OMP_NUM_THREADS": "1"}))
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()
