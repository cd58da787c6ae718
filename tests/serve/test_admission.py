"""A full queue refuses searches before it reads them, and nothing else."""

from pathlib import Path

import pytest
from helpers.served import app_of, upper, word_server
from starlette.testclient import TestClient

from nmt.serve.admission import SearchRoute
from nmt.serve.metrics import Metrics
from nmt.serve.refusal import Refusal

SEARCHES = ["/translate", "/translate_file", "/v1/continuations", "/v1/translate", "/v2/translate"]


def full() -> None:
    raise Refusal(503, "the server is busy; try again later", 7)


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A client of a server whose queue is full."""
    server = word_server(tmp_path, {("en", "de"): upper}, "origins=[https://a.example]")
    monkeypatch.setattr(server.engine, "refuse_when_full", full)
    return TestClient(app_of(server))


def test_every_route_that_searches_is_one(busy: TestClient) -> None:
    routes = busy.app.routes  # type: ignore[attr-defined]
    assert sorted(route.path for route in routes if isinstance(route, SearchRoute)) == SEARCHES


@pytest.mark.parametrize("path", SEARCHES)
def test_searches_are_refused_whatever_they_hold(busy: TestClient, path: str) -> None:
    for content in (b"", b"{", b"x" * 100_000):
        found = busy.post(path, content=content, headers={"Origin": "https://a.example"})
        key = "message" if path.startswith("/v2/") else "error"
        assert (found.status_code, found.json()) == (503, {key: "the server is busy; try again later"})
        assert found.headers["Retry-After"] == "7"
        assert found.headers["access-control-allow-origin"] == "https://a.example"
        assert found.headers["x-content-type-options"] == "nosniff"


def test_everything_else_is_answered(busy: TestClient) -> None:
    assert busy.get("/health").status_code == 200
    assert busy.get("/languages").status_code == 200
    assert busy.get("/v1/translate").status_code == 405
    assert busy.post("/detect", json={"q": "A dog runs."}).status_code == 200


def test_refusals_are_counted(busy: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, int]] = []
    monkeypatch.setattr(Metrics, "answered", lambda self, route, status, seconds: counted.append((route, status)))
    client = TestClient(app_of(busy.app.state.server))  # type: ignore[attr-defined]
    client.post("/translate")
    client.get("/languages")
    client.get("/nowhere")
    assert counted == [("/translate", 503), ("/languages", 200), ("other", 404)]
