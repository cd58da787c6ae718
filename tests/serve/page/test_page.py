"""The routes of the page: known files only, with the headers that keep strangers out."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from nmt.serve import page

pytestmark = pytest.mark.slow  # each needs a browser

FILES = sorted(path.name for path in page.FOLDER.iterdir() if path.name != "index.html")
VERSION = re.findall(r'"page/([0-9a-f]+)/start.js"', TestClient(Starlette(routes=page.routes())).get("/").text)[0]


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=page.routes()))


@pytest.mark.parametrize("path", ["/", *(f"/page/{VERSION}/{name}" for name in FILES)])
def test_a_file_comes_with_its_headers(path: str, client: TestClient) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    assert answer.headers["Content-Security-Policy"] == policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    again = client.get(path, headers={"If-None-Match": f'"other", {answer.headers["ETag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert plain.content == answer.content


def test_only_what_has_its_version_in_its_name_is_kept_for_good(client: TestClient) -> None:
    assert client.get("/").headers["Cache-Control"] == "no-cache"
    assert "immutable" in client.get(f"/page/{VERSION}/main.js").headers["Cache-Control"]
    assert client.get("/page/000000000000/main.js").status_code == 404


@pytest.mark.parametrize(
    "name", ["page.py", "..%2fpage.py", "%2e%2e/page.py", "../page.py", "main.js/", "", "MAIN.JS", "main.js%00"]
)
def test_other_names_are_unknown(name: str, client: TestClient) -> None:
    assert client.get(f"/page/{VERSION}/{name}", follow_redirects=False).status_code in (404, 307)
    assert b"import" not in client.get(f"/page/{VERSION}/{name}", follow_redirects=False).content


def test_the_page_waits_for_no_module_and_nothing_is_foreign_or_inline() -> None:
    text = (page.FOLDER / "index.html").read_text("utf-8")
    assert re.findall(r'<script src="page/([^"]+)"( defer)?>', text) == [("theme-first.js", ""), ("start.js", " defer")]
    assert 'type="module"' not in text
    assert "preload" not in text
    assert not re.search(r"<style|\bstyle=|\son\w+=|<script>|https?://", text)
    for path in page.FOLDER.iterdir():
        for address in re.findall(r"https?://[^\s\"')]+", path.read_text("utf-8")):
            assert address.startswith("http://www.w3.org/"), f"{path.name} names {address}"


def test_what_the_modules_use_is_in_the_page() -> None:
    text = (page.FOLDER / "index.html").read_text("utf-8")
    for path in page.FOLDER.glob("*.js"):
        for name in re.findall(r'byId\("([^"]+)"\)', path.read_text("utf-8")):
            assert f'id="{name}"' in text, f"{path.name} looks for {name}"


def test_the_page_is_small(client: TestClient) -> None:
    sent = [client.get(path) for path in ["/", *(f"/page/{VERSION}/{name}" for name in FILES)]]
    assert sum(int(answer.headers["Content-Length"]) for answer in sent) < 60_000


def test_the_folder_is_named_in_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert TestClient(Starlette(routes=page.routes())).get("/").status_code == 200
