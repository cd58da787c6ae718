"""Connections: heads of any shape, bodies that drip, requests that come in odd ways."""

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from nmt.serve import protocol
from nmt.serve.listening import ignore_new_connections, listen, take_new_connections
from nmt.serve.protocol import HEAD_BYTES, PatientProtocol

CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
SMALL = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture
def connected() -> Iterator[socket.socket]:
    """A connection to a server that tells what it has received."""

    async def told(request: Request) -> JSONResponse:
        body = await request.body()
        return JSONResponse({"body": len(body), "headers": sum(len(name) + len(value) for name, value in request.headers.items())})  # fmt: skip  # noqa: E501

    app = Starlette(routes=[Route("/", told, methods=["GET", "POST"])])
    bound = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, http=PatientProtocol, ws="none", lifespan="off", log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])), daemon=True)
    thread.start()
    with socket.create_connection(bound.getsockname(), timeout=20) as client:
        yield client
    server.should_exit = True
    thread.join(10)


def received(client: socket.socket) -> tuple[int, Any]:
    """The status of the next answer and its content; 0 if the server has hung up."""
    answer = b""
    try:
        while b"\r\n\r\n" not in answer:
            more = client.recv(1)
            if not more:
                return 0, None
            answer += more
    except ConnectionError:
        return 0, None
    length = int(answer.lower().partition(b"content-length:")[2].split()[0])
    content = b""
    while len(content) < length:
        content += client.recv(length - len(content))
    return int(answer.split()[1]), json.loads(content) if content.startswith(b"{") else content.decode()


def test_several_requests_of_one_connection(connected: socket.socket) -> None:
    for _ in range(3):
        connected.sendall(SMALL)
        assert received(connected)[1]["body"] == 5


def test_requests_that_are_sent_together_are_answered_in_order(connected: socket.socket) -> None:
    lengths = [5, 0, 70_000, 1]
    connected.sendall(b"".join(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (n, b"x" * n) for n in lengths))  # fmt: skip  # noqa: E501
    assert [received(connected)[1]["body"] for _ in lengths] == lengths


def test_a_request_in_single_bytes(connected: socket.socket) -> None:
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in SMALL:
        connected.send(bytes([byte]))
    assert received(connected)[1]["body"] == 5


def test_a_body_in_chunks_of_one_byte_is_no_long_head(connected: socket.socket) -> None:
    count = 40_000
    connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    connected.sendall(b"1\r\nx\r\n" * count + b"0\r\n\r\n")
    assert received(connected)[1]["body"] == count


def test_a_long_head_is_read(connected: socket.socket) -> None:
    connected.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * (HEAD_BYTES - 100) + b"\r\n\r\n")
    assert received(connected)[1]["headers"] > HEAD_BYTES - 100


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"y" * 1000),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X: y\r\n" * 100),
        (b"GET /?", b"y" * 1000),
        (CHUNKED + b"0\r\n", b"X: y\r\n" * 100),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n"
            + b"x" * 200_000
            + b"\r\n0\r\n",
            b"X: y\r\n" * 100,
        ),
        (CHUNKED + b"1;", b"y" * 1000),
    ],
    ids=["header", "headers", "path", "trailers", "trailers of much", "extension"],
)
def test_a_head_without_end_is_cut_off(connected: socket.socket, begin: bytes, more: bytes) -> None:
    connected.sendall(begin)
    sent = 0
    try:
        while sent < 100 * HEAD_BYTES:
            sent += connected.send(more)
            time.sleep(0.0001)
    except ConnectionError:
        pass
    assert HEAD_BYTES <= sent < 100 * HEAD_BYTES
    status, content = received(connected)
    assert status in (0, 400)
    assert not status or content["error"].startswith(f"the request has more than {HEAD_BYTES:,} bytes beside its body")


@pytest.mark.slow
def test_an_offer_of_another_protocol_is_passed_over(connected: socket.socket) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    for _ in range(3):
        connected.sendall(SMALL.replace(b"Host: x\r\n", b"Host: x\r\n" + offer))
        assert received(connected)[1]["body"] == 5
    connected.sendall(SMALL.replace(b"Host: x\r\n", b"Host: x\r\n" + offer) * 2000)
    assert all(received(connected)[1]["body"] == 5 for _ in range(2000))
    connected.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n")
    assert received(connected)[1]["body"] == 0
    connected.sendall(SMALL)
    assert received(connected)[1]["body"] == 5


