"""Servers over small random models: in this process, in a thread with a real socket, or as a command."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.testclient import TestClient

from nmt.config.compose import command_of
from nmt.serve.listening import listen, url_of
from nmt.serve.loading import load_server
from nmt.serve.running import Life, serve
from nmt.serve.server import Server

SMALL = ("device=cpu", "precision=fp32", "workers=2", "port=0", "watch_s=null")


@contextmanager
def client_of(*words: str) -> Iterator[TestClient]:
    """Calls the application without a socket."""
    with TemporaryDirectory() as files:
        app, server = load_server(command_of("serve", [*SMALL, *words]), Path(files))
        try:
            with TestClient(app, raise_server_exceptions=False, client=("192.0.2.7", 50_000)) as client:
                yield client
        finally:
            server.engine.stop()


def server_of(client: TestClient) -> Server:
    """The state behind it."""
    server: Server = client.app.state.server  # type: ignore[attr-defined]
    return server


@contextmanager
def listening(*words: str) -> Iterator[tuple[str, Server]]:
    """A server with a socket of its own, in a thread; its address."""
    files = TemporaryDirectory()
    app, server = load_server(command_of("serve", [*SMALL, *words]), Path(files.name))
    bound = listen("127.0.0.1", 0)
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    lives: list[Life] = []

    def begun(life: Life) -> None:
        lives.append(life)
        ready.set()

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        await serve(app, server, bound, begun)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert ready.wait(60)
    try:
        yield url_of(bound), server
    finally:
        loops[0].call_soon_threadsafe(lives[0].announce_end)
        thread.join(60)
        bound.close()
        files.cleanup()


@contextmanager
def command(*words: str, timeout_s: float = 120) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`nmt serve` as a process of its own; its address."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt.cli.main", "serve", "port=0", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    watchdog = threading.Timer(timeout_s, process.kill)
    watchdog.start()
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("open http"):
                yield line.split()[1], process
                break
        else:
            raise AssertionError(f"the server did not start: {process.wait()}")
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        watchdog.cancel()
