"""LibreTranslate's API, as its public clients use it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmt.config.languages import language_name
from nmt.serve.admission import SearchRoute
from nmt.serve.bodies import body_of
from nmt.serve.directions import detected, direction
from nmt.serve.files import SUPPORTED, download_file, translate_file
from nmt.serve.html import translate_markup
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal
from nmt.serve.search_wish import Search
from nmt.serve.server import Server
from nmt.serve.suggestions import FILE_NAME, add_suggestion
from nmt.serve.texts import Answer
from nmt.translation.markup_segments import Rules


def routes() -> list[Route]:
    """The routes of LibreTranslate's API."""
    return [
        SearchRoute("/translate", translate, methods=["POST"]),
        Route("/detect", detect, methods=["POST"]),
        Route("/languages", languages, methods=["GET"]),
        Route("/frontend/settings", frontend_settings, methods=["GET"]),
        Route("/suggest", suggest, methods=["POST"]),
        SearchRoute("/translate_file", translate_file, methods=["POST"]),
        Route("/download_file/{token}", download_file, methods=["GET"], name="download_file"),
    ]


async def translate(request: Request) -> Response:
    """POST /translate: the text, or each of a list of texts, translated."""
    server: Server = request.app.state.server
    body = await body_of(request)
    given = wanted(body, "q")
    texts = texts_of(given, "q")
    source, target = word(body, "source"), word(body, "target")
    written_in = body.get("format") or "text"
    if written_in not in ("text", "html"):
        raise Refusal(400, f"{written_in} format is not supported; choose text or html")
    alternatives = _alternatives(body, server.settings.n_best)
    server.admit(request, texts)
    chosen = direction(server.catalogue, source, target, texts)
    others: list[list[str]] = [[] for _ in texts]
    if chosen.served is None:
        done = texts
    elif written_in == "html":
        served = chosen.served

        async def with_links(passages: list[str]) -> list[Answer]:
            return await server.translate(request, served, passages, Search(attention="words"))

        done = await translate_markup(texts, Rules(), with_links)
    else:
        answers = await server.translate(request, chosen.served, texts, Search(n_best=alternatives + 1))
        done = [answer.text for answer in answers]
        others = [other_translations(answer, alternatives) for answer in answers]
    single = isinstance(given, str)
    result: dict[str, Any] = {"translatedText": done[0] if single else done}
    if chosen.confidence is not None:
        found = {"confidence": percent(chosen.confidence), "language": chosen.source}
        result["detectedLanguage"] = found if single else [found] * len(texts)
    if alternatives:
        result["alternatives"] = others[0] if single else others
    return JsonResponse(result)


async def detect(request: Request) -> Response:
    """POST /detect: the languages that the text may be in, the likeliest first."""
    server: Server = request.app.state.server
    texts = texts_of(wanted(await body_of(request), "q"), "q")
    server.admit(request, texts)
    served = server.catalogue.directions()
    found = detected("\n".join(texts), sorted({language for each in served for language in each}))
    found = [each for each in found if percent(each[1]) >= 1] or found[:1] or [(served[0][0], 0.0)]
    return JsonResponse([{"confidence": percent(share), "language": language} for language, share in found])


async def languages(request: Request) -> Response:
    """GET /languages: every language of the models, with the languages into which it can be translated."""
    server: Server = request.app.state.server
    served = server.catalogue.directions()
    codes = list(dict.fromkeys(language for each in served for language in each))
    return JsonResponse(
        [
            {
                "code": code,
                "name": language_name(code),
                "targets": sorted({target for source, target in served if source == code}),
            }
            for code in codes
        ]
    )


async def frontend_settings(request: Request) -> Response:
    """GET /frontend/settings: limits, default languages and the features that are on."""
    server: Server = request.app.state.server
    source, target = server.catalogue.directions()[0]
    return JsonResponse(
        {
            "apiKeys": server.keys is not None,
            "charLimit": server.settings.characters,
            "filesTranslation": True,
            "frontendTimeout": 500,  # milliseconds between typing and translating, as in LibreTranslate
            "keyRequired": server.settings.require_key,
            "language": {
                "source": {"code": source, "name": language_name(source)},
                "target": {"code": target, "name": language_name(target)},
            },
            "suggestions": server.settings.suggestions,
            "supportedFilesFormat": SUPPORTED,
        }
    )


async def suggest(request: Request) -> Response:
    """POST /suggest: stores a better translation, from which the model can learn later."""
    server: Server = request.app.state.server
    if not server.settings.suggestions:
        raise Refusal(403, "Suggestions are off on this server")
    body = await body_of(request)
    text, suggestion = word(body, "q"), word(body, "s")
    server.admit(request, [text, suggestion])
    chosen = direction(server.catalogue, word(body, "source"), word(body, "target"), [text])
    if chosen.served is None:
        raise Refusal(400, "source and target are the same language")
    name = chosen.served.name
    folder = next(source.folder for source in server.catalogue.sources if source.name == name)
    add_suggestion(folder / FILE_NAME, text, suggestion, chosen.source, chosen.target)
    return JsonResponse({"success": True})


def wanted(body: dict[str, Any], name: str) -> Any:
    """A field that must not be missing or empty."""
    value = body.get(name)
    if value is None or value == "" or value == []:
        raise Refusal(400, f"Invalid request: missing {name} parameter")
    return value


def word(body: dict[str, Any], name: str) -> str:
    """A field that must be one text, and not empty."""
    value = wanted(body, name)
    if not isinstance(value, str):
        raise Refusal(400, f"Invalid request: {name} parameter is not a text")
    return value


def texts_of(value: Any, name: str) -> list[str]:
    """One text or a list of texts, as a list."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, f"Invalid request: {name} parameter is neither a text nor a list of texts")
    return list(texts)


def other_translations(answer: Answer, most: int) -> list[str]:
    """Other translations of the whole text: one from the second best of every sentence, one from the third best, …"""
    found: list[str] = []
    counts = [len(sentence.translation.n_best) for sentence in answer.sentences]
    for rank in range(1, min(counts, default=0)):
        text, reached = "", 0
        for sentence in answer.sentences:
            text += answer.text[reached : sentence.target.start] + sentence.translation.n_best[rank].text
            reached = sentence.target.end
        text += answer.text[reached:]
        if text != answer.text and text not in found:
            found.append(text)
    return found[:most]


def percent(share: float) -> float:
    """A share as a percentage with one decimal place."""
    return round(100 * share, 1)


def _alternatives(body: dict[str, Any], n_best: int) -> int:
    value = body.get("alternatives") or 0
    try:
        number = max(0, int(str(value)))
    except ValueError:
        raise Refusal(400, "Invalid request: alternatives parameter is not a number") from None
    if number > n_best - 1:
        raise Refusal(400, f"Invalid request: alternatives parameter must be <= {n_best - 1}")
    return number
