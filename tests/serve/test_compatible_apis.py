"""LibreTranslate's and DeepL's API over models of numbers: small random ones."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.servers import client_of, server_of
from helpers.small_runs import make_run
from starlette.testclient import TestClient

from nmt.translation.markup import tokens
from nmt.translation.translator import Translator

LINES = ["der hund rennt .", "ein kleiner hund", "12"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first")
    make_run(folder / "plain", "none", seed=1, data={"src_lang": "de", "tgt_lang": "en"})
    return folder


@pytest.fixture(scope="module")
def client(runs: Path) -> Iterator[TestClient]:
    with client_of(f"models=[{runs}/first,{runs}/plain]", "suggestions=true") as client:
        yield client


def tags(document: str) -> Counter[str]:
    return Counter(token.raw for token in tokens(document, False) if token.kind != "text")


@pytest.fixture(scope="module")
def expected(runs: Path) -> list[str]:
    translator = Translator.load(runs / "first", device="cpu", precision="fp32")
    return [each.text for each in translator.translate(LINES)]


def test_both_apis_give_what_the_model_gives(client: TestClient, expected: list[str]) -> None:
    body: dict[str, Any] = {"q": LINES, "source": "en", "target": "de"}
    assert client.post("/translate", json=body).json()["translatedText"] == expected
    body = {"text": LINES, "source_lang": "EN", "target_lang": "DE"}
    found = client.post("/v2/translate", json=body).json()["translations"]
    assert [each["text"] for each in found] == expected


def test_files(client: TestClient, expected: list[str]) -> None:
    files = {"file": ("a.txt", "\r\n".join(LINES[:2]).encode())}
    response = client.post("/translate_file", data={"source": "en", "target": "de"}, files=files)
    assert client.get(response.json()["translatedFileUrl"]).content == "\r\n".join(expected[:2]).encode()


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "en")])  # with attention and without
def test_markup(client: TestClient, source: str, target: str) -> None:
    documents = [f"<p>der <b>hund</b> <a href='x'>rennt .</a></p><br><i>{line}</i>" for line in LINES]
    body: dict[str, Any] = {"q": documents, "source": source, "target": target, "format": "html"}
    html = client.post("/translate", json=body).json()["translatedText"]
    body = {"text": documents, "source_lang": source, "target_lang": target, "tag_handling": "html"}
    found = client.post("/v2/translate", json=body).json()["translations"]
    assert html == [each["text"] for each in found]
    assert [tags(each) for each in html] == [tags(each) for each in documents]


def test_alternatives_are_the_models_own(client: TestClient, runs: Path) -> None:
    translator = Translator.load(runs / "first", device="cpu", precision="fp32")
    settings = client.post("/v1/translate", json={"text": LINES[0], "source": "en", "target": "de", "n_best": 4}).json()
    [sentence] = settings["texts"][0]["sentences"]
    body = {"q": LINES[0], "source": "en", "target": "de", "alternatives": 3}
    found = client.post("/translate", json=body).json()
    assert [found["translatedText"], *found["alternatives"]] == [each["text"] for each in sentence["n_best"]]
    assert translator.translate([LINES[0]])[0].text == found["translatedText"]


def test_a_suggestion_lies_in_the_run_folder(client: TestClient, runs: Path) -> None:
    body = {"q": "a", "s": "b", "source": "de", "target": "en"}
    assert client.post("/suggest", json=body).json() == {"success": True}
    assert (runs / "plain" / "suggestions.jsonl").exists()
    assert not (runs / "first" / "suggestions.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/translate", "/translate_file", "/v2/translate"])
def test_a_request_is_charged_once(runs: Path, path: str) -> None:
    with client_of(f"model={runs}/first", "requests_per_minute=1") as client:
        document = "<p>der <code>hund</code></p>" * 50
        body: dict[str, Any] = {"q": [document] * 3, "source": "en", "target": "de", "format": "html"}
        files = None
        if path == "/v2/translate":
            body = {"text": [document] * 3, "target_lang": "DE", "source_lang": "EN", "tag_handling": "html"}
        elif path == "/translate_file":
            body, files = {"source": "en", "target": "de"}, {"file": ("a.txt", b"der hund\n" * 100)}
        sent = {"json": body} if files is None else {"data": body, "files": files}
        statuses = [client.post(path, **sent).status_code for _ in range(2)]  # type: ignore[arg-type]
        assert statuses == [200, 429]
        assert server_of(client).engine.jobs.pieces == 0
