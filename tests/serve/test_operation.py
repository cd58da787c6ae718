"""The files that docs/serve-operation.md offers: the programs that they are for accept them, and they do what it says.

Where such a program is not installed, its test skips.
"""

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.processes import free_port

from nmt.config.compose import command_of

FILES = Path(__file__).parents[2] / "docs" / "serve"
METRICS = """nmt_requests_total nmt_request_seconds nmt_sentences_total nmt_source_pieces_total nmt_queue_pieces
nmt_batch_sentences nmt_search_seconds nmt_cache_hits_total nmt_cache_misses_total nmt_refused_total""".split()
LABELS = {"job", "instance", "route", "status", "model", "reason", "le"}
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")


def needed(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@needed("systemd-analyze")
def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    unit = tmp_path / "nmt.service"
    program = shutil.which("true")
    unit.write_text((FILES / "nmt.service").read_text().replace("/opt/nmt/bin/nmt", str(program)))
    said = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    lines = [line for line in said.stderr.splitlines() if "nmt.service" in line]
    assert lines == []
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(unit)]
    rated = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unrecognized option" in rated.stderr:
        pytest.skip("this systemd rates no unit that is not installed")
    assert rated.returncode == 0, rated.stdout[-200:]  # 2.0 of 10 at most


def test_what_the_page_and_the_unit_tell_to_type_can_be_typed() -> None:
    page = (FILES.parent / "serve-operation.md").read_text("utf-8")
    assert all((FILES.parent / link).exists() for link in re.findall(r"\]\((serve/[^)]*)\)", page))
    lines = re.findall(r"bin/nmt (\w+) (.*)$", page + (FILES / "nmt.service").read_text(), re.MULTILINE)
    assert sorted(verb for verb, _ in lines) == ["keys", "keys", "keys", "keys", "serve"]
    for verb, words in lines:
        command = command_of(verb, words.partition(" #")[0].split())
        if verb == "serve":
            assert (command.trust_proxy, command.require_key) == (["127.0.0.1"], True)
            assert f"{command.body_mb}m;" in (FILES / "nginx.conf").read_text()


