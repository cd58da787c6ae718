"""Random requests of every route that the description has: valid HTTP, and any content whatever."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from helpers.http_bytes import request
from helpers.odd_text import INVALID, ODD
from helpers.small_runs import CHINESE, sentences

TEXTS = [
    *sentences(40),
    *sentences(5, words=CHINESE, joint=""),
    "Ein Hund. Ein Haus!\n\nDer Mann",
    "<p>der <b>Hund</b></p>",
]
LANGUAGES = ["en", "de", "EN", "DE", "en-US", "auto", "xx", "zh-Hant", "de_DE.utf8", "x" * 300, "-", "i-klingon"]
ODD_NUMBERS: list[Any] = [0, -1, 1.5, 10**30, -(10**300), 1e308, float("nan"), float("inf"), float("-inf"), 2**63, -0.0]
ODD_VALUES: list[Any] = [
    None, True, False, "", " ", [], {}, [[]], [None], {"a": {"b": []}}, "--5", "٣", "1_0", "0x10", "+1", "1e3", "\0",
    ["a", 3], [["a"]], "null", "true", "False", "words", "9" * 5000, "\U0010ffff", "a\r\nX-A: b",
]  # fmt: skip
GOOD: dict[str, Callable[[random.Random], Any]] = {
    "text": lambda rng: rng.choice([rng.choice(TEXTS), rng.choices(TEXTS, k=rng.randint(1, 4))]),
    "q": lambda rng: rng.choice([rng.choice(TEXTS), rng.choices(TEXTS, k=rng.randint(1, 4))]),
    "s": lambda rng: rng.choice(TEXTS),
    "prefix": lambda rng: rng.choice([None, "", "der ", "12", "Hau", "  ", rng.choice(TEXTS)]),
    "source": lambda rng: rng.choice(["en", "de", "auto"]),
    "target": lambda rng: rng.choice(["en", "de"]),
    "source_lang": lambda rng: rng.choice(["EN", "de"]),
    "target_lang": lambda rng: rng.choice(["DE", "en-GB"]),
    "model": lambda rng: rng.choice([None, "first", "back", "third"]),
    "n_best": lambda rng: rng.randint(1, 4),
    "alternatives": lambda rng: rng.randint(0, 3),
    "beam": lambda rng: rng.choice([None, 1, 2, 3, 5]),
    "count": lambda rng: rng.randint(1, 4),
    "ignore_tags": lambda rng: rng.choice(["b", ["x", "b,i"]]),
    "splitting_tags": lambda rng: "p",
    "non_splitting_tags": lambda rng: ["i"],
    "api_key": lambda rng: rng.choice(["", "wrong"]),
    "file": lambda rng: rng.choice(TEXTS),
}
JSON_KINDS = ["application/json"] * 8 + [
    "application/json; charset=utf-16", "", "text/plain", "application/vnd.x+json", "application/xml", "a", "/", ";;=",
    "application/x-www-form-urlencoded", "multipart/form-data", "text/html; q=\"", "APPLICATION/JSON ;",
]  # fmt: skip
CHARSETS = ["utf-8", "latin-1", "utf-7", "unicode_escape", "undefined", "idna", "punycode", "hex", "utf-16", "x" * 200]
NAMES = [
    "a.txt",
    "A.TXT",
    "a",
    ".txt",
    "../../a.txt",
    "a\\b.txt",
    "ä.txt",
    "a.docx",
    "x" * 3000 + ".txt",
    '%00".txt',
    "?",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "QUERY", "X" * 40]
HEADERS = [
    ("Accept", "text/event-stream"), ("Accept-Encoding", "gzip, *;q=x"), ("Authorization", "Bearer wrong"),
    ("Authorization", "DeepL-Auth-Key "), ("Authorization", "Basic \xff\xfe"), ("Authorization", "Bearer"),
    ("Content-Encoding", "gzip"), ("Cookie", "a=b; =; \xe4"), ("Expect", "100-continue"), ("Upgrade", "websocket"),
    ("Connection", "Upgrade"), ("Connection", "close"), ("Host", "[::1"), ("Host", "a b"), ("Host", ""),
    ("X-Forwarded-For", "1.2.3.4, x"), ("X-Forwarded-Host", "evil.example"), ("Origin", "null"), ("Range", "bytes=0-1"),
    ("If-None-Match", "*, W/\"\xff"), ("X-HTTP-Method-Override", "DELETE"), ("Content-Language", "\xff"),
]  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A request that is valid HTTP, and the route that it is for."""

    method: str
    route: str
    content: bytes


