"""What every request gets: limits on its body, security headers, a line in the log, metrics."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt.serve.refusal import Refusal
from nmt.serve.server import Server

HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
SMALL_BODY = 65_536  # bytes; the rest of a larger body that nobody reads is not waited for
OTHER = "other"  # the route reported for a path without one


class Guard:
    """An ASGI middleware. It calls `answered` with the route, the status and the seconds of each request."""

    def __init__(self, app: ASGIApp, server: Server, answered: Callable[[str, int, float], None]) -> None:
        self.app, self.server, self.answered = app, server, answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        server, started = self.server, time.perf_counter()
        status = 499  # the client hung up before there was an answer
        body = Body(receive, server.settings.body_mb * 10**6, server.settings.body_timeout_s, announces_much(scope))

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name.lower() for name, _ in message["headers"]}
                more = [header for header in HEADERS if header[0] not in there]
                if server.stopping or body.unread:
                    more.append((b"connection", b"close"))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            await self.app(scope, body.receive, sent)
        except Exception:
            status = 500  # Starlette sends this answer outside of this middleware
            raise
        finally:
            seconds = time.perf_counter() - started
            route = path_of(scope.get("route"))
            self.answered(route, status, seconds)
            if server.settings.log == "json":
                log(route, status, seconds, body.size)


class Body:
    """A request's body as it arrives, with limits on its size and on the time that it takes."""

    def __init__(self, source: Receive, most_bytes: int, timeout_s: float, much: bool) -> None:
        """`much`: the request's head announces a large body."""
        self.source, self.most_bytes, self.much = source, most_bytes, much
        self.timeout_s = timeout_s
        self.until = time.monotonic() + timeout_s
        self.size = 0
        self.whole = False

    @property
    def unread(self) -> bool:
        """Was only a part of the body read, or nothing of a large one?"""
        return self.size > self.most_bytes or (not self.whole and (self.size > 0 or self.much))

    async def receive(self) -> Message:
        """The next ASGI message. Raises Refusal if the body is too large or too slow."""
        if self.whole:
            return await self.source()
        try:
            async with asyncio.timeout(self.until - time.monotonic()):
                message = await self.source()
        except TimeoutError:
            self.size += 1  # makes `unread` true: the rest of the body stays unread
            raise Refusal(400, f"the request has not arrived within {self.timeout_s:g} s; send it faster") from None
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            self.whole = not message.get("more_body", False)
            if self.size > self.most_bytes:
                raise Refusal(413, f"the body has more than {self.most_bytes:,} bytes; send less at once")
        return message


def path_of(route: BaseRoute | None) -> str:
    """The path of the route. The request's own path may hold something private, such as a download token."""
    return route.path if isinstance(route, Route) else OTHER


def announces_much(scope: Scope) -> bool:
    """Does the head announce a body of more than `SMALL_BODY` bytes, or one of unknown length?"""
    found = dict(scope["headers"])
    length = found.get(b"content-length", b"0")
    return b"transfer-encoding" in found or not length.isdigit() or int(length[:20]) > SMALL_BODY


def log(route: str, status: int, seconds: float, size: int) -> None:
    """Prints a line of JSON to stdout: time, route, status, duration and size; never text, addresses or keys."""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "route": route,
        "status": status,
        "milliseconds": round(1000 * seconds, 2),
        "bytes": size,
    }
    print(json.dumps(line), file=sys.stdout, flush=True)
