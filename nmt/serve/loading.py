"""Loads everything that a server needs, with the settings of its command."""

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette

from nmt.config.verbs import ServeCommand
from nmt.errors import counted
from nmt.machine.home import expanded
from nmt.runs.folder import read_run
from nmt.serve.app import application
from nmt.serve.catalogue import Catalogue, Source, sources_of
from nmt.serve.detect import detect
from nmt.serve.engine import Engine
from nmt.serve.jobs import Recipe
from nmt.serve.keys import Keys
from nmt.serve.limits import Limits
from nmt.serve.metrics import Metrics
from nmt.serve.results import Results
from nmt.serve.server import Server
from nmt.translation.translator import Translator

MEGABYTE = 10**6


def load_server(command: ServeCommand, files: Path) -> tuple[Starlette, Server]:
    """The application and its state, ready to answer, with running workers. Translated files wait in `files`."""
    folders = [expanded(name) for name in command.folders]
    stored = [read_run(folder)[0].data for folder in folders]
    sources = sources_of(folders, [(data.src_lang, data.tgt_lang) for data in stored], command.languages)
    keys = None if command.keys is None else Keys.read(expanded(command.keys))
    catalogue = Catalogue(sources, loader(command))

    def name_of(recipe: Recipe) -> str:
        return next((each.name for each in catalogue.served if each.translator is recipe.translator), "earlier")

    metrics = Metrics(lambda: engine.jobs.pieces, name_of)
    workers = catalogue.served[0].translator.workers.count
    engine = Engine(workers, command.queue_pieces, command.cache_mb * MEGABYTE, metrics)
    limits = Limits(command.characters_per_minute, command.requests_per_minute)
    server = Server(catalogue, engine, command, keys, limits, Results(files))
    detect("A sentence.", sorted({language for each in catalogue.directions() for language in each}))  # loads py3langid
    return application(server, metrics), server


def loader(command: ServeCommand) -> Callable[[Source], Translator]:
    """A function that loads a run with the command's settings."""

    def load(source: Source) -> Translator:
        settings = command.changes.of(read_run(source.folder)[0].search)
        return Translator.load(
            Path(source.folder),
            settings,
            command.trust,
            command.device,
            command.precision,
            command.shortlist,
            workers=command.workers,
        )

    return load


def described(catalogue: Catalogue) -> str:
    """The served models and how they are run, in one line."""
    first = catalogue.served[0].translator
    models = ", ".join(f"{each.name} ({each.src_lang} to {each.tgt_lang})" for each in catalogue.served)
    workers = counted(first.workers.count, "worker")
    return f"{models}: {first.precision}, {workers}, beam {first.settings.beam}"
