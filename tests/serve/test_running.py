"""A server as a process: how it starts, serves many, and ends. Connections that are slow or leave."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from helpers.served import app_of, upper, word_server
from helpers.servers import command, listening
from helpers.small_runs import make_run, sentences

from nmt.errors import ConfigError
from nmt.serve import protocol
from nmt.serve.listening import listen, url_of
from nmt.serve.running import Life


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first")


def post(url: str, body: dict[str, Any], timeout_s: float = 60) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)
    try:
        content = json.dumps({"source": "en", "target": "de"} | body)
        connection.request("POST", "/v1/translate", content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def translated(url: str, text: str) -> str:
    status, answer = post(url, {"text": text})
    assert status == 200, answer
    found: str = answer["texts"][0]["text"]
    return found


@pytest.mark.slow
def test_answers_are_never_swapped(run: Path) -> None:
    texts = sentences(60, seed=9)
    with listening(f"model={run}", "cache_mb=0") as (url, _):
        alone = [translated(url, text) for text in texts]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda text: translated(url, text), texts * 3))
    assert together == alone * 3


@pytest.mark.slow
def test_small_answers_are_not_held_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off: list[bool] = []
    made = protocol.PatientProtocol.connection_made

    def connection_made(self: protocol.PatientProtocol, transport: Any) -> None:
        made(self, transport)
        own = transport.get_extra_info("socket")
        off.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0)

    monkeypatch.setattr(protocol.PatientProtocol, "connection_made", connection_made)
    with listening(f"model={run}") as (url, _):
        translated(url, "der Hund")
    assert off == [True]


@pytest.mark.slow
def test_clients_that_leave_cost_nothing_more(run: Path) -> None:
    with listening(f"model={run}", "cache_mb=0", "workers=1") as (url, server):
        place = urlsplit(url)
        body = json.dumps({"text": " ".join(sentences(200, seed=3)), "split": False, "source": "en", "target": "de"})
        head = f"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body.encode())}\r\n\r\n"
        leaving = [socket.create_connection((place.hostname, place.port)) for _ in range(8)]
        for each in leaving:
            each.sendall(head.encode() + body.encode())
        time.sleep(0.3)
        for each in leaving:
            each.close()
        start = time.monotonic()
        assert translated(url, "der Hund")
        waited = time.monotonic() - start
        until = time.monotonic() + 20
        while server.engine.jobs.idle < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert server.engine.jobs.idle == 1
        assert server.engine.jobs.pieces == 0
        assert waited < 20


@pytest.mark.slow
def test_slow_heads_and_bodies_are_cut_off(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.5)
    with listening(f"model={run}", "body_timeout_s=0.5") as (url, _):
        place = urlsplit(url)
        silent, drip, body = (socket.create_connection((place.hostname, place.port), timeout=30) for _ in range(3))
        body.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        for byte in b"GET / HT":
            time.sleep(0.1)
            try:
                drip.send(bytes([byte]))
            except OSError:
                break
        assert silent.recv(100) == b""
        with suppress(ConnectionError):
            assert drip.recv(100) == b""
        answer = body.recv(10_000)
        assert b" 400 " in answer.split(b"\r\n")[0]
        assert b"has not arrived within 0.5 s" in answer
        assert b"connection: close" in answer.lower()
        for each in (silent, drip, body):
            each.close()


@pytest.mark.slow
def test_a_request_that_takes_too_long_is_given_up(run: Path) -> None:
    with listening(f"model={run}", "timeout_s=0.02", "workers=1", "cache_mb=0") as (url, server):
        status, answer = post(url, {"text": " ".join(sentences(300, seed=4))})
        assert (status, answer["error"]) == (503, "no answer within 0.02 s; send less text, or try again later")
        until = time.monotonic() + 20
        while server.engine.jobs.idle < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert server.engine.jobs.pieces == 0


@pytest.mark.slow
def test_models_are_swapped_between_two_requests(run: Path, tmp_path: Path) -> None:
    mine = make_run(tmp_path / "mine")
    other = make_run(tmp_path / "other", seed=5)
    text = "der Hund sieht ein grünes Haus ."
    with listening(f"model={mine}", "watch_s=0.05", "cache_mb=1") as (url, server):
        before = server.catalogue.served[0].translator.translate([text])[0].text
        ending = threading.Event()
        found: list[str] = []

        def ask() -> None:
            while not ending.is_set():
                found.append(translated(url, text))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        (other / "model.safetensors").rename(mine / "model.safetensors")
        until = time.monotonic() + 30
        after = before
        while time.monotonic() < until and found[-1:] in ([], [before]):
            time.sleep(0.05)
        after = server.catalogue.served[0].translator.translate([text])[0].text
        ending.set()
        for thread in threads:
            thread.join()
    assert after != before
    assert set(found) == {before, after}


@pytest.mark.slow
def test_sigterm_loses_no_request_that_was_accepted(run: Path) -> None:
    with command(f"model={run}", "cache_mb=0", "workers=2") as (url, process):
        place = urlsplit(url)
        answers: list[int] = []
        refused: list[str] = []

        def ask(number: int) -> None:
            for text in sentences(400, seed=number):
                connection = http.client.HTTPConnection(place.netloc, timeout=60)
                try:
                    connection.connect()
                except ConnectionRefusedError:  # it has ended
                    return
                try:
                    body = json.dumps({"text": text, "source": "en", "target": "de"})
                    connection.request("POST", "/v1/translate", body)
                    answers.append(connection.getresponse().status)
                except (ConnectionError, http.client.HTTPException) as error:
                    refused.append(repr(error))
                    return
                finally:
                    connection.close()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(30) == 0
    assert len(answers) > 8
    assert set(answers) == {200}
    assert not refused


def handles_sigterm(pid: str) -> bool:
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_several_processes_share_the_port_and_one_that_dies_is_replaced(run: Path, death: signal.Signals) -> None:
    with command(f"model={run}", "processes=2", "workers=1") as (url, process):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until = time.monotonic() + 60
        while len(children.read_text().split()) < 2 and time.monotonic() < until:
            time.sleep(0.1)
        first = set(children.read_text().split())
        assert len(first) == 2
        while not all(map(handles_sigterm, first)) and time.monotonic() < until:
            time.sleep(0.1)
        assert translated(url, "der Hund")
        os.kill(int(min(first)), death)
        while len(set(children.read_text().split()) - first) < 1 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(set(children.read_text().split())) == 2
        assert translated(url, "der Hund")
        process.send_signal(signal.SIGTERM)
        assert process.wait(40) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("files", "seconds"), [(0, 8 + 5), (1, 8 + 90 + 5)])
def test_the_end_waits_longer_while_a_file_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, seconds: int
) -> None:
    async def ended(self: Any, sockets: Any = None) -> None:
        limits.append(self.config.timeout_graceful_shutdown)

    limits: list[int] = []
    monkeypatch.setattr(uvicorn.Server, "shutdown", ended)
    server = word_server(tmp_path, {("en", "de"): upper}, "timeout_s=8", "file_timeout_s=90")
    life = Life(uvicorn.Config(app_of(server), timeout_graceful_shutdown=8 + 5), server)
    server.files_now = files
    asyncio.run(life.shutdown([]))
    assert limits == [seconds]


@pytest.mark.slow
def test_ctrl_c_ends_it_quietly(run: Path) -> None:
    with command(f"model={run}") as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_mistakes_are_found_before_anything_listens(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nmt.cli.main", "serve", f"model={tmp_path}/nothing"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_places_that_cannot_be_listened_at() -> None:
    taken = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    assert url_of(taken) == f"http://127.0.0.1:{port}"
    for host, where in (("127.0.0.1", port), ("192.0.2.1", 0), ("nowhere.invalid", 0)):
        with pytest.raises(
            ConfigError, match=rf"^cannot listen at host={host} port={where} \(.*\); choose another port="
        ):
            listen(host, where)
    taken.close()
    anywhere = listen("0.0.0.0", 0)
    assert url_of(anywhere).startswith("http://127.0.0.1:")
    anywhere.close()
