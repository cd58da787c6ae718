"""A server that answers as `nmt serve` does, with made-up translations: tests of the page need no model.

`python tests/serve/page/standin.py 5001` serves it to a browser.
"""

import asyncio
import json
import math
import re
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from nmt.serve import page

NAMES = {"en": "English", "de": "German", "zh": "Chinese", "ar": "Arabic"}
LEXICON = {
    ("en", "de"): dict(
        pair.split("=")
        for pair in "a=ein an=ein the=der small=kleiner dog=Hund runs=rennt running=rennt is=ist across=über wet=nasse "
        "grass=Wiese old=alte man=Mann reads=liest book=Buch in=in park=Park two=zwei children=Kinder play=spielen "
        "with=mit red=roten ball=Ball under=unter trees=Bäumen teacher=Lehrerin shows=zeigt how=wie it=es "
        "works=funktioniert "
        "first=erste second=zweite third=dritte sentence=Satz and=und we=wir see=sehen cat=Katze sleeps=schläft".split()
    ),
    ("de", "en"): {
        "ein": "a",
        "hund": "dog",
        "rennt": "runs",
        "der": "the",
        "kleiner": "small",
        "mann": "man",
        "katze": "cat",
    },
}
WHOLE = {
    ("en", "zh", "A small dog is running across the wet grass."): [
        ("一", 0), ("只", 0), ("小狗", 1), ("正在", 3), ("跑", 4), ("过", 5),
        ("湿漉漉", 7), ("的", 7), ("草地", 8), ("。", 9),
    ],
    ("en", "ar", "A small dog is running across the wet grass."): [
        ("كلب", 2), ("صغير", 1), ("يركض", 4), ("عبر", 5), ("العشب", 8), ("المبلل", 7), (".", 9),
    ],
    ("zh", "en", "小狗在湿草地上跑。"): [
        ("The", 0), ("puppy", 1), ("runs", 7), ("on", 6), ("the", 4), ("wet", 3), ("grass", 4), (".", 8),
    ],
    ("ar", "en", "كلب صغير يركض عبر العشب المبلل."): [
        ("A", 0), ("small", 1), ("dog", 0), ("runs", 2), ("across", 3), ("the", 4), ("wet", 5), ("grass", 4), (".", 6),
    ],
}  # fmt: skip
OTHERS = {
    "Ein": ["Der", "Dieser", "Irgendein"], "Hund": ["Welpe", "Köter", "Vierbeiner"],
    "kleiner": ["junger", "winziger", "kurzer"],
    "rennt": ["läuft", "springt", "geht"], "über": ["auf", "durch", "quer"], "Wiese": ["Gras", "Rasen", "Straße"],
    "小狗": ["狗", "幼犬"], "跑": ["奔跑", "走"], "كلب": ["جرو", "كلبة"], "يركض": ["يجري", "يمشي"],
}  # fmt: skip


@dataclass
class Behaviour:
    """What a test makes the server do, and what it was asked."""

    delay_s: float = 0.0
    failure: tuple[int, str, int | None] | None = None  # status, message, Retry-After
    key: str | None = None
    suggestions: bool = False
    characters: int = 5000
    directions: list[tuple[str, str, str, bool]] = field(
        default_factory=lambda: [
            ("general", "en", "de", True),
            ("none", "en", "de", False),
            ("additive", "en", "de", True),
            ("back", "de", "en", True),
            ("chinese", "en", "zh", True),
            ("from_chinese", "zh", "en", True),
            ("arabic", "en", "ar", True),
            ("from_arabic", "ar", "en", True),
        ]
    )  # name, source, target, attention
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    hung_up: int = 0

    def texts(self) -> list[str]:
        """Every text that /v1/translate was asked for, in order, without questions about details."""
        bodies = [body for path, body in self.asked if path == "/v1/translate" and not body.get("tree")]
        return [text for body in bodies for text in listed(body["text"])]


