"""The server with models that are stand-ins: what they translate, and where each word went, is known."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request

from nmt.config.compose import command_of
from nmt.config.verbs import ServeCommand
from nmt.data.sentences import Span
from nmt.serve.app import application
from nmt.serve.catalogue import Catalogue, Served, Source
from nmt.serve.engine import Engine
from nmt.serve.keys import Keys
from nmt.serve.limits import Limits
from nmt.serve.metrics import Metrics
from nmt.serve.results import Results
from nmt.serve.search_wish import Search
from nmt.serve.server import Server
from nmt.serve.texts import Answer, Assembly, Sentence
from nmt.translation.translations import Candidate, Translation, WordLinks

Words = Callable[[Sequence[str]], tuple[list[str], list[tuple[int, int]]]]
SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?](?=\s|$)|(?=\s*\n)|(?=\s*$))")


def same(words: Sequence[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Every word by itself."""
    return list(words), [(i, i) for i in range(len(words))]


def upper(words: Sequence[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Every word in capitals."""
    return [word.upper() for word in words], [(i, i) for i in range(len(words))]


def backwards(words: Sequence[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """The last word first, in capitals."""
    last = len(words) - 1
    return [word.upper() for word in reversed(words)], [(last - i, i) for i in range(len(words))]


def unlinked(words: Sequence[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Capitals, a word more, and no word alignment: a model without attention."""
    return [*(word.upper() for word in words), "X"], []


def answer(text: str, words: Words, n_best: int = 1, split: bool = True) -> Answer:
    """What the engine would answer; the second best translation of a sentence ends in 2, and so on."""
    assembly = Assembly(text)
    whole = re.finditer(r"\S(?:.*\S)?", text, re.DOTALL)
    for found in SENTENCE.finditer(text) if split else whole:
        own = re.findall(r"[^ \n]+", found[0])
        target, links = words(own)
        best = " ".join(target)
        candidates = [Candidate(best + (str(rank) if rank > 1 else ""), -rank, -rank) for rank in range(1, n_best + 1)]
        translation = Translation(found[0], candidates, [], [], None, WordLinks(own, target, links))
        assembly.add(Span(*found.span()), translation)
    return assembly.end()


class IdleEngine:
    """A substitute for the engine: it has nothing to do, and its queue is never full."""

    def refuse_when_full(self) -> None:
        """Never does."""


@dataclass
class WordServer(Server):
    """A server whose models are functions of words."""

    words: Mapping[tuple[str, str], Words] = field(default_factory=dict)
    seen: list[tuple[str, str, list[str], Search]] = field(default_factory=list)

    async def sentences(
        self, request: Request, served: Served, texts: Sequence[str], search: Search, growing: Sequence[Assembly]
    ) -> Any:
        self.seen.append((served.src_lang, served.tgt_lang, list(texts), search))
        words = self.words[served.src_lang, served.tgt_lang]
        for number, text in enumerate(texts):
            for sentence in answer(text, words, search.n_best, search.split).sentences:
                span = cast(Sentence, sentence).source
                yield number, growing[number].add(span, sentence.translation)


def word_server(
    folder: Path, words: Mapping[tuple[str, str], Words], *settings: str, keys: Keys | None = None
) -> WordServer:
    """One that translates these directions; `settings` as for `nmt serve`. Its run folders lie in the folder."""
    command: ServeCommand = command_of("serve", ["model=none", "page=false", *settings])
    sources = [Source(folder / f"{source}_{target}", f"{source}_{target}", source, target) for source, target in words]
    for each in sources:
        each.folder.mkdir(exist_ok=True)
    catalogue = object.__new__(Catalogue)  # its models are no folders
    catalogue.sources = sources
    none = cast(Any, None)
    catalogue.served = [Served(each.name, each.src_lang, each.tgt_lang, none, none) for each in sources]
    limits = Limits(command.characters_per_minute, command.requests_per_minute)
    files = Results(folder / "files")
    return WordServer(catalogue, cast(Engine, IdleEngine()), command, keys, limits, files, words=words)


def app_of(server: Server) -> Starlette:
    """All routes."""
    return application(server, Metrics(lambda: 0, lambda recipe: ""))


@contextmanager
def listening(app: Starlette) -> Iterator[str]:
    """The address of the app, served by uvicorn on a free port of loopback, in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(1000):
        if server.started:
            break
        time.sleep(0.01)
    assert server.started
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