class Upstream(BaseHTTPRequestHandler):
    """Says what reached it; sends a stream in two parts, the second when a test allows it."""

    protocol_version = "HTTP/1.1"
    go_on = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/translate":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nfirst\r\n")
            self.go_on.wait(20)
            self.wfile.write(b"4\r\nlast\r\n0\r\n\r\n")
            return
        body = json.dumps(dict(self.headers.items())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def upstream() -> Iterator[int]:
    """The port of a server in place of `nmt serve`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[HTTPSConnection]:
    """A connection to nginx with the configuration, before a server in place of ours."""
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    with upstream() as port:
        plain, encrypted = free_port(), free_port()
        folder = tmp_path / "nginx"
        folder.mkdir()
        subject = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=translate.example.org"]
        pair = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
        subprocess.run(["openssl", "req", *subject, *pair], capture_output=True, check=True)
        text = (FILES / "nginx.conf").read_text()
        text = re.sub(r" *listen \[::\].*\n", "", text).replace("/etc/ssl/nmt/", f"{folder}/")
        text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace("127.0.0.1:5000", f"127.0.0.1:{port}")
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{encrypted} ssl;")
        temporary = "".join(
            f"{what}_temp_path {folder}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        top = f"daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        (folder / "all.conf").write_text(f"{top}http {{\naccess_log off;\n{temporary}{text}}}\n")
        words = [NGINX, "-p", str(folder), "-c", str(folder / "all.conf")]
        tried = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
        assert tried.returncode == 0, tried.stderr
        assert "[warn]" not in re.sub(
            ".*directive makes sense only if.*|.*could not open error log file.*", "", tried.stderr
        )
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            wait_for(encrypted)
            yield HTTPSConnection("127.0.0.1", encrypted, context=ssl._create_unverified_context(), timeout=20)
        finally:
            process.terminate()
            process.wait(20)


def wait_for(port: int) -> None:
    """Until somebody listens."""
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")


def test_nginx_tells_the_true_address_whatever_a_client_says(proxied: HTTPSConnection) -> None:
    forged = {"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "http", "Host": "translate.example.org"}
    proxied.request("POST", "/translate", b"{}", forged)
    seen = json.loads(proxied.getresponse().read())
    assert (seen["X-Forwarded-For"], seen["X-Forwarded-Proto"]) == ("127.0.0.1", "https")
    assert seen["Host"] == "translate.example.org"
    assert "Connection" not in seen


@pytest.mark.slow
def test_nginx_passes_on_a_stream_as_it_comes(proxied: HTTPSConnection) -> None:
    Upstream.go_on.clear()
    proxied.request("POST", "/v1/translate", b"{}")
    answer = proxied.getresponse()
    assert answer.read(5) == b"first"
    Upstream.go_on.set()
    assert answer.read() == b"last"


@pytest.mark.slow
def test_nginx_keeps_figures_and_large_bodies_away(proxied: HTTPSConnection) -> None:
    proxied.request("GET", "/metrics")
    answer = proxied.getresponse()
    answer.read()
    assert answer.status == 404
    proxied.request("POST", "/translate", b" " * (10 * 2**20 + 1))
    assert proxied.getresponse().status == 413


BOARD = json.loads((FILES / "grafana.json").read_text("utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_the_dashboard_asks_for_figures_that_exist_by_their_labels() -> None:
    names = {re.sub("_(bucket|sum|count)$", "", name) for expr in EXPRESSIONS for name in re.findall(r"nmt_\w+", expr)}
    assert names == set(METRICS)  # every one is shown
    for expr in EXPRESSIONS:
        grouped = {label.strip() for found in re.findall(r"by \(([^)]*)\)", expr) for label in found.split(",")}
        assert grouped | set(re.findall(r"(\w+)[=!]~?\"", expr)) <= LABELS
        assert "rate(" in expr or "increase(" in expr or "nmt_queue_pieces" in expr  # no bare counter


def test_the_dashboard_is_whole() -> None:
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    known = {f"${variable['name']}" for variable in BOARD["templating"]["list"]} | {"$__rate_interval"}
    for panel in PANELS:
        legends = [target["refId"] for target in panel["targets"]]
        assert legends == [chr(ord("A") + number) for number in range(len(legends))]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert {word for expr in EXPRESSIONS for word in re.findall(r"\$\w+", expr)} <= known
    boxes = [panel["gridPos"] for panel in BOARD["panels"]]
    for one, other in combinations(boxes, 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    assert all(box["x"] + box["w"] <= 24 for box in boxes)


@needed("promtool")
def test_prometheus_understands_every_expression(tmp_path: Path) -> None:
    words = {"$__rate_interval": "1m", "$job": "nmt", "$instance": ".*", "$route": ".*"}
    rules = []
    for number, expr in enumerate(EXPRESSIONS):
        for word, value in words.items():
            expr = expr.replace(word, value)
        rules.append({"record": f"panel:{number}", "expr": expr})
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    for part, path in (("rules", tmp_path / "rules.yml"), ("config", FILES / "prometheus.yml")):
        checked = subprocess.run(["promtool", "check", part, str(path)], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_the_scrape_job_is_the_dashboards() -> None:
    [job] = yaml.safe_load((FILES / "prometheus.yml").read_text())["scrape_configs"]
    assert job["job_name"] == "nmt"
    assert job["static_configs"] == [{"targets": ["127.0.0.1:5000"]}]


class Translator(BaseHTTPRequestHandler):
    """Answers as the API does, refuses every third request, and keeps what it was sent."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, Any], str | None]] = []  # noqa: RUF012  # emptied by the test

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body, self.headers["Authorization"]))
        self.send_response(503 if len(self.seen) % 3 == 0 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.slow
@needed("wrk")
def test_the_load_test_sends_every_sentence_and_counts_the_answers(tmp_path: Path) -> None:
    lines = ['A "quoted" \\ dog.', "Übung\tmacht den Meister.", "третье", "\u2028 und mehr"]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", "utf-8")
    Translator.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Translator)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = ["wrk", "-t", "2", "-c", "2", "-d", "1s", "-s", str(FILES / "load.lua")]
    address = f"http://127.0.0.1:{server.server_address[1]}"
    done = subprocess.run(
        [*words, address, "--", str(tmp_path / "text"), "en", "de", "nmt_secret"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    server.shutdown()
    server.server_close()
    sent = [json.dumps(body, sort_keys=True) for _, body, _ in Translator.seen]
    assert set(sent) == {json.dumps({"text": line, "source": "en", "target": "de"}, sort_keys=True) for line in lines}
    assert {(path, key) for path, _, key in Translator.seen} == {("/v1/translate", "Bearer nmt_secret")}
    answered, refused, failed = map(
        int, re.findall(r"answered (\d+) .*, refused (\d+) .*, failed (\d+)", done.stdout)[0]
    )
    assert failed == 0
    assert answered + refused <= len(sent) <= answered + refused + 4  # those on their way at the end
    assert abs(refused - len(sent) / 3) <= 4
    assert re.search(r"milliseconds: median [\d.]+, 90 % [\d.]+, 99 % [\d.]+, longest [\d.]+", done.stdout)


@needed("wrk")
def test_the_load_test_says_what_it_needs() -> None:
    with upstream() as port:
        words = ["wrk", "-d", "1s", "-s", str(FILES / "load.lua"), f"http://127.0.0.1:{port}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "after the address: -- FILE SOURCE TARGET [KEY]" in done.stderr
