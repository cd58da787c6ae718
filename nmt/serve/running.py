"""A server's life: it listens, loads changed models, and ends without losing a request that it has accepted."""

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import uvicorn
from starlette.applications import Starlette

from nmt.serve.listening import BACKLOG, ignore_new_connections, take_new_connections
from nmt.serve.protocol import PatientProtocol
from nmt.serve.server import Server

KEEP_ALIVE_S = 75  # of an idle connection: longer than the 60 s for which proxies keep theirs
DRAIN_S = 0.5  # from the announcement of the end until no new connections are taken
SETTLE_S = 0.1  # after that, for connections that are just being opened
MOST_FILES = 65_536  # open files; each connection is one
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
BAD_INPUT = 2  # exit code for wrong arguments or files
MOST_DEATHS, DEATHS_WITHIN_S = 5, 60.0  # more deaths per process in this time end the server


def allow_connections() -> None:
    """Raises the limit of open files to `MOST_FILES`, or to this user's maximum if that is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Life(uvicorn.Server):
    """uvicorn's server. It announces its end first, and stops accepting connections a little later."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self.served = server

    def handle_exit(self, sig: int, frame: object) -> None:
        """On SIGTERM or SIGINT, ends after the accepted requests; a SIGINT in the meantime ends the server at once."""
        if self.served.stopping and sig == signal.SIGINT:
            self.should_exit = self.force_exit = True
            return
        self.announce_end()

    def announce_end(self) -> None:
        """Announces the end; `DRAIN_S` later, uvicorn closes its sockets and waits for the current requests."""
        self.served.stopping = True
        asyncio.get_running_loop().call_later(DRAIN_S, setattr, self, "should_exit", True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accepts the waiting connections, which closing the socket would reset; then ends as uvicorn does."""
        settings = self.served.settings
        if self.served.files_now:  # the last portion of a file may begin at its limit
            self.config.timeout_graceful_shutdown = int(settings.file_timeout_s + settings.timeout_s) + 5
        for bound in sockets or []:
            ignore_new_connections(bound)
        await asyncio.sleep(SETTLE_S)  # meanwhile, asyncio accepts what waits
        loop = asyncio.get_running_loop()
        late = []
        for bound in sockets or []:
            with suppress(OSError):  # until none is left
                while True:
                    connected, _ = bound.accept()
                    connected.setblocking(False)
                    late.append(loop.create_task(loop.connect_accepted_socket(self._connection, connected)))
        await super().shutdown(sockets)  # closes the sockets before it waits for anything
        await asyncio.gather(*late, return_exceptions=True)

    def _connection(self) -> PatientProtocol:
        """A protocol, made as uvicorn makes it for each accepted connection."""
        return PatientProtocol(self.config, self.server_state, self.lifespan.state)


async def serve(app: Starlette, server: Server, bound: socket.socket, ready: Callable[["Life"], None]) -> None:
    """Serves until a signal ends it. Calls `ready` as soon as requests are accepted."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(server.settings.timeout_s) + 5,
        backlog=BACKLOG,
    )
    life = Life(config, server)
    take_new_connections(bound)
    keep_what_is_loaded()
    loop = asyncio.get_running_loop()
    if threading.current_thread() is threading.main_thread():
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.create_task(reload(server, changed_only=False)))
    watching = loop.create_task(watch(server))
    starting = loop.create_task(_tell(life, ready))
    try:
        await life.serve(sockets=[bound])
    finally:
        watching.cancel()
        starting.cancel()
        await asyncio.to_thread(server.engine.stop)


def keep_what_is_loaded() -> None:
    """Collects garbage, then exempts all objects that remain from later collections.

    While a collection goes through all of torch's objects, no thread can answer.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def _tell(life: Life, ready: Callable[[Life], None]) -> None:
    while not life.started:
        await asyncio.sleep(0.01)
    ready(life)


async def watch(server: Server) -> None:
    """Every `watch_s` seconds, reloads models that have changed on disk."""
    while server.settings.watch_s is not None:
        await asyncio.sleep(server.settings.watch_s)
        await reload(server, changed_only=True)


async def reload(server: Server, changed_only: bool) -> None:
    """Loads new models while the old ones answer, then replaces them."""
    names = await asyncio.to_thread(server.catalogue.reload, changed_only)
    if names:
        server.engine.cache.clear()  # its keys hold the old models
        keep_what_is_loaded()
    for name in names:
        print(f"{name}: loaded anew", file=sys.stderr, flush=True)


def in_processes(count: int, child: Callable[[], None]) -> int:
    """Runs `child` in `count` forks of this process and replaces one that dies. Returns the exit code of the server."""
    running: set[int] = set()
    deaths: list[float] = []  # times of the latest deaths
    ending = False
    code = 0

    def pass_on(number: int, frame: object) -> None:
        nonlocal ending
        ending = ending or number != signal.SIGHUP
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def start() -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the child is noted, or has its handlers
        pid = 0 if ending else os.fork()
        if pid:
            running.add(pid)
        elif not ending:
            for each in SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _run_and_exit(child)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    for each in SIGNALS:
        signal.signal(each, pass_on)
    for _ in range(count):
        start()
    while running:
        pid, status = os.wait()
        running.discard(pid)
        left = os.waitstatus_to_exitcode(status)
        if ending:
            continue
        deaths = [*(then for then in deaths if time.monotonic() - then < DEATHS_WITHIN_S), time.monotonic()]
        if left == BAD_INPUT or len(deaths) > MOST_DEATHS * count:  # another start would not help
            code = BAD_INPUT if left == BAD_INPUT else 1
            pass_on(signal.SIGTERM, None)
            continue
        print(f"a server process ended with {left}; another takes its place", file=sys.stderr, flush=True)
        start()
    return code


def _run_and_exit(child: Callable[[], None]) -> NoReturn:
    """Runs `child` in the fork, then ends the fork."""
    code = 1
    try:
        child()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
