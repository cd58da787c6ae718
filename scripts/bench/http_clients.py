"""Clients of a server for measurements: few bytes around each request, and connections that stay open."""

import asyncio
import json
import socket
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any


def request_of(host: str, path: str, body: dict[str, Any]) -> bytes:
    """All that is sent."""
    content = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    content: bytes
    last: bool  # the server hangs up


def answer_in(received: bytes | bytearray) -> Answer | None:
    """The answer, once it is whole."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(received[:end]).lower()
    length = int(head.partition(b"content-length:")[2].split(maxsplit=1)[0])
    content = bytes(received[end + 4 : end + 4 + length])
    return Answer(int(head[9:12]), content, b"connection: close" in head) if len(content) == length else None


def exchange(connected: socket.socket, request: bytes) -> float:
    """Seconds from a request to the end of its answer."""
    start = perf_counter()
    connected.sendall(request)
    received = b""
    while answer_in(received) is None:
        more = connected.recv(1 << 20)
        if not more:
            raise ConnectionError("the server hung up")
        received += more
    return perf_counter() - start


class Client(asyncio.Protocol):
    """One connection, which sends one request after another. It does little: it shares the server's cores."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.waiting: asyncio.Future[Answer] | None = None

    async def connect(self) -> None:
        """Where there is no connection."""
        if self.transport is None:
            await asyncio.get_running_loop().create_connection(lambda: self, self.host, self.port)

    async def post(self, request: bytes) -> Answer:
        """Its answer; connects where there is no connection. Raises OSError where the server hangs up."""
        await self.connect()
        if self.transport is None:
            raise ConnectionResetError("hung up meanwhile")
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self.waiting

    def close(self) -> None:
        """Hangs up."""
        if self.transport is not None:
            self.transport.close()
            self.transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.received.clear()

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.waiting is not None and (answer := answer_in(self.received)) is not None:
            self.received.clear()
            if answer.last:
                self.close()
            self._end(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._end(ConnectionResetError("the server hung up"))

    def _end(self, found: Answer | OSError) -> None:
        waiting, self.waiting = self.waiting, None
        if waiting is not None and not waiting.done():
            if isinstance(found, OSError):
                waiting.set_exception(found)
            else:
                waiting.set_result(found)


@dataclass
class Outcome:
    """What came of many requests."""

    answers: dict[int, tuple[str, float]] = field(default_factory=dict)  # number of the request -> text, log_prob
    seconds: list[float] = field(default_factory=list)  # that each of these answers took
    refused: list[float] = field(default_factory=list)  # seconds that each 503 or 429 took
    other: list[int] = field(default_factory=list)  # statuses besides
    lost: int = 0  # no answer at all
    took_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Requests answered."""
        return len(self.answers) / self.took_s


@dataclass(frozen=True)
class Load:
    """Requests for one sentence each."""

    host: str
    port: int
    sentences: list[str]
    languages: dict[str, str]

    @cached_property
    def requests(self) -> list[bytes]:
        """One for each sentence."""
        bodies = ({"text": each, "split": False, **self.languages} for each in self.sentences)
        return [request_of(self.host, "/v1/translate", body) for body in bodies]

    def request(self, number: int) -> bytes:
        """The request of this number."""
        return self.requests[number % len(self.requests)]

    async def closed(self, clients: int, requests: int) -> Outcome:
        """So many clients, each of which sends its next request when it has the answer to the last."""
        outcome, numbers = Outcome(), iter(range(requests))

        async def work() -> None:
            client = Client(self.host, self.port)
            for number in numbers:
                await self.one(client, number, outcome)
            client.close()

        start = perf_counter()
        await asyncio.gather(*(work() for _ in range(clients)))
        outcome.took_s = perf_counter() - start
        return outcome

    async def open(self, per_s: float, seconds: float, clients: int) -> Outcome:
        """Requests at this rate whatever the answers; those for which no client is free are not sent."""
        outcome, free, running = Outcome(), [Client(self.host, self.port) for _ in range(clients)], set()
        start, number = perf_counter(), 0
        while (now := perf_counter() - start) < seconds:
            while number < now * per_s:
                if free:
                    task = asyncio.create_task(self.with_client(free.pop(), free, number, outcome))
                    running.add(task)
                    task.add_done_callback(running.discard)
                number += 1
            await asyncio.sleep(0.002)
        if running:
            await asyncio.wait(running)
        outcome.took_s = perf_counter() - start
        for client in free:
            client.close()
        return outcome

    async def with_client(self, client: Client, free: list[Client], number: int, outcome: Outcome) -> None:
        """One request by a client, which is free afterwards."""
        await self.one(client, number, outcome)
        free.append(client)

    async def one(self, client: Client, number: int, outcome: Outcome) -> None:
        """One request, and what came of it."""
        start = perf_counter()
        try:
            answer = await client.post(self.request(number))
        except OSError:
            outcome.lost += 1
            client.close()
            return
        took = perf_counter() - start
        match answer.status:
            case 200:
                best = json.loads(answer.content)["texts"][0]["sentences"][0]["n_best"][0]
                outcome.answers[number] = best["text"], best["log_prob"]
                outcome.seconds.append(took)
            case 429 | 503:
                outcome.refused.append(took)
            case status:
                outcome.other.append(status)
