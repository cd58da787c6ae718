"""HTTP connections that limit a request's head, in time and in bytes, and send an answer as one packet."""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_TIMEOUT_S = 10.0
HEAD_BYTES = 65_536  # of a request line with its headers
CHUNK_BYTES = 8  # that may come with each byte of a body, for clients that send it in small chunks
LAST_HEAD_S = 1.0  # for a connection's first request, once the server is ending
DRIP_BYTES, DRIP_S = 128, 0.1  # a drip is a part of a body that has fewer bytes and comes later after the part before
FIRST_PAUSE_S = 2.0  # in which a connection is not read after a drip; the next pause is twice as long


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection if a request's head takes longer than `HEAD_TIMEOUT_S` or more than `HEAD_BYTES`.

    The time of the first head starts with the connection, the time of a later one with its first byte. Between
    requests, uvicorn's own limit for idle connections applies.

    A body that comes in drips is read ever more rarely: each reading interrupts the searches, so many such clients
    would slow down all others.
    """

    head_due: asyncio.TimerHandle | None = None
    drips = 0  # of this request
    head_is_known = False  # the parser gets a head again that a parser before it has reported
    last_read = 0.0  # when this connection was last read, by the event loop's clock
    beside = 0  # bytes of this request that are not its body: head, sizes of chunks, trailers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(OneWrite(transport, self.loop))  # type: ignore[arg-type]
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        late = self.loop.time() > self.last_read + DRIP_S
        self.last_read = self.loop.time()
        self.beside += len(data)
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                break
            except httptools.HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]
                self._pass_over_offer()
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return
        if self.beside > HEAD_BYTES:  # the parser keeps whatever is no body
            self.send_400_response(f"The request's head has more than {HEAD_BYTES} bytes.")
        elif self.cycle is not before:
            self._head_is_there()
        elif self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()
        elif self.cycle.more_body and late and len(data) < DRIP_BYTES:
            self.transport.pause_reading()
            self.loop.call_later(FIRST_PAUSE_S * 2**self.drips, self._read_again)
            self.drips += 1

    def on_message_begin(self) -> None:
        if not self.head_is_known:
            self.beside = self.drips = 0
            super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.head_is_known:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self.head_is_known:
            super().on_headers_complete()
        self.head_is_known = False

    def on_body(self, body: bytes) -> None:
        self.beside -= (1 + CHUNK_BYTES) * len(body)
        super().on_body(body)

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

    def _pass_over_offer(self) -> None:
        """Goes on in HTTP/1.1 after the offer of another protocol, which Java's client makes with each request.

        httptools ends such a request after its head. A new parser gets a head of the same body, and reports the body.
        """
        self.parser = httptools.HttpRequestParser(self)
        framing = [each for each in self.headers if each[0] in (b"content-length", b"transfer-encoding")]
        if framing:
            self.cycle.more_body = True
            self.cycle.message_event.clear()
            self.head_is_known = True
            self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(b"%b: %b\r\n" % each for each in framing))

    def _read_again(self) -> None:
        if not self.flow.read_paused:
            self.transport.resume_reading()

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
