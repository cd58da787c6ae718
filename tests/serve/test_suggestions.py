"""Suggestions of users: kept where that is wanted, and bounded."""

import json
import os
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from helpers.served import app_of, upper, word_server
from starlette.testclient import TestClient

from nmt.serve import suggestions
from nmt.serve.refusal import Refusal
from nmt.serve.suggestions import add_suggestion

FIELDS = {"q": "A dog.", "s": "Ein Hund.", "source": "EN", "target": "de-DE"}


def client_of(folder: Path, *settings: str) -> TestClient:
    return TestClient(app_of(word_server(folder, {("en", "de"): upper}, *settings)), raise_server_exceptions=False)


def test_they_are_off_unless_wanted(tmp_path: Path) -> None:
    response = client_of(tmp_path).post("/suggest", json=FIELDS)
    assert (response.status_code, response.json()) == (403, {"error": "Suggestions are off on this server"})
    assert not list(tmp_path.rglob("*.jsonl"))


def test_they_are_kept_beside_the_run(tmp_path: Path) -> None:
    client = client_of(tmp_path, "suggestions=true")
    assert client.get("/frontend/settings").json()["suggestions"] is True
    assert client.post("/suggest", json=FIELDS).json() == {"success": True}
    assert client.post("/suggest", data={**FIELDS, "s": "Zwei\nZeilen\u2028 ü"}).json() == {"success": True}
    file = tmp_path / "en_de" / "suggestions.jsonl"
    first, second = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    date = datetime.fromisoformat(first.pop("date"))
    assert abs(datetime.now(UTC) - date) < timedelta(minutes=5)
    assert first == {"q": "A dog.", "s": "Ein Hund.", "source": "en", "target": "de"}
    assert second["s"] == "Zwei\nZeilen\u2028 ü"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"q": ""}, "missing q parameter"),
        ({"s": ""}, "missing s parameter"),
        ({"source": ""}, "missing source parameter"),
        ({"target": ""}, "missing target parameter"),
        ({"target": "fr"}, "fr is not supported"),
        ({"target": "en"}, "en is not supported as a target"),
        ({"source": "de"}, "source and target are the same language"),
        ({"s": "a" * 10_001}, "s has 10,001 characters; a suggestion may have 10,000"),
        ({"q": "a" * 10_001}, "q has 10,001 characters; a suggestion may have 10,000"),
        ({"s": ["a"]}, "s parameter is not a text"),
    ],
)
def test_what_is_refused(tmp_path: Path, changed: dict[str, object], error: str) -> None:
    response = client_of(tmp_path, "suggestions=true").post("/suggest", json={**FIELDS, **changed})
    assert response.status_code == 400
    assert error in response.json()["error"]
    assert not list(tmp_path.rglob("*.jsonl"))


def test_the_file_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MOST_BYTES", 1200)
    file = tmp_path / "suggestions.jsonl"
    for _ in range(12):
        add_suggestion(file, "a", "b", "en", "de")
    with pytest.raises(Refusal, match="holds as many suggestions as it may") as refusal:
        add_suggestion(file, "a" * 300, "b", "en", "de")
    assert refusal.value.status == 403
    assert 800 < file.stat().st_size <= 1200


def test_what_cannot_be_written_is_refused_and_the_operator_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "en_de" / "suggestions.jsonl"
    client = client_of(tmp_path, "suggestions=true")
    file.symlink_to(tmp_path / "elsewhere")  # a link is not followed
    answer = client.post("/suggest", json=FIELDS)
    assert answer.status_code == 503
    assert answer.json() == {"error": "this server cannot keep suggestions now; tell its operator"}
    assert capfd.readouterr().err == f"{file}: a suggestion was not kept (Too many levels of symbolic links)\n"
    assert not (tmp_path / "elsewhere").exists()


def write_many(file: str, letter: str) -> None:
    for _ in range(200):
        add_suggestion(Path(file), letter * 3000, letter * 3000, "en", "de")


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "suggestions.jsonl"
    workers = [get_context("fork").Process(target=write_many, args=(os.fspath(file), letter)) for letter in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 600
    assert all(set(line["q"]) == set(line["s"]) and len(set(line["q"])) == 1 for line in lines)
