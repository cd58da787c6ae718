"""HTTP connections that limit a request's head, in time and in bytes, and send an answer as one packet."""

import asyncio
import json
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_TIMEOUT_S = 10.0
HEAD_BYTES = 65_536  # of a request line with its headers
OVERHEAD = 8  # bytes that may come with each byte of a body, for clients that send it in small chunks
LAST_HEAD_S = 1.0  # for a connection's first request, once the server is ending
SLICE = 4096  # bytes that are parsed at once: they hold few requests
DRIP_BYTES, DRIP_S = 128, 0.02  # a drip: fewer bytes of a body, later than this after the bytes before them
FREE_DRIPS = 1  # in succession
PAUSE_S = 2.0  # without reading, after each further drip


class PatientProtocol(HttpToolsProtocol):
    """Reads one request after another, and closes a connection whose head is too slow or too long.

    A request is parsed when the one before it has been answered. The time of the first head starts with the connection,
    the time of a later one with its first byte. Between requests, uvicorn's own limit for idle connections applies.

    A body that comes in drips is read rarely: each reading interrupts the searches, so many such clients would slow
    down all others.
    """

    transport: "OneWrite"  # type: ignore[assignment]
    head_due: asyncio.TimerHandle | None = None
    running: RequestResponseCycle | None = None
    within_head = True
    repeats_head = False  # the parser gets a head again that a parser before it has reported
    broken = False  # what follows the current request cannot be read
    overhead = 0  # bytes of this request that are not its body: head, sizes of chunks, trailers
    drips = 0  # in succession
    last_read = 0.0  # by the event loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.ahead = bytearray()  # bytes that are not parsed yet
        super().connection_made(OneWrite(transport, self.loop))  # type: ignore[arg-type]
        self._new_parser()
        self._wait_for_head(HEAD_TIMEOUT_S)

    def data_received(self, data: bytes) -> None:
        now = self.loop.time()
        late = now > self.last_read + DRIP_S
        self.last_read = now
        self.ahead += data
        self._parse()
        if len(data) >= DRIP_BYTES:
            self.drips = 0
        elif late and self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self.drips += 1
            if self.drips > FREE_DRIPS:
                self.transport.hold("drips")
                self.loop.call_later(PAUSE_S, self._read_again)

    def on_message_begin(self) -> None:
        if not self.repeats_head:
            self.overhead = self.drips = 0
            self.within_head = True
            self._wait_for_head(HEAD_TIMEOUT_S)
            super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.within_head and not self.repeats_head:  # a trailer is no header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self.repeats_head:
            self._head_is_there()
            super().on_headers_complete()
        self.within_head = self.repeats_head = False

    def on_body(self, body: bytes) -> None:
        self.overhead = max(0, self.overhead - (1 + OVERHEAD) * len(body))
        super().on_body(body)

    def on_response_complete(self) -> None:
        self.transport.flush()
        super().on_response_complete()
        if self.broken and not self.pipeline:
            self.transport.close()
        if self.ahead:
            self.loop.call_soon(self._parse)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self.ahead.clear()
        self.pipeline.clear()
        if self.running is not None and not self.running.response_complete:
            self.running.disconnected = True
            self.running.message_event.set()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Sends an error as JSON, like all other errors, and closes the connection."""
        content = json.dumps({"error": msg}).encode()
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: "
        self.transport.write(b"%b%d\r\n\r\n%b" % (head, len(content), content))
        self.transport.close()

    def shutdown(self) -> None:
        """Closes the connection after the current request. A connection without any has `LAST_HEAD_S` for its first."""
        if self.cycle is None:
            self._head_is_there()
            self._wait_for_head(LAST_HEAD_S)
        else:
            super().shutdown()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    def _parse(self) -> None:
        """Parses what has come, up to the end of a request that waits for its answer."""
        self._unset_keepalive_if_required()
        while self.ahead and not self.broken and not self._answering and not self.transport.is_closing():
            part = self.ahead[:SLICE]
            del self.ahead[:SLICE]
            self.overhead += len(part)
            try:
                self._parse_part(part)
            except httptools.HttpParserError:
                self._refuse("this is not a valid HTTP/1.1 request")
            if self.overhead > HEAD_BYTES:  # the parser keeps a head and trailers in memory
                self._refuse(f"the request has more than {HEAD_BYTES:,} bytes beside its body; send shorter headers")
        if self.broken:
            self.ahead.clear()
        if self.ahead:
            self.transport.hold("ahead")
        else:
            self.transport.release("ahead", self.flow.read_paused)
        answered = self.cycle is not None and self.cycle.response_complete
        if answered and self.head_due is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    @property
    def _answering(self) -> bool:
        """Has a request come as a whole, and is its answer not complete?"""
        last = self.cycle
        return bool(self.pipeline) or (last is not None and not last.more_body and not last.response_complete)

    def _parse_part(self, part: bytearray) -> None:
        """Parses these bytes. The offer of another protocol, which Java's client makes with each request, is ignored.

        httptools ends such a request after its head. A new parser gets a head of the same body, and reports the body.
        """
        rest = memoryview(part)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]
            self._new_parser()
            framing = [each for each in self.headers if each[0] in (b"content-length", b"transfer-encoding")]
            if framing:
                self.cycle.more_body = True
                self.cycle.message_event.clear()
                self.repeats_head = True
                head = b"".join(b"%b: %b\r\n" % each for each in framing)
                self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % head)

    def _new_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _refuse(self, reason: str) -> None:
        """Closes the connection: after the answer to a whole request that came before, or at once, with status 400."""
        self.broken = True
        if not self._answering:
            self.send_400_response(reason)

    def _read_again(self) -> None:
        self.transport.release("drips", self.flow.read_paused)

    def _wait_for_head(self, seconds: float) -> None:
        if self.head_due is None:
            self.head_due = self.loop.call_later(seconds, self._close)

    def _head_is_there(self) -> None:
        if self.head_due is not None:
            self.head_due.cancel()
            self.head_due = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class OneWrite:
    """A transport that sends together everything that is written in one turn of the event loop.

    uvicorn writes the head and the body of an answer separately, which would be two packets and two system calls. While
    anything holds the transport, it is not read, even if uvicorn has memory for more.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []
        self._held: set[str] = set()

    def hold(self, reason: str) -> None:
        """Stops reading, for this reason and perhaps others."""
        self._held.add(reason)
        self._transport.pause_reading()

    def release(self, reason: str, paused: bool) -> None:
        """Takes a reason back; reads again if there is no other, unless uvicorn has `paused` the transport."""
        if reason in self._held:
            self._held.remove(reason)
            if not paused:
                self.resume_reading()

    def resume_reading(self) -> None:
        """Reads again, unless there is a reason not to."""
        if not self._held:
            self._transport.resume_reading()

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
