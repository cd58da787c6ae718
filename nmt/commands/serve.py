"""`nmt serve`: a page for browsers and an API for programs, over one or several trained models."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory

from nmt.config.verbs import ServeCommand
from nmt.errors import ConfigError, NmtError, in_one_line
from nmt.machine.allocator import keep_freed_memory
from nmt.machine.home import expanded
from nmt.runs.folder import read_run
from nmt.runs.learned import say_caution_of

NEEDED = ("starlette", "uvicorn", "httptools", "python_multipart", "prometheus_client", "rapidfuzz")


def main(command: ServeCommand) -> int:
    """Serves until SIGTERM or Ctrl-C."""
    missing = [name.replace("_", "-") for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"nmt serve needs {', '.join(missing)}; install them with: pip install 'nmt[serve]'")
    from nmt.serve.listening import listen
    from nmt.serve.running import allow_connections, in_processes

    for folder in map(expanded, command.folders):  # finds mistakes before the server listens
        read_run(folder)
        say_caution_of(folder)
    allow_connections()
    bound = listen(command.host, command.port)
    with TemporaryDirectory(prefix="nmt-serve-") as shared:
        files = Path(shared) / "files"
        if command.processes == 1:
            run(command, bound, files)
            return 0
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        return in_processes(command.processes, lambda: run_apart(command, bound, files))


def run(command: ServeCommand, bound: socket, files: Path) -> None:
    """Serves in this process; the folder `files` keeps translated files until they are downloaded."""
    from nmt.serve.listening import url_of
    from nmt.serve.loading import described, load_server
    from nmt.serve.running import Life, serve

    keep_freed_memory()
    app, server = load_server(command, files)

    def ready(_: Life) -> None:
        print(described(server.catalogue), file=sys.stderr)
        print(f"open {url_of(bound)} in a browser; Ctrl-C ends the server", file=sys.stderr, flush=True)

    asyncio.run(serve(app, server, bound, ready))


def run_apart(command: ServeCommand, bound: socket, files: Path) -> None:
    """Serves as one of several processes: prints an error itself, and exits with code 2."""
    try:
        run(command, bound, files)
    except NmtError as error:
        print(f"error: {in_one_line(error)}", file=sys.stderr)
        raise SystemExit(2) from None
