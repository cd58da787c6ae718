"""HTTP connections that limit the wait for a request's head, and send an answer as one packet."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S = 10.0
LAST_HEAD_S = 1.0  # for a connection's first request, once the server is ending


class PatientProtocol(H11Protocol):
    """Closes a connection if a request's head takes longer than `HEAD_TIMEOUT_S`.

    The time of the first head starts with the connection, the time of a later one with its first byte. Between
    requests, uvicorn's own limit for idle connections applies.
    """

    head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(OneWrite(transport, self.loop))  # type: ignore[arg-type]
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head_is_there()
        elif self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        transport: Any = self.transport
        transport.flush()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Closes the connection after the current request. A connection without any has `LAST_HEAD_S` for its first."""
        if self.cycle is None:
            self._head_is_there()
            self._wait_for_head(LAST_HEAD_S)
        else:
            super().shutdown()

    def _wait_for_head(self, seconds: float | None = None) -> None:
        if self.head_due is None:
            self.head_due = self.loop.call_later(seconds or HEAD_TIMEOUT_S, self._close)

    def _head_is_there(self) -> None:
        if self.head_due is not None:
            self.head_due.cancel()
            self.head_due = None

    def _close(self) -> None:
        transport: Any = self.transport
        if not transport.is_closing():
            transport.close()


class OneWrite:
    """A transport that sends together everything that is written in one turn of the event loop.

    uvicorn writes the head and the body of an answer separately, which would be two packets and two system calls.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Sends the data at the end of this turn, or as soon as the answer is complete."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Closes the connection when everything has been sent."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Sends all data that waits."""
        whole = b"".join(self._waiting)
        self._waiting.clear()
        if whole:
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
