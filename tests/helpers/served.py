"""Servers for tests, whose models are stand-ins: what they translate, and where each word went, is known."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt.serve import deepl, libretranslate
from nmt.serve.app import Answer, Search, Sentence, Span
from nmt.serve.refusal import Refusal
from nmt.serve.results import Results
from nmt.translation.translations import Candidate, Translation, WordLinks

Words = Callable[[Sequence[str]], tuple[list[str], list[tuple[int, int]]]]
SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?](?=\s|$)|(?=\s*\n)|$)")


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
    """What the engine would answer; the second best translation ends in 2, and so on."""
    result, sentences = "", []
    spans = [found.span() for found in SENTENCE.finditer(text)] if split else [(0, len(text))] if text.strip() else []
    for start, end in spans:
        own = re.findall(r"[^ \n]+", text[start:end])
        target, links = words(own)
        if result:
            result += "\n" if "\n" in text[reached:start] else " "
        place = len(result)
        result += " ".join(target)
        reached = end
        candidates = [Candidate(" ".join(target) + (str(rank) if rank > 1 else ""), -rank, -rank) for rank in range(1, n_best + 1)]
        translation = Translation(text[start:end], candidates, [], [], None, WordLinks(own, target, links))
        sentences.append(Sentence(Span(start, end), Span(place, len(result)), translation))
    return Answer(result, sentences)


@dataclass
class StandIn:
    """A server whose models are functions of words."""

    folder: Path
    models: dict[tuple[str, str], Words]
    suggestions: bool = False
    characters: int = 5000
    texts: int = 50
    seen: list[tuple[str, str, list[str], Search]] = field(default_factory=list)
    keys: None = None

    def __post_init__(self) -> None:
        self.settings = SimpleNamespace(
            suggestions=self.suggestions, characters=self.characters, n_best=10, file_bytes=100_000
        )
        self.results = Results(self.folder / "results")
        self.catalogue = self

    def directions(self) -> list[tuple[str, str]]:
        return list(self.models)

    def find(self, source: str, target: str, name: str | None) -> Any:
        return SimpleNamespace(src_lang=source, tgt_lang=target)

    def suggestions_file(self, served: Any) -> Path:
        return self.folder / "suggestions.jsonl"

    async def translate(self, request: Request, served: Any, texts: list[str], search: Search) -> list[Answer]:
        self.seen.append((served.src_lang, served.tgt_lang, texts, search))
        words = self.models[served.src_lang, served.tgt_lang]
        return [answer(text, words, search.n_best, search.split) for text in texts]

    def app(self) -> Starlette:
        app = Starlette(
            routes=[*libretranslate.routes(), *deepl.routes()],
            exception_handlers={Refusal: _refused},  # type: ignore[dict-item]
        )
        app.state.server = self
        return app


async def _refused(request: Request, refusal: Refusal) -> Response:
    return JSONResponse({"error": refusal.message}, refusal.status)


@contextmanager
def listening(app: Starlette) -> Iterator[str]:
    """The address of the app, served by uvicorn on a free port of loopback, in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
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
