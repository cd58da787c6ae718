"""DeepL's API, as its official clients use it."""

import functools
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt.config.languages import language_name
from nmt.serve.app import Answer, Search, Server
from nmt.serve.bodies import body_of
from nmt.serve.deepl_options import Options, options_of
from nmt.serve.directions import Direction, direction
from nmt.serve.html import translate_markup
from nmt.serve.refusal import Refusal
from nmt.translation.markup_segments import Rules

Handler = Callable[[Request], Awaitable[Response]]
UNLIMITED = 1_000_000_000_000  # the character_limit of an account that has none
# targets that clients name with a region alone
REGIONS = {"EN": ("EN-GB", "EN-US"), "PT": ("PT-BR", "PT-PT")}
LINE_END = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def routes() -> list[Route]:
    """All of them, for the app."""
    return [
        Route("/v2/translate", in_deepls_words(translate), methods=["POST"]),
        Route("/v2/languages", in_deepls_words(languages), methods=["GET", "POST"]),
        Route("/v2/usage", in_deepls_words(usage), methods=["GET", "POST"]),
        Route("/v2/glossary-language-pairs", in_deepls_words(glossary_pairs), methods=["GET"]),
    ]


def in_deepls_words(handler: Handler) -> Handler:
    """The handler with its refusals as {"message": …}, where DeepL's clients look for them."""

    @functools.wraps(handler)
    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except Refusal as refusal:
            wait = {} if refusal.retry_after_s is None else {"Retry-After": str(refusal.retry_after_s)}
            return JSONResponse({"message": refusal.message}, refusal.status, wait)

    return answered


async def translate(request: Request) -> Response:
    """POST /v2/translate: every text with the language that it was in."""
    server: Server = request.app.state.server
    options = options_of(await body_of(request))
    chosen = [direction(server.catalogue, options.source, options.target, [text]) for text in options.texts]
    done: dict[int, str] = {}
    for one in dict.fromkeys(each.source for each in chosen):
        numbers = [number for number, each in enumerate(chosen) if each.source == one]
        texts = [options.texts[number] for number in numbers]
        done.update(zip(numbers, await _translated(request, server, chosen[numbers[0]], texts, options), strict=True))
    counted(request)[_who(request)] += sum(map(len, options.texts))
    return JSONResponse(
        {
            "translations": [
                {"detected_source_language": each.source.upper(), "text": done[number]}
                | ({"billed_characters": len(options.texts[number])} if options.billed else {})
                for number, each in enumerate(chosen)
            ]
        }
    )


async def languages(request: Request) -> Response:
    """GET /v2/languages: those of type=source, or type=target."""
    server: Server = request.app.state.server
    body = await body_of(request)
    kind = body.get("type") or "source"
    served = server.catalogue.directions()
    if kind == "source":
        codes = sorted({source for source, _ in served})
        return JSONResponse([{"language": code.upper(), "name": language_name(code)} for code in codes])
    if kind != "target":
        raise Refusal(400, "Value for 'type' not supported: it is source or target")
    result = []
    for code in sorted({target for _, target in served}):
        for own in REGIONS.get(code.upper(), (code.upper(),)):
            result.append({"language": own, "name": language_name(own), "supports_formality": False})
    return JSONResponse(result)


async def usage(request: Request) -> Response:
    """GET /v2/usage: characters translated for this key since the server began."""
    return JSONResponse({"character_count": counted(request)[_who(request)], "character_limit": UNLIMITED})


async def glossary_pairs(request: Request) -> Response:
    """GET /v2/glossary-language-pairs: none."""
    return JSONResponse({"supported_languages": []})


async def _translated(
    request: Request, server: Server, chosen: Direction, texts: Sequence[str], options: Options
) -> list[str]:
    """Texts of one direction."""
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
    """Characters by the name of the key ("" without one); of this process, since it began."""
    if not hasattr(request.app.state, "characters"):
        request.app.state.characters = Counter()
    found: Counter[str] = request.app.state.characters
    return found


def _who(request: Request) -> str:
    return ""
