"""Our own API, under /v1: everything that `nmt.load(...)` offers."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from nmt.config.languages import language_name
from nmt.search.prefix import Prefixes
from nmt.search.steering import Steering
from nmt.serve.admission import SearchRoute
from nmt.serve.answers import answer_json, number, sentence_json
from nmt.serve.bodies import body_of, flag_field, number_field, text_field, texts_field
from nmt.serve.catalogue import Served
from nmt.serve.detect import DETECTED_FROM, detect
from nmt.serve.directions import AUTO, direction, meant
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Gone, Refusal
from nmt.serve.search_wish import Search
from nmt.serve.server import LONG, Server
from nmt.serve.texts import Assembly, Sentence
from nmt.serve.ticket import Ticket
from nmt.serve.tree import Tree
from nmt.translation.continuations import Continuation, continuations
from nmt.translation.translations import Translation

WIDEST = 100  # the largest beam that a request may ask for
MOST_CONTINUATIONS = 20


def routes() -> list[Route]:
    """The routes of our own API."""
    return [
        Route("/v1/models", models),
        SearchRoute("/v1/translate", translate, methods=["POST"]),
        SearchRoute("/v1/continuations", continue_, methods=["POST"]),
    ]


async def models(request: Request) -> Response:
    """GET /v1/models: the served models, and the limits of a request."""
    server: Server = request.app.state.server
    settings = server.settings
    return JsonResponse(
        {
            "models": [model_json(each) for each in server.catalogue.served],
            "limits": {"characters": settings.characters, "texts": settings.texts, "n_best": settings.n_best},
            "suggestions": settings.suggestions,
            "keys_required": settings.require_key,
        }
    )


def model_json(served: Served) -> dict[str, Any]:
    """One model in the list of models."""
    translator = served.translator
    return {
        "name": served.name,
        "source": served.src_lang,
        "target": served.tgt_lang,
        "source_name": language_name(served.src_lang),
        "target_name": language_name(served.tgt_lang),
        "attention": translator.has_attention,
        "beam": translator.settings.beam,
        "checksum": translator.checksum,
        "parameters": translator.parameters,
    }


async def translate(request: Request) -> Response:
    """POST /v1/translate: translates one or more texts, in one answer or as a stream of sentences."""
    started = perf_counter()
    server: Server = request.app.state.server
    body = await body_of(request)
    texts = texts_field(body, "text")
    search = read_search(body, server.settings.n_best)
    if search.prefix is not None and len(texts) > 1:
        raise Refusal(400, "prefix is for one text; send one")
    server.admit(request, texts, search.prefix or "")
    served, detected = chosen(server, body, texts)
    head = {
        "model": served.name,
        "checksum": served.translator.checksum,
        "source": served.src_lang,
        "target": served.tgt_lang,
        "detected": detected,
        "settings": settings_json(served, search),
    }
    if search.tree:
        return JsonResponse({**head, **await with_tree(server, request, served, texts, search, started)})
    if flag_field(body, "stream", False):
        if request.scope["http_version"] == "1.0":
            raise Refusal(400, "a stream needs HTTP/1.1; send the request in it, or without stream")
        growing = [Assembly(text) for text in texts]
        sentences = server.sentences(request, served, texts, search, growing)
        first = await anext(sentences, None)  # before the stream begins, so that a refusal keeps its status
        events = events_of(head, first, sentences, growing, served, search, started)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAMED)
    answers = await server.translate(request, served, texts, search)
    both = list(zip(texts, answers, strict=True))

    def as_json() -> list[dict[str, Any]]:
        return [answer_json(text, answer, served, search) for text, answer in both]

    light = sum(map(len, texts)) < LONG  # a long text is left to a thread, so that other requests go on
    found = as_json() if light else await asyncio.to_thread(as_json)
    return JsonResponse({**head, "milliseconds": milliseconds(started), "texts": found})


# The settings of a search that decide its result, except those of sampling, which a server does not do.
OF_SEARCH = (
    "beam", "n_best", "length_penalty", "alpha", "coverage_penalty", "max_length_a", "max_length_b", "no_repeat_ngram",
)  # fmt: skip
STREAMED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy must not hold the stream back


async def events_of(
    head: dict[str, Any],
    first: tuple[int, Sentence] | None,
    rest: AsyncIterator[tuple[int, Sentence]],
    growing: list[Assembly],
    served: Served,
    search: Search,
    started: float,
) -> AsyncIterator[str]:
    """Server-sent events (WHATWG HTML, 9.2): one for each sentence, then one with the rest of the answer."""
    count = [0] * len(growing)

    def event(number: int, sentence: Sentence) -> str:
        place = count[number]
        count[number] += 1
        assembly = growing[number]
        found = sentence_json(assembly.source, assembly.text, sentence, served, search)
        return server_sent("sentence", {"text": number, "sentence": place, **found})

    try:
        if first is not None:
            yield event(*first)
        async for number, sentence in rest:
            yield event(number, sentence)
        texts = [{"text": assembly.end().text} for assembly in growing]
        yield server_sent("done", {**head, "milliseconds": milliseconds(started), "texts": texts})
    except Refusal as refusal:
        yield server_sent("error", {"error": refusal.message, "status": refusal.status})
    except Gone:
        return


def server_sent(kind: str, data: dict[str, Any]) -> str:
    """One event in the format of the stream."""
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


async def with_tree(
    server: Server, request: Request, served: Served, texts: list[str], search: Search, started: float
) -> dict[str, Any]:
    """The translation of one sentence, with all hypotheses of its search."""
    if len(texts) != 1:
        raise Refusal(400, f"tree is for one text, and there are {len(texts):,}; send one")
    [prepared] = await server.prepared(texts, served, search)
    parts = [part for own in prepared.parts for part in own]
    if len(parts) != 1:
        raise Refusal(400, f"tree is for one sentence, and there are {len(parts):,}; send one sentence, or split=false")
    [part] = parts
    settings = search.settings(served.translator.settings)
    tree = Tree(settings.beam)
    prefixes = None if part.prefix is None else Prefixes([part.prefix])

    def work(ticket: Ticket) -> Translation:
        steering = Steering(prefixes, lambda: [0] if ticket.gone else [], tree.watch)
        translator = served.translator
        [found] = translator.batch([part.ids], search.attention is not False, settings, steering)
        tree.mark(found.tgt_pieces, translator.tokenizers.tgt)
        return found

    translation = await server.call(request, work, len(part.ids))
    assembly = Assembly(texts[0])
    assembly.add(prepared.spans[0], replace(translation, source=texts[0]))
    found = answer_json(texts[0], assembly.end(), served, search)
    found["sentences"][0]["tree"] = tree.as_json(served.translator.tokenizers.tgt)
    return {"milliseconds": milliseconds(started), "texts": [found]}


async def continue_(request: Request) -> Response:
    """POST /v1/continuations: the likeliest words after a prefix of a sentence's translation."""
    server: Server = request.app.state.server
    body = await body_of(request)
    text, prefix = text_field(body, "text"), text_field(body, "prefix", "")
    count = number_field(body, "count", 8, 1, MOST_CONTINUATIONS)
    split = flag_field(body, "split", True)
    server.admit(request, [text], prefix)
    served, _ = chosen(server, body, [text])
    translator = served.translator
    settings = Search(beam=read_beam(body)).settings(translator.settings)

    def work(ticket: Ticket) -> list[Continuation]:
        return continuations(translator, text, prefix, count, settings, lambda: ticket.gone, split)

    found = await server.call(request, work, count * (1 + len(text) // 4))
    ways = [{**vars(each), "probability": number(each.probability)} for each in found]
    return JsonResponse({"prefix": prefix, "continuations": ways})


def chosen(server: Server, body: dict[str, Any], texts: list[str]) -> tuple[Served, dict[str, Any] | None]:
    """The model for the request, and the detected language with its confidence, or None."""
    source, target = text_field(body, "source", AUTO), text_field(body, "target", only_target(server))
    name = body.get("model")
    if name is not None and not isinstance(name, str):
        raise Refusal(400, "model must be the name of one")
    detected = None
    if source == AUTO and (sources := sources_into(server, target)):
        (source, confidence), *_ = detect("\n".join(texts)[:DETECTED_FROM], sources)
        detected = {"language": source, "confidence": number(confidence)}
    found = direction(server.catalogue, source, target, texts, name)
    if found.served is None:
        raise Refusal(400, f"source and target are both {language_name(found.source)}; choose another target")
    return found.served, detected


def sources_into(server: Server, target: str) -> list[str]:
    """The languages that can be translated into `target`. Detection chooses among them alone."""
    served = server.catalogue.directions()
    into = meant(target, sorted({each for _, each in served}))
    return [own for own, each in served if each == into]


def only_target(server: Server) -> str | None:
    """The language that all models translate into, if there is only one. A request need not name it."""
    targets = {target for _, target in server.catalogue.directions()}
    return targets.pop() if len(targets) == 1 else None


def read_search(body: dict[str, Any], most: int) -> Search:
    """The search options of a request; `most` is the limit of n_best."""
    prefix = body.get("prefix")
    if prefix is not None and not isinstance(prefix, str):
        raise Refusal(400, "prefix is not a text; give one")
    return Search(
        n_best=number_field(body, "n_best", 1, 1, most),
        beam=read_beam(body),
        attention=read_attention(body.get("attention")),
        prefix=prefix or None,
        split=flag_field(body, "split", True),
        tree=flag_field(body, "tree", False),
    )


def read_attention(value: object) -> Literal[False, "words", "pieces"]:
    """How much of the attention the answer contains."""
    match value:
        case None | False | "false":
            return False
        case "words":
            return "words"
        case "pieces":
            return "pieces"
        case _:
            raise Refusal(400, "attention must be false, words or pieces")


def read_beam(body: dict[str, Any]) -> int | None:
    """The beam that the request asks for, or None for the model's own."""
    return number_field(body, "beam", 0, 1, WIDEST) if body.get("beam") is not None else None


def settings_json(served: Served, search: Search) -> dict[str, Any]:
    """All settings that decide the answer: those of the search, the precision, and whether there is a shortlist."""
    translator = served.translator
    used = search.settings(translator.settings)
    found = {key: getattr(used, key) for key in OF_SEARCH}
    return {**found, "precision": translator.precision, "shortlist": translator.shortlist is not None}


def milliseconds(started: float) -> float:
    """Milliseconds since `started`, a time of `perf_counter`."""
    return round(1000 * (perf_counter() - started), 2)
