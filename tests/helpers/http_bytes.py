"""HTTP as bytes: requests written by hand, sent over a socket, and the answers read back."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

HEAD_END = b"\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.1 (\d{3})[^\r\n]*\r\n")
LARGEST = 1 << 24  # bytes of an answer


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def request(method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes = b"") -> bytes:
    """A request whose length is right."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if not any(name == "Host" for name, _ in headers):
        lines.insert(1, "Host: localhost")
    if body or method not in ("GET", "HEAD"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def reply(reader: asyncio.StreamReader, method: str) -> Reply:
    """The next answer; raises asyncio.IncompleteReadError where it is cut short, ValueError where it is no HTTP."""
    head = await reader.readuntil(HEAD_END)
    found = STATUS.match(head)
    if found is None:
        raise ValueError(f"no status line: {head[:200]!r}")
    status = int(found[1])
    headers: dict[str, str] = {}
    for line in head[found.end() : -2].decode("latin-1").splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"no header: {line!r}")
        headers[name.lower()] = value.strip()
    if status < 200:
        return await reply(reader, method)
    if method == "HEAD" or status in (204, 304):
        return Reply(status, headers, b"")
    if headers.get("transfer-encoding") == "chunked":
        return Reply(status, headers, await _chunks(reader))
    if "content-length" in headers:
        return Reply(status, headers, await reader.readexactly(int(headers["content-length"])))
    return Reply(status, headers, await reader.read(LARGEST))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        found += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk does not end where it says")
    await reader.readuntil(b"\r\n")
    return found


def statuses(received: bytes) -> list[int]:
    """The statuses of all answers to bytes that are perhaps not requests."""
    return [int(status) for status in STATUS.findall(received)]