@pytest.mark.parametrize("wrong", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET \xff HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"])  # fmt: skip  # noqa: E501
def test_what_is_no_http_gets_400(connected: socket.socket, wrong: bytes) -> None:
    connected.sendall(wrong)
    assert received(connected) == (400, {"error": "this is not a valid HTTP/1.1 request"})
    assert received(connected)[0] == 0


@pytest.mark.slow
def test_a_body_in_drips_is_read_rarely_and_whole(connected: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "DRIP_S", 0.03)
    monkeypatch.setattr(protocol, "PAUSE_S", 0.3)
    read: list[int] = []
    plain = PatientProtocol.data_received

    def data_received(self: PatientProtocol, data: bytes) -> None:
        read.append(len(data))
        plain(self, data)

    monkeypatch.setattr(PatientProtocol, "data_received", data_received)
    connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n")
    for _ in range(20):
        time.sleep(0.05)
        connected.sendall(b"x")
    assert received(connected)[1]["body"] == 20
    assert sum(read[1:]) == 20
    assert 4 <= len(read) <= 8  # the head, a drip at once, and the others after pauses of 0.3 s
    read.clear()
    connected.sendall(SMALL)  # the next request has its own drips
    assert received(connected)[1]["body"] == 5


def test_large_parts_are_no_drips(connected: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PAUSE_S", 60.0)
    connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n")
    for _ in range(2):
        time.sleep(1.5 * protocol.DRIP_S)
        connected.sendall(b"x" * 999)
    connected.sendall(b"x")  # small, and at once
    connected.sendall(b"x")
    assert received(connected)[1]["body"] == 2000


def test_trailers_are_no_headers(connected: socket.socket) -> None:
    connected.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    plain = received(connected)[1]["headers"]
    chunked = b"Transfer-Encoding: chunked\r\n"
    connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + chunked + b"\r\n1\r\nx\r\n0\r\nAuthorization: y\r\n\r\n")
    assert received(connected)[1] == {"body": 1, "headers": plain + len(chunked) - 4}


@pytest.mark.slow
def test_many_requests_at_once_wait_as_bytes(connected: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    longest: list[int] = []
    begun = PatientProtocol._start_asgi_task

    def start(self: PatientProtocol, cycle: Any, app: Any) -> None:
        longest.append(len(self.pipeline))
        begun(self, cycle, app)

    monkeypatch.setattr(PatientProtocol, "_start_asgi_task", start)
    count = 5000
    writing = threading.Thread(target=connected.sendall, args=(SMALL * count,))
    writing.start()
    assert all(received(connected)[1]["body"] == 5 for _ in range(count))
    writing.join()
    assert len(longest) == count
    assert max(longest) <= protocol.SLICE // len(SMALL) + 1


@pytest.mark.parametrize("behind", [b"\x00nonsense", b"GET / NONSENSE\r\n\r\n"])
def test_nonsense_behind_a_request_does_not_overtake_its_answer(connected: socket.socket, behind: bytes) -> None:
    connected.sendall(SMALL + behind)
    assert received(connected)[1] == {"body": 5, "headers": len("hostxcontent-length5")}
    assert received(connected)[0] in (0, 400)
    assert received(connected)[0] == 0


def test_an_offer_with_a_body_that_cannot_be_read_gets_400(connected: socket.socket) -> None:
    connected.sendall(
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: gzip\r\n\r\n"
    )
    assert received(connected)[0] == 400


def test_an_offer_before_the_last_request(connected: socket.socket) -> None:
    offer = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    connected.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n")
    assert received(connected)[0] == 200
    connected.sendall(SMALL.replace(b"Host", b"Connection: close\r\nHost") + b"more")
    assert received(connected)[1]["body"] == 5
    assert received(connected)[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has filters of sockets")
def test_a_socket_that_ignores_new_connections_keeps_those_that_wait() -> None:
    bound = listen("127.0.0.1", 0)
    waiting = socket.create_connection(bound.getsockname(), timeout=20)
    ignore_new_connections(bound)
    with pytest.raises(TimeoutError):
        socket.create_connection(bound.getsockname(), timeout=0.3)
    accepted, _ = bound.accept()
    waiting.sendall(b"asked")
    assert accepted.recv(10) == b"asked"
    accepted.sendall(b"answered")
    assert waiting.recv(10) == b"answered"
    take_new_connections(bound)
    later = socket.create_connection(bound.getsockname(), timeout=20)
    for each in (waiting, accepted, later, bound):
        each.close()