def listed(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


def words_of(text: str) -> list[tuple[str, int, int]]:
    """Words, punctuation and single Chinese characters with their places."""
    found = re.finditer(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+|[^\w\s]", text)
    return [(match[0], match.start(), match.end()) for match in found]


def sentence_places(text: str) -> Iterator[tuple[int, int]]:
    """Sentences end behind . ! ? at white space, and behind 。; not behind Dr."""
    for line in re.finditer(r"[^\n]+", text):
        start = line.start()
        for end in [*re.finditer(r"(?<!\bDr)[.!?]+(?=\s)|[。!?]", line[0]), None]:
            stop = line.end() if end is None else line.start() + end.end()
            piece = text[start:stop]
            if piece.strip():
                yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
            start = stop


def glued(words: list[str], target: str) -> tuple[str, list[tuple[int, int]]]:
    """The words as a text, and where each lies in it."""
    text, places = "", []
    for word in words:
        space = "" if not text or target == "zh" or re.fullmatch(r"[^\w\s]", word) else " "
        places.append((len(text) + len(space), len(text) + len(space) + len(word)))
        text += space + word
    return text, places


def translated(sentence: str, source: str, target: str, model: str) -> list[tuple[str, int]]:
    """Words of the made-up translation, each with the source word behind it."""
    if (source, target, sentence) in WHOLE:
        return WHOLE[source, target, sentence]
    lexicon = LEXICON.get((source, target), {})
    result = []
    for index, (word, _, _) in enumerate(words_of(sentence)):
        new = lexicon.get(word.lower(), word if not word[0].isalpha() else word[::-1].lower())
        if model == "none" and index > 3 and index % 3 == 0 and word[0].isalpha():
            new = result[-1][0]  # a model without attention loses the thread
        result.append((new[:1].upper() + new[1:] if index == 0 else new, index))
    return result


def begun_words(prefix: str, target: str) -> list[str]:
    """Words of a prefix; in Chinese the longest that are known, single characters otherwise."""
    if target != "zh":
        return [word for word, _, _ in words_of(prefix)]
    known = [word for (_, language, _), words in WHOLE.items() if language == "zh" for word, _ in words]
    known += [other for others in OTHERS.values() for other in others]
    return re.findall("|".join([*sorted(map(re.escape, known), key=len, reverse=True), r"\S"]), prefix)


def held(words: list[tuple[str, int]], prefix: str | None, target: str) -> list[tuple[str, int]]:
    """The translation that begins with the prefix."""
    if not prefix:
        return words
    begun = begun_words(prefix, target)
    rest = words[len(begun) :]
    if not prefix.endswith(" ") and target != "zh":
        whole = [word for word, _ in words] + [other for others in OTHERS.values() for other in others]
        begun[-1] = next((word for word in whole if word.startswith(begun[-1])), begun[-1])
    return [(word, min(index, len(words) - 1)) for index, word in enumerate(begun)] + rest


def variants(words: list[tuple[str, int]], count: int) -> list[list[str]]:
    """The translation and others that differ in a word."""
    plain = [word for word, _ in words]
    result = [plain]
    for number in range(2, 99):
        for index, word in enumerate(plain):
            other = OTHERS.get(word, [f"{word}{number}"])
            if len(result) < count and word[0].isalpha() and number - 2 < len(other):
                result.append([*plain[:index], other[number - 2], *plain[index + 1 :]])
    return result[:count]


def attention(links: list[int], sources: int, sharpness: float) -> list[list[float]]:
    """A row for each target word, highest at its source word."""
    rows = []
    for link in links:
        scores = [math.exp(-sharpness * abs(index - link)) for index in range(sources)]
        rows.append([score / sum(scores) for score in scores])
    return rows


def pieces(words: list[str]) -> list[tuple[str, int]]:
    """Pieces of five letters, each with its word."""
    return [("▁" * (not at) + word[at : at + 5], i) for i, word in enumerate(words) for at in range(0, len(word), 5)]


def tree(tokens: list[str]) -> list[dict[str, Any]]:
    """A beam of four: the best path, which is not always ahead, and rivals that come and go."""
    nodes: list[dict[str, Any]] = [
        {"id": 0, "parent": None, "token": "", "log_prob": 0.0, "step": 0, "end": False, "best": True}
    ]
    open_nodes = [nodes[0]]
    for step, token in enumerate([*tokens, "</s>"], start=1):
        best = next(node for node in open_nodes if node["best"])
        rivals = [node for node in open_nodes if node is not best]
        parents = [best, best, *rivals][:4]
        following = []
        for rank, parent in enumerate(parents):
            bad = (
                0.25
                + 0.9 * rank
                - (0.5 if step % 4 == 0 and rank else 0.0)
                + (0.4 if rank == 0 and step % 4 == 0 else 0)
            )
            end = token == "</s>" and rank < 3
            word = (
                token if rank == 0 else ("</s>" if end else f"▁{'abcdefgh'[(step + rank) % 8]}{token.strip('▁')[:4]}")
            )
            worth = parent["log_prob"] - bad
            following.append(
                {"id": len(nodes), "parent": parent["id"], "token": word, "log_prob": worth, "step": step, "end": end}
            )
            following[-1]["best"] = rank == 0
            nodes.append(following[-1])
        open_nodes = following
    return nodes


def detect(text: str) -> str:
    if re.search(r"[\u0600-\u06ff]", text):
        return "ar"
    if re.search(r"[\u4e00-\u9fff]", text):
        return "zh"
    return "de" if re.search(r"\b(der|die|das|ein|eine|ist|und)\b", text.lower()) else "en"


def answer_text(body: dict[str, Any], text: str, source: str, model: tuple[str, str, str, bool]) -> dict[str, Any]:
    """One of "texts" of an answer of /v1/translate."""
    name, _, target, attends = model
    places = list(sentence_places(text)) if body.get("split", True) else [(0, len(text))]
    sentences: list[dict[str, Any]] = []
    whole = ""
    for start, end in places:
        words = held(translated(text[start:end], source, target, name), body.get("prefix"), target)
        translation, spots = glued([word for word, _ in words], target)
        between = "" if not whole or target == "zh" else " "
        begin = len(whole) + len(between)
        whole += between + translation
        source_words = words_of(text[start:end])
        sentence: dict[str, Any] = {
            "source": {"text": text[start:end], "start": start, "end": end},
            "target": {"text": translation, "start": begin, "end": begin + len(translation)},
            "score": -0.31,
            "log_prob": -0.31 * len(words),
            "n_best": [
                {
                    "text": glued(one, target)[0],
                    "score": -0.31 - 0.12 * rank,
                    "log_prob": -(0.31 + 0.12 * rank) * len(words),
                }
                for rank, one in enumerate(variants(words, body.get("n_best", 1)))
            ],
            "caution": "has mostly letters that the model does not know: ЖЩ" if "Ж" in text[start:end] else None,
        }
        if attends and body.get("attention"):
            sentence["source_words"] = [{"text": w, "start": start + a, "end": start + b} for w, a, b in source_words]
            sentence["target_words"] = [
                {"text": w, "start": begin + a, "end": begin + b} for (w, _), (a, b) in zip(words, spots, strict=True)
            ]
            sentence["links"] = [[link, index] for index, (_, link) in enumerate(words)]
            sentence["word_attention"] = attention([link for _, link in words], len(source_words), 1.5)
        cut = pieces([word for word, _ in words])
        if attends and body.get("attention") == "pieces":
            source_pieces = pieces([word for word, _, _ in source_words])
            first = {word: index for index, (_, word) in reversed(list(enumerate(source_pieces)))}
            links = [first[words[word][1]] for _, word in cut] + [len(source_pieces) - 1]
            sentence["source_pieces"] = [piece for piece, _ in source_pieces]
            sentence["target_pieces"] = [*(piece for piece, _ in cut), "</s>"]
            sentence["attention"] = [
                [attention(links, len(source_pieces), sharp + layer) for sharp in (0.3, 2.0)] for layer in range(2)
            ]
        if body.get("tree"):
            sentence["tree"] = tree([piece for piece, _ in cut])
        sentences.append(sentence)
    return {"text": whole, "sentences": sentences}


def application(behaviour: Behaviour) -> Starlette:
    """The app; it reads `behaviour` at every request."""

    def refused(status: int, message: str, retry_after: int | None = None) -> JSONResponse:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return JSONResponse({"error": message}, status, headers)

    async def read(request: Request) -> dict[str, Any] | Response:
        body: dict[str, Any] = await request.json()
        behaviour.asked.append((request.url.path, body))
        for _ in range(round(behaviour.delay_s / 0.01)):
            await asyncio.sleep(0.01)
            if await request.is_disconnected():
                behaviour.hung_up += 1
                return Response(status_code=499)
        if behaviour.key is not None and request.headers.get("Authorization") != f"Bearer {behaviour.key}":
            return refused(403, "The key is not known here.")
        return body if behaviour.failure is None else refused(*behaviour.failure)

    async def models(request: Request) -> Response:
        listing = [
            {"name": name, "source": s, "target": t, "source_name": NAMES[s], "target_name": NAMES[t],
             "attention": attends, "beam": 5, "checksum": "9f3c", "parameters": 6_432_100}
            for name, s, t, attends in behaviour.directions
        ]  # fmt: skip
        return JSONResponse({
            "models": listing,
            "limits": {"characters": behaviour.characters, "texts": 50, "n_best": 10},
            "suggestions": behaviour.suggestions,
            "keys_required": behaviour.key is not None,
        })  # fmt: skip

    async def translate(request: Request) -> Response:
        body = await read(request)
        if isinstance(body, Response):
            return body
        texts = listed(body["text"])
        source = detect(" ".join(texts)) if body["source"] == "auto" else body["source"]
        model = next(
            (
                one
                for one in behaviour.directions
                if one[1:3] == (source, body["target"]) and body.get("model") in (None, one[0])
            ),
            None,
        )
        if model is None:
            return refused(400, f"No model translates from {NAMES[source]} to {NAMES[body['target']]} here.")
        answer = {
            "model": model[0], "checksum": "9f3c", "source": source, "target": model[2], "milliseconds": 12.3,
            "detected": {"language": source, "confidence": 0.98} if body["source"] == "auto" else None,
            "settings": {"beam": 5, "length_penalty": "average", "alpha": 1.0, "n_best": body.get("n_best", 1)},
        }  # fmt: skip
        made = [answer_text(body, text, source, model) for text in texts]
        if not body.get("stream"):
            return JSONResponse({**answer, "texts": made})

        async def events() -> AsyncIterator[str]:
            for index, text in enumerate(made):
                for number, sentence in enumerate(text["sentences"]):
                    data = {"text": index, "sentence": number, "of": len(text["sentences"]), **sentence}
                    yield f"event: sentence\ndata: {json.dumps(data)}\n\n"
                    await asyncio.sleep(behaviour.delay_s / 4)
            yield f"event: done\ndata: {json.dumps(answer)}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def continuations(request: Request) -> Response:
        body = await read(request)
        if isinstance(body, Response):
            return body
        prefix, target = body["prefix"], body["target"]
        words = translated(body["text"], body["source"], target, body.get("model") or "general")
        begun = begun_words(prefix, target)
        partial = begun.pop() if begun and not prefix.endswith(" ") and target != "zh" else ""
        at = min(len(begun), len(words) - 1)
        options = [words[at][0], *OTHERS.get(words[at][0], [f"{words[at][0]}{n}" for n in "xyz"]), "sehr", "."]
        options = [option for option in dict.fromkeys(options) if option.startswith(partial)]
        result = []
        for rank, option in enumerate(options[: body.get("count", 8)]):
            following = [*begun, option, *(() if option == "." else (word for word, _ in words[at + 1 :]))]
            translation = glued(following, target)[0]
            result.append(
                {"text": option, "probability": 0.62 * 0.4**rank, "translation": translation, "end": option == "."}
            )
        if prefix.endswith("."):
            result = [{"text": "", "probability": 0.9, "translation": prefix, "end": True}]
        return JSONResponse({"prefix": prefix, "continuations": result})

    async def suggest(request: Request) -> Response:
        body = await read(request)
        return body if isinstance(body, Response) else JSONResponse({"success": True})

    return Starlette(
        routes=[
            *page.routes(),
            Route("/v1/models", models),
            Route("/v1/translate", translate, methods=["POST"]),
            Route("/v1/continuations", continuations, methods=["POST"]),
            Route("/suggest", suggest, methods=["POST"]),
        ]
    )


if __name__ == "__main__":
    uvicorn.run(application(Behaviour(suggestions=True)), port=int(sys.argv[1]), log_level="warning")
