"""Any request whatever, sent to a server that listens: the checks of `python scripts/fuzz serve`."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from helpers.fuzz_garbage import garbage
from helpers.fuzz_requests import Request, Requests
from helpers.http_bytes import Reply, reply, request, statuses

ANSWERED_S = 60.0  # in which every valid request must be answered, however busy the machine is
CLOSED_S = 40.0  # in which a connection must be closed whose request never ends
QUIET_S = 0.3  # without an answer, after which the client hangs up
SIDE_BY_SIDE = 48  # connections; most cases of garbage wait
OUTSIDE = {400, 404, 405, 307, 426, 431}  # statuses of paths, methods and heads that no route has
NO_HTTP = b'{"error": "this is not a valid HTTP/1.1 request"}'

Case = Callable[[random.Random], Awaitable[int]]


class Fuzzed:
    """A server that listens at `url` and has the description."""

    def __init__(self, url: str, description: dict[str, Any]) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.paths = description["paths"]
        self.requests = Requests(description)

    def tried(self, case: Case, cases: int, start: int) -> Counter[int]:
        """How often each status was answered (0: hung up before); raises where a case fails."""
        return asyncio.run(self._tried(case, cases, start))

    async def _tried(self, case: Case, cases: int, start: int) -> Counter[int]:
        counts: Counter[int] = Counter()
        numbers = iter(range(cases))

        async def some() -> None:
            for number in numbers:
                counts[await case(random.Random(start * 1_000_003 + number))] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(SIDE_BY_SIDE):
                group.create_task(some())
        return counts

    async def any_request(self, rng: random.Random) -> int:
        """A valid HTTP request with any content: an answer as the description says."""
        asked = self.requests.one(rng)
        try:
            async with self._connection() as (reader, writer):
                writer.write(asked.content)
                answer = await asyncio.wait_for(reply(reader, asked.method), ANSWERED_S)
            self.check(asked, answer)
        except Exception as error:
            error.add_note(f"request: {asked.content[:3000]!r}")
            raise
        return answer.status

    def check(self, asked: Request, answer: Reply) -> None:
        """Raises where the answer is not as it must be."""
        status, kind = answer.status, answer.headers.get("content-type", "")
        about = f"{status} {kind} {answer.body[:500]!r}"
        assert status < 500 or status == 503, about
        assert status not in (429, 503) or int(answer.headers["retry-after"]) >= 1, about
        method = "get" if asked.method == "HEAD" else asked.method.lower()  # its answer is GET's, without a body
        responses = self.paths[asked.route].get(method, {}).get("responses", {})
        assert str(status) in responses or status in OUTSIDE, about
        if asked.method == "HEAD":
            return
        if answer.body == NO_HTTP:  # nothing knows the route
            assert (status, kind) == (400, "application/json"), about
        elif status >= 400:
            assert kind.startswith("application/json"), about
            found = strict_json(answer.body)
            [(name, message)] = found.items()
            assert name == ("message" if asked.content.split(b" ", 2)[1].startswith(b"/v2/") else "error"), about
            assert isinstance(message, str), about
            assert message, about
        elif kind.startswith("text/event-stream"):
            last = answer.body.decode().strip().split("\n\n")[-1]
            assert last.startswith(("event: done\n", "event: error\n")), about
            strict_json(last.split("data: ", 1)[1].encode())
        elif kind.startswith("application/json"):
            strict_json(answer.body)

    async def any_bytes(self, rng: random.Random) -> int:
        """Almost HTTP: no mistake of the server, and it does not wait for ever for the rest."""
        content = garbage(rng, self.requests)
        patient = rng.random() < 0.01
        received = b""
        try:
            async with self._connection() as (reader, writer):
                with suppress(ConnectionError):
                    await self._sent(writer, content, rng)
                    until = CLOSED_S if patient else QUIET_S
                    while chunk := await asyncio.wait_for(reader.read(1 << 16), QUIET_S if received else until):
                        received += chunk
        except TimeoutError:
            assert received or not patient, f"not closed within {CLOSED_S} s: {content[:3000]!r}"
        found = statuses(received)
        wrong = [status for status in found if status >= 500 and status != 503]
        assert not wrong, f"{received[-500:]!r} to {content[:3000]!r}"
        return found[0] if found else 0

    async def _sent(self, writer: asyncio.StreamWriter, content: bytes, rng: random.Random) -> None:
        """At once or in pieces."""
        if rng.random() < 0.8:
            writer.write(content)
            return
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, len(content))
            writer.write(content[:at])
            content = content[at:]
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(content)

    async def pipelined(self, rng: random.Random) -> int:
        """Several valid requests at once: as many answers, in order, and none is another's."""
        texts = [
            f"{rng.choice(['Hund', 'Haus', 'Mann'])} {number}" for number in rng.sample(range(100), k=rng.randint(2, 6))
        ]
        content = b"".join(request("POST", "/v1/translate", JSON, body_of(text)) for text in texts)
        async with self._connection() as (reader, writer):
            writer.write(content)
            for text in texts:
                answer = await asyncio.wait_for(reply(reader, "POST"), ANSWERED_S)
                assert answer.status == 200, answer
                assert strict_json(answer.body)["texts"][0]["sentences"][0]["source"]["text"] == text
        return 200

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 24)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


JSON = [("Content-Type", "application/json")]


def body_of(text: str) -> bytes:
    """Asks for its translation."""
    return json.dumps({"text": text, "source": "en", "target": "de", "beam": 1}).encode()


def strict_json(content: bytes) -> Any:
    """The value that it holds; refuses NaN and infinities."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(content, parse_constant=refuse)