class Requests:
    """Makes them, from the description of the API."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.schemas = description["components"]["schemas"]
        self.routes = [
            (path, method.upper(), self._fields(about))
            for path, own in description["paths"].items()
            for method, about in own.items()
        ]  # fmt: skip
        self.with_fields = [each for each in self.routes if each[2]]

    def _fields(self, operation: dict[str, Any]) -> list[str]:
        """The names of what its body may hold."""
        for media in operation.get("requestBody", {}).get("content", {}).values():
            schema = media["schema"]
            if "$ref" in schema:
                schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
            return list(schema["properties"])
        return []

    def one(self, rng: random.Random) -> Request:
        """Any request."""
        path, method, fields = rng.choice(self.routes if rng.random() < 0.15 else self.with_fields)
        values = self._values(rng, fields)
        if rng.random() < 0.05:
            method = rng.choice(METHODS)
        target = path.replace("{token}", quote(rng.choice([odd(rng), "a" * 32, "../../etc/passwd"]), safe="")[:2000])
        if rng.random() < 0.03:
            target += rng.choice(["/", "//", "/..", "%00", "%ff", ";a", "?", "%2e%2e/", "/x" * 500])
        headers = [rng.choice(HEADERS) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        headers = [each for each in headers if each[0] != "Host"][:2] if rng.random() < 0.9 else headers
        query, kind, body = written(rng, path, values)
        if query:
            target += ("&" if "?" in target else "?") + query[:8000]
        if kind is not None:
            headers.append(("Content-Type", kind))
        return Request(method, path, request(method, target, headers, body))

    def _values(self, rng: random.Random, fields: Sequence[str]) -> dict[str, Any]:
        """What each field holds; most are as they should be."""
        kept = {"text", "q", "s", "source", "target", "source_lang", "target_lang", "file"}
        chosen = [name for name in fields if (name in kept and rng.random() < 0.98) or rng.random() < 0.25]
        spoiled = rng.choice([0.0, 0.0, 0.1, 0.5])
        return {
            name if rng.random() < 0.99 else odd(rng): value_of(rng, name)
            if rng.random() >= spoiled
            else any_value(rng)
            for name in chosen
        }


def value_of(rng: random.Random, name: str) -> Any:
    """One that the field takes; a field without a list of its own is a choice or a flag."""
    make = GOOD.get(
        name, lambda rng: rng.choice([True, False, "words", "pieces", "html", "xml", "text", "0", "1", None])
    )
    return make(rng)


def odd(rng: random.Random) -> str:
    """A text that few expect; none that takes long to translate."""
    return rng.choice(list(ODD.values()))[:300]


def any_value(rng: random.Random) -> Any:
    """Of JSON."""
    return rng.choice([
        lambda: rng.choice(ODD_VALUES), lambda: rng.choice(ODD_NUMBERS), lambda: odd(rng),
        lambda: rng.choice(LANGUAGES),
        lambda: [odd(rng) for _ in range(rng.randint(0, 7))], lambda: rng.choice(TEXTS) * rng.randint(1, 30),
    ])()  # fmt: skip


def written(rng: random.Random, path: str, values: dict[str, Any]) -> tuple[str, str | None, bytes]:
    """The query, the content type and the body."""
    if not values:
        return rng.choice(["", "", "type=target", "type=x", odd_query(rng)]), None, b""
    how = rng.random()
    if path == "/translate_file" and how < 0.9:
        return ("", *multipart(rng, values))
    if how < 0.1:
        return query_of(values), rng.choice([None, "application/json"]), b""
    if how < 0.25:
        return "", "application/x-www-form-urlencoded", query_of(values).encode()
    text = json.dumps(values, ensure_ascii=rng.random() < 0.5)
    return "", rng.choice(JSON_KINDS) or None, broken(rng, text.encode("utf-8", "surrogatepass"))


def query_of(values: dict[str, Any]) -> str:
    """As a form writes them."""
    return urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)


def odd_query(rng: random.Random) -> str:
    """Letters of queries in any order."""
    return "".join(rng.choices("a=&%;+[]?/0f\xe9", k=rng.randint(1, 60))).replace("\xe9", "%E9")


def broken(rng: random.Random, body: bytes) -> bytes:
    """Mostly as it is."""
    match rng.randint(0, 24):
        case 0:
            return body[: rng.randint(0, len(body))]
        case 1:
            at = rng.randint(0, len(body))
            return body[:at] + rng.choice([b"\xff", b"\0", b'"', b"}", b"\xed\xa0\x80", rng.randbytes(5)]) + body[at:]
        case 2:
            return rng.choice([b"[", b'{"q":', b'{"text":[', b"[{", b'"\\']) * rng.choice([10, 1000, 100_000])
        case 3:
            return b'{"text": "\\ud800", "q": "\\udfff\\ud800", "source": "en", "target": "de"}'
        case 4:
            return b'{"text": "a", "q": "a", "source": "en", "target": "de", "n_best": ' + b"9" * 6000 + b"}"
        case 5:
            return rng.choice([b"\xef\xbb\xbf" + body, body.decode("utf-8", "replace").encode("utf-16"), b"\n" + body])
        case 6:
            return rng.choice([content for _, content in INVALID.values()])
        case 7:
            return body[:-1] + b"," + body[1:]  # every key twice
        case _:
            return body


def multipart(rng: random.Random, values: dict[str, Any]) -> tuple[str, bytes]:
    """A form with a file; with a small chance it is broken somewhere."""
    edge = rng.choice(["xyz", "-" * 20, "a b", "x" * 70, "'"])
    parts = b""
    for name, value in values.items():
        about = (
            f'form-data; name="{name}"' if rng.random() < 0.98 else rng.choice(["form-data", "", 'x; name="', "; ;="])
        )
        content = value if isinstance(value, str) else json.dumps(value)
        kind = ""
        if name == "file" and rng.random() < 0.95:
            about += f'; filename="{rng.choice(NAMES)}"'
            kind = rng.choice(["", "Content-Type: text/plain\r\n", "Content-Type: \r\n", "X" * 500 + ": y\r\n"])
        data = content.encode("utf-8", "surrogatepass")
        data = rng.choice([value for _, value in INVALID.values()]) if rng.random() < 0.03 else data
        parts += f"--{edge}\r\nContent-Disposition: {about}\r\n{kind}\r\n".encode() + data + b"\r\n"
    parts += f"--{edge}--\r\n".encode()
    if rng.random() < 0.15:
        at = rng.randint(0, len(parts))
        parts = rng.choice([parts[:at], parts[:at] + rng.randbytes(4) + parts[at:], parts[at:], b"", parts * 20])
    charset = f"; charset={rng.choice(CHARSETS)}" if rng.random() < 0.2 else ""
    written_edge = f'; boundary="{edge}"' if rng.random() < 0.97 else rng.choice(["", "; boundary=", "; boundary=é"])
    return f"multipart/form-data{written_edge}{charset}", parts
