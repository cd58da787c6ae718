"""What happens to every request: keys, limits, bodies, headers, figures, log, other sites."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.servers import client_of, server_of
from helpers.small_runs import make_run
from starlette.testclient import TestClient

from nmt.serve.addresses import address_of, plain_address
from nmt.serve.key_changes import add_key
from nmt.serve.keys import Key

BODY = {"text": "der Hund", "source": "en", "target": "de"}
HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"model={make_run(tmp_path_factory.mktemp('runs') / 'first')}"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A file of keys, and what is in it."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    few = Key("few", characters_per_minute=20, requests_per_minute=None)
    return {"file": str(file), "any": add_key(file, Key("any", None, None)), "few": add_key(file, few)}


@pytest.fixture(scope="module")
def guarded(run: str, secrets: dict[str, str]) -> Iterator[TestClient]:
    words = [f"keys={secrets['file']}", "require_key=true", "body_mb=1", "body_timeout_s=0.5", "metrics_token=open"]
    with client_of(run, *words, "origins=['https://example.org']", "log=json") as client:
        yield client


def test_a_key_opens_wherever_it_is_sent(guarded: TestClient, secrets: dict[str, str]) -> None:
    for how in (
        {"headers": {"Authorization": f"Bearer {secrets['any']}"}, "json": BODY},
        {"headers": {"Authorization": f"DeepL-Auth-Key {secrets['any']}"}, "json": BODY},
        {"json": BODY | {"api_key": secrets["any"]}},
        {"params": BODY | {"api_key": secrets["any"]}},
    ):
        assert guarded.post("/v1/translate", **how).status_code == 200  # type: ignore[arg-type]


def test_without_the_right_key_nothing_is_translated(guarded: TestClient) -> None:
    none = guarded.post("/v1/translate", json=BODY)
    assert (none.status_code, "this server needs a key" in none.json()["error"]) == (403, True)
    for wrong in ({"json": BODY | {"api_key": "x"}}, {"json": BODY, "headers": {"Authorization": "Bearer nmt_x"}}):
        found = guarded.post("/v1/translate", **wrong)  # type: ignore[arg-type]
        assert (found.status_code, "this key is unknown or was revoked" in found.json()["error"]) == (403, True)
    assert guarded.get("/v1/models").json()["keys_required"] is True


def test_a_keys_limit_says_when_to_try_again(guarded: TestClient, secrets: dict[str, str]) -> None:
    body = BODY | {"api_key": secrets["few"], "text": "der Hund schläft"}
    assert guarded.post("/v1/translate", json=body).status_code == 200
    refused = guarded.post("/v1/translate", json=body)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.json()["error"].startswith("too many requests or characters; try again in ")
    large = guarded.post("/v1/translate", json=body | {"text": "der Hund " * 9})
    assert large.status_code == 413


def test_guesses_of_a_key_count_as_requests_of_their_address(run: str, secrets: dict[str, str]) -> None:
    with client_of(run, f"keys={secrets['file']}", "requests_per_minute=2", "trust_proxy=[192.0.2.7]") as client:
        for address, secret, status in (
            *(("1.2.3.4", "x", 403), ("1.2.3.4", "y", 403), ("1.2.3.4", "z", 429)),
            *(("5.6.7.8", "x", 403), ("1.2.3.4", secrets["any"], 200)),
        ):
            headers = {"X-Forwarded-For": address, "Authorization": f"Bearer {secret}"}
            assert client.post("/v1/translate", json=BODY, headers=headers).status_code == status


def test_addresses_without_a_key_have_limits_of_their_own(run: str) -> None:
    with client_of(run, "requests_per_minute=2", "trust_proxy=[192.0.2.7]") as client:
        for address, status in (("1.2.3.4", 200), ("1.2.3.4", 200), ("1.2.3.4", 429), ("5.6.7.8", 200)):
            found = client.post("/v1/translate", json=BODY, headers={"X-Forwarded-For": f"9.9.9.9, {address}"})
            assert found.status_code == status


def test_a_client_is_named_by_trusted_proxies_only() -> None:
    class Request:
        class client:  # noqa: N801
            host = "10.0.0.1"

        class headers:  # noqa: N801
            @staticmethod
            def getlist(name: str) -> list[str]:
                return ["6.6.6.6, 1.2.3.4", " 10.0.0.2 "]

    assert address_of(Request, []) == "10.0.0.1"  # type: ignore[arg-type]
    assert address_of(Request, ["10.0.0.1", "10.0.0.2"]) == "1.2.3.4"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "plain"),
    [
        ("1.2.3.4", "1.2.3.4"),
        (" 1.2.3.4:5678 ", "1.2.3.4"),
        ("[2001:DB8::1]:443", "2001:db8::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("unknown", "unknown"),
    ],
)
def test_an_address_has_one_form(told: str, plain: str) -> None:
    assert plain_address(told) == plain


def test_bodies_that_are_too_large_are_not_read(guarded: TestClient) -> None:
    found = guarded.post("/v1/translate", content=b"x" * 1_000_001)
    assert found.status_code == 413
    assert found.json()["error"] == "the body has more than 1,000,000 bytes; send less at once"


@pytest.mark.parametrize(
    ("path", "size", "closes"),
    [("/nothing-here", 100, False), ("/nothing-here", 100_000, True), ("/v1/models", 0, False)],
)
def test_the_rest_of_a_large_body_that_nobody_reads_is_not_waited_for(
    guarded: TestClient, path: str, size: int, closes: bool
) -> None:
    response = guarded.request("POST" if size else "GET", path, content=b"x" * size)
    assert (response.headers.get("connection") == "close") == closes


def test_every_answer_has_headers_of_safety(guarded: TestClient) -> None:
    for path in ("/health", "/nowhere", "/"):
        assert {name: guarded.get(path).headers[name] for name in HEADERS} == HEADERS


def test_other_sites_may_call_if_they_are_named(guarded: TestClient, run: str) -> None:
    ours, theirs = ({"Origin": f"https://{name}", "Access-Control-Request-Method": "POST"} for name in ("example.org", "evil.example"))  # fmt: skip  # noqa: E501
    assert guarded.options("/v1/translate", headers=ours).headers["access-control-allow-origin"] == ours["Origin"]
    assert "access-control-allow-origin" not in guarded.options("/v1/translate", headers=theirs).headers
    assert "access-control-allow-credentials" not in guarded.options("/v1/translate", headers=ours).headers
    with client_of(run) as plain:
        assert "access-control-allow-origin" not in plain.get("/health", headers=ours).headers


def test_figures_for_prometheus_hold_no_text_address_or_key(guarded: TestClient, secrets: dict[str, str]) -> None:
    assert guarded.get("/metrics").status_code == 403
    found = guarded.get("/metrics", headers={"Authorization": "Bearer open"})
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    for name in ("nmt_requests_total", "nmt_request_seconds_bucket", "nmt_sentences_total", "nmt_queue_pieces"):
        assert f"\n{name}" in found.text
    assert 'nmt_requests_total{route="/v1/translate",status="200"}' in found.text
    assert 'route="other"' in found.text or guarded.get("/x").status_code == 404
    for secret in (secrets["any"], "192.0.2.7", "Hund", "/nowhere"):
        assert secret not in found.text


def test_metrics_can_be_off(run: str) -> None:
    with client_of(run, "metrics=false", "page=false") as client:
        assert client.get("/metrics").status_code == 404
        assert "/metrics" not in client.get("/spec").json()["paths"]
        assert client.get("/").status_code == 404


def test_the_log_has_lengths_and_times_and_never_text(guarded: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    guarded.post("/v1/translate", json=BODY | {"text": "Geheimnis"})
    out = capsys.readouterr().out
    line = json.loads(out.splitlines()[-1])
    assert set(line) == {"time", "route", "status", "milliseconds", "bytes"}
    assert (line["route"], line["status"]) == ("/v1/translate", 403)
    assert "Geheimnis" not in out


def test_a_mistake_of_ours_is_answered_in_json(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with client_of(run) as client:
        monkeypatch.setattr(server_of(client).engine, "translate", None)
        found = client.post("/v1/translate", json=BODY)
        assert (found.status_code, found.json()) == (500, {"error": "the server made a mistake; its log says more"})
        assert 'nmt_requests_total{route="/v1/translate",status="500"} 1.0' in client.get("/metrics").text


def test_health_turns_when_the_end_is_announced(run: str) -> None:
    with client_of(run) as client:
        assert client.get("/health").json() == {"status": "ok"}
        server_of(client).stopping = True
        found = client.get("/health")
        assert (found.status_code, found.json()) == (503, {"status": "stopping"})
        assert found.headers["connection"] == "close"


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/translate_file", "/v2/translate"])
def test_a_client_that_leaves_within_its_body_is_no_mistake(run: str, path: str) -> None:
    heads = [(b"content-length", b"100"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": heads, "app": None}
    messages = iter([{"type": "http.request", "body": b"--x", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    with client_of(run) as client:
        asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]  # raises nothing, so nothing is logged
    assert sent[0]["status"] == 499


def test_metrics_of_a_file_that_is_no_keys(tmp_path: Path, run: str) -> None:
    from nmt.errors import DataError

    with pytest.raises(DataError, match="does not exist; nmt keys file="), client_of(run, f"keys={tmp_path}/none"):
        pass
