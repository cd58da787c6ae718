"""`nmt serve`: a page for browsers and an API for programs, over one or several trained models."""

import asyncio
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory

from nmt.config.verbs import ServeCommand
from nmt.errors import ConfigError, NmtError, counted, printable
from nmt.machine.allocator import keep_freed_memory
from nmt.machine.home import expanded
from nmt.runs.folder import read_run
from nmt.runs.learned import caution_of
from nmt.translation.translator import Translator

NEEDED = ("starlette", "uvicorn", "python_multipart", "prometheus_client")
MEGABYTE = 10**6


def main(command: ServeCommand) -> int:
    """Serves until SIGTERM or Ctrl-C."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"nmt serve needs {', '.join(missing)}; install them with: pip install 'nmt[serve]'")
    from nmt.serve.running import allow_connections, in_processes, listen

    folders = [expanded(name) for name in command.folders]
    for folder in folders:  # every mistake before anything listens
        read_run(folder)
        if (caution := caution_of(folder)) is not None:
            print(f"caution: {folder}: {caution}", file=sys.stderr)
    allow_connections()
    bound = listen(command.host, command.port)
    if command.processes == 1:
        run(command, folders, bound)
        return 0
    with TemporaryDirectory(prefix="nmt-metrics-") as shared:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared

        def child() -> None:
            try:
                run(command, folders, bound)
            except NmtError as error:
                print(f"error: {printable(' '.join(str(error).split()))}", file=sys.stderr)
                raise SystemExit(2) from None

        return in_processes(command.processes, child)


def run(command: ServeCommand, folders: list[Path], bound: socket) -> None:
    """One process's part."""
    from nmt.serve.app import application
    from nmt.serve.catalogue import Catalogue, Source, sources_of
    from nmt.serve.engine import Engine
    from nmt.serve.jobs import Recipe
    from nmt.serve.keys import Keys
    from nmt.serve.limits import Limits
    from nmt.serve.metrics import Metrics
    from nmt.serve.running import serve, url_of
    from nmt.serve.server import Server

    keep_freed_memory()
    stored = [read_run(folder)[0].data for folder in folders]
    sources = sources_of(folders, [(data.src_lang, data.tgt_lang) for data in stored], command.languages)

    def load(source: Source) -> Translator:
        settings = command.changes.of(read_run(source.folder)[0].search)
        return Translator.load(
            source.folder,
            replace(settings, sample=False),
            command.trust,
            command.device,
            command.precision,
            command.shortlist,
            workers=command.workers,
        )

    def name_of(recipe: Recipe) -> str:
        return next((each.name for each in catalogue.served if each.translator is recipe.translator), "earlier")

    catalogue = Catalogue(sources, load)
    metrics = Metrics(lambda: engine.jobs.pieces, name_of)
    first = catalogue.served[0].translator
    engine = Engine(first.workers.count, command.queue_pieces, command.cache_mb * MEGABYTE, metrics)
    keys = None if command.keys is None else Keys.read(expanded(command.keys))
    limits = Limits(command.characters_per_minute, command.requests_per_minute)
    server = Server(catalogue, engine, command, keys, limits)

    def ready() -> None:
        directions = ", ".join(f"{each.name} ({each.src_lang} to {each.tgt_lang})" for each in catalogue.served)
        how = f"{first.precision}, {counted(first.workers.count, 'worker')}, beam {first.settings.beam}"
        print(f"{directions}: {how}", file=sys.stderr)
        print(f"open {url_of(bound)} in a browser; Ctrl-C ends the server", file=sys.stderr, flush=True)

    asyncio.run(serve(application(server, metrics), server, bound, ready))
