"""DeepL's API, as its official clients use it."""

import re
from collections import Counter
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmt.config.languages import language_name
from nmt.serve.admission import SearchRoute
from nmt.serve.bodies import body_of
from nmt.serve.deepl_options import Options, options_of
from nmt.serve.directions import Direction, direction
from nmt.serve.html import translate_markup
from nmt.serve.keys import Key
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal
from nmt.serve.search_wish import Search
from nmt.serve.server import Server
from nmt.serve.texts import Answer
from nmt.translation.markup_segments import Rules

UNLIMITED = 1_000_000_000_000  # the character_limit of an account without a limit
# targets that DeepL's clients name only with a region
REGIONS = {"EN": ("EN-GB", "EN-US"), "PT": ("PT-BR", "PT-PT")}
LINE_END = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def routes() -> list[Route]:
    """The routes of DeepL's API."""
    return [
        SearchRoute("/v2/translate", translate, methods=["POST"]),
        Route("/v2/languages", languages, methods=["GET", "POST"]),
        Route("/v2/usage", usage, methods=["GET", "POST"]),
        Route("/v2/glossary-language-pairs", glossary_pairs, methods=["GET"]),
    ]


async def translate(request: Request) -> Response:
    """POST /v2/translate: the translation of every text, with its source language."""
    server: Server = request.app.state.server
    options = options_of(await body_of(request))
    key = server.admit(request, options.texts)
    chosen = [direction(server.catalogue, options.source, options.target, [text]) for text in options.texts]
    done: dict[int, str] = {}
    for one in dict.fromkeys(each.source for each in chosen):
        numbers = [number for number, each in enumerate(chosen) if each.source == one]
        texts = [options.texts[number] for number in numbers]
        done.update(zip(numbers, await _translated(request, server, chosen[numbers[0]], texts, options), strict=True))
    counted(request)[name_of(key)] += sum(map(len, options.texts))
    return JsonResponse(
        {
            "translations": [
                {"detected_source_language": each.source.upper(), "text": done[number]}
                | ({"billed_characters": len(options.texts[number])} if options.billed else {})
                for number, each in enumerate(chosen)
            ]
        }
    )


async def languages(request: Request) -> Response:
    """GET /v2/languages: the source languages (type=source) or the target languages (type=target)."""
    server: Server = request.app.state.server
    body = await body_of(request)
    kind = body.get("type") or "source"
    served = server.catalogue.directions()
    if kind == "source":
        codes = sorted({source for source, _ in served})
        return JsonResponse([{"language": code.upper(), "name": language_name(code)} for code in codes])
    if kind != "target":
        raise Refusal(400, "Value for 'type' not supported: it is source or target")
    result = []
    for code in sorted({target for _, target in served}):
        for own in REGIONS.get(code.upper(), (code.upper(),)):
            result.append({"language": own, "name": language_name(own), "supports_formality": False})
    return JsonResponse(result)


async def usage(request: Request) -> Response:
    """GET /v2/usage: characters translated for this key since the server began."""
    server: Server = request.app.state.server
    await body_of(request)
    count = counted(request)[name_of(server.key_of(request))]
    return JsonResponse({"character_count": count, "character_limit": UNLIMITED})


async def glossary_pairs(request: Request) -> Response:
    """GET /v2/glossary-language-pairs: an empty list."""
    return JsonResponse({"supported_languages": []})


async def _translated(
    request: Request, server: Server, chosen: Direction, texts: Sequence[str], options: Options
) -> list[str]:
    """The translations of texts with the same direction."""
    served = chosen.served
    if served is None:
        return list(texts)
    split = options.split != "0"
    if options.markup is None:
        plain = [LINE_END.sub(" ", text) if options.split == "nonewlines" else text for text in texts]
        return [answer.text for answer in await server.translate(request, served, plain, Search(split=split))]

    async def with_links(passages: list[str]) -> list[Answer]:
        return await server.translate(request, served, passages, Search(attention="words", split=split))

    rules = Rules(
        xml=options.markup == "xml",
        blocks=options.splitting,
        inline=options.non_splitting,
        kept=options.ignored,
        outline=options.outline,
        split_at_newlines=options.split == "1",
    )
    return await translate_markup(texts, rules, with_links)


def counted(request: Request) -> Counter[str]:
    """Characters that this process has translated since it began, by name of the key ("" without a key)."""
    if not hasattr(request.app.state, "characters"):
        request.app.state.characters = Counter()
    found: Counter[str] = request.app.state.characters
    return found


def name_of(key: Key | None) -> str:
    """The key's name; "" without a key."""
    return "" if key is None else key.name
