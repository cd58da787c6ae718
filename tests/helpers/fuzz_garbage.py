"""Bytes that are almost HTTP: what a server must survive without having been asked anything."""

import random
from collections.abc import Callable

from helpers.fuzz_requests import Requests

GOOD_BODY = b'{"q":"der Hund","source":"en","target":"de"}'
LENGTHS = [
    "-1",
    "+5",
    "0x10",
    "1e3",
    "",
    " ",
    "5, 5",
    "5, 6",
    "9" * 30,
    "NaN",
    "1 1",
    "\u0665",
    "00044",
    "44\x0b",
    "45",
    "43",
]
CODINGS = [
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "xchunked",
    "identity",
    "chunked;q=1",
    "\x0bchunked",
    "",
]
CHUNKS = [
    b"5\r\nhello\r\n0\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n",
    b"FFFFFFFFFFFFFFFFF\r\nhello",
    b"0x5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n", b"5\nhello\n0\n\n", b"\r\n\r\n",
    b"5;" + b"x" * 70_000 + b"\r\nhello",
    b"0\r\nA: b\r\nContent-Length: 5\r\n\r\n", b"0\r\n" + b"A: b\r\n" * 9000 + b"\r\n", b"zz\r\n",
    b" 5 \r\nhello\r\n0\r\n\r\n",
    b"1\r\n{\r\n" * 2000 + b"0\r\n\r\n", b"00000000000000000005\r\nhello\r\n0\r\n\r\n", b"5\r\nhel",
]  # fmt: skip
TARGETS = [
    "/translate",
    "*",
    "/",
    "",
    "http://x/translate",
    "//",
    "/\x00",
    "/ä",
    "/" + "a" * 70_000,
    "translate",
    "/%",
    "/a b",
    "?",
]
METHODS = ["POST", "GET", "PRI", "CONNECT", "OPTIONS", "", "P\x00ST", "GE T", "ÄÖ", "X" * 70_000, "post"]
VERSIONS = [
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/2.0",
    "HTTP/0.9",
    "HTTP/1.1.1",
    "HTTP/9.9",
    "",
    "http/1.1",
    "HTTP/1.1 ",
    "ICY",
]
LINES = [
    "Host: a\r\nHost: b", "Host : a", " folded", "A: b\r\n c", "A", ":", "A\x00: b", "A: \x00", "A: b\rc",
    "A: b\nB: c", "Ä: ö",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", "Content-Length: 5\r\nContent-Length: 6",
    "Expect: 200-nothing",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA",
    "Connection: Upgrade\r\nUpgrade: websocket",
    "A: " + "b" * 70_000, "A: b\r\n" * 3000 + "A: b", "X" * 70_000 + ": y", "Trailer: A", "Content-Type: ",
    "Range: bytes=0-,-",
]  # fmt: skip
GREETINGS = [
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-x\r\n",
    b"\r\n" * 5000, b"\0" * 1000, b"GET /\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"EHLO x\r\n", b"", b"\n", b" " * 100_000,
]  # fmt: skip
BETWEEN = [b"\r\n", b"\n", b"\0", b":", b" ", b"\xff", b"\r", b","]


def garbage(rng: random.Random, requests: Requests) -> bytes:
    """Any of the kinds."""
    return rng.choice(KINDS)(rng, requests)


def _bytes(rng: random.Random, requests: Requests) -> bytes:
    return rng.randbytes(rng.choice([1, 10, 100, 3000])) + rng.choice([b"", b"\r\n\r\n"])


def _greeting(rng: random.Random, requests: Requests) -> bytes:
    return rng.choice(GREETINGS)


def _spoiled(rng: random.Random, requests: Requests) -> bytes:
    """A request with some bytes changed, lost, added or doubled; mostly in its head."""
    content = bytearray(requests.one(rng).content)
    head = content.index(b"\r\n\r\n") + 4
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(min(len(content), head if rng.random() < 0.8 else len(content)) or 1)
        match rng.randint(0, 3):
            case 0:
                content[at : at + 1] = rng.randbytes(1)
            case 1:
                del content[at : at + rng.choice([1, 1, 5, 50])]
            case 2:
                content[at:at] = rng.choice([*BETWEEN, rng.randbytes(3)])
            case _:
                content[at:at] = content[at : at + 40]
        if not content:
            break
    return bytes(content)


def _cut(rng: random.Random, requests: Requests) -> bytes:
    content = requests.one(rng).content
    return content[: rng.randrange(len(content))]


def _head(rng: random.Random, requests: Requests) -> bytes:
    """A strange first line."""
    first = f"{rng.choice(METHODS)} {rng.choice(TARGETS)} {rng.choice(VERSIONS)}\r\n".encode()
    return first + b"Host: localhost\r\nContent-Length: %d\r\n\r\n" % len(GOOD_BODY) + GOOD_BODY


def _headers(rng: random.Random, requests: Requests) -> bytes:
    lines = [rng.choice(LINES) for _ in range(rng.randint(1, 3))]
    return _post([f"Content-Length: {len(GOOD_BODY)}", *lines], GOOD_BODY)


def _length(rng: random.Random, requests: Requests) -> bytes:
    lines = [f"Content-Length: {rng.choice(LENGTHS)}"]
    if rng.random() < 0.3:
        lines.append(f"Transfer-Encoding: {rng.choice(CODINGS)}")
    return _post(lines, GOOD_BODY)


def _chunked(rng: random.Random, requests: Requests) -> bytes:
    coding = "chunked" if rng.random() < 0.8 else rng.choice(CODINGS)
    return _post([f"Transfer-Encoding: {coding}"], b"".join(rng.choices(CHUNKS, k=rng.randint(1, 2))))


def _pipelined(rng: random.Random, requests: Requests) -> bytes:
    """Requests at once, with something between them."""
    between = rng.choice([b"", b"", b"\r\n", b"\0", b"x", b"\r\n\r\n"])
    return between.join(requests.one(rng).content for _ in range(rng.randint(2, 5)))


def _post(lines: list[str], body: bytes) -> bytes:
    head = ["POST /translate HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines, "", ""]
    return "\r\n".join(head).encode("utf-8") + body


KINDS: list[Callable[[random.Random, Requests], bytes]] = [
    _bytes, _greeting, _spoiled, _spoiled, _cut, _head, _headers, _length, _chunked, _pipelined,
]  # fmt: skip
