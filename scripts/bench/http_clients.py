"""Clients of a server for measurements: few bytes around each request, and connections that stay open."""

import asyncio
import json
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass
class Client:
    """One connection, which sends one request after another."""

    host: str
    port: int
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and answer; connects where there is no connection."""
        await self.send(path, body)
        return await self.receive()

    async def send(self, path: str, body: dict[str, Any]) -> None:
        """The request alone."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(content)}\r\n\r\n"
        self.writer.write(head.encode() + content)
        await self.writer.drain()

    async def receive(self) -> tuple[int, dict[str, Any]]:
        """The answer to what was sent."""
        assert self.reader is not None
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        content = await self.reader.readexactly(int(fields["content-length"]))
        if fields.get("connection") == "close":
            self.close()
        return int(head[0].split()[1]), json.loads(content)

    def close(self) -> None:
        """Hangs up."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


@dataclass
class Outcome:
    """What came of many requests."""

    answers: dict[int, str] = field(default_factory=dict)  # number of the request -> translation
    seconds: list[float] = field(default_factory=list)  # of those that were answered
    refused: list[float] = field(default_factory=list)  # seconds of those that got 503 or 429
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

    def body(self, number: int) -> dict[str, Any]:
        """The request of this number."""
        return {"text": self.sentences[number % len(self.sentences)], "split": False, **self.languages}

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
            status, answer = await client.post("/v1/translate", self.body(number))
        except (OSError, asyncio.IncompleteReadError):
            outcome.lost += 1
            client.close()
            return
        took = perf_counter() - start
        match status:
            case 200:
                outcome.answers[number] = answer["texts"][0]["text"]
                outcome.seconds.append(took)
            case 429 | 503:
                outcome.refused.append(took)
            case _:
                outcome.other.append(status)
