"""Files: uploaded, translated line by line, downloaded once."""

import asyncio
import os
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from helpers.served import WordServer, app_of, upper, word_server
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient

from nmt.serve.files import CHARACTERS_AT_ONCE, LINES_AT_ONCE, _portions
from nmt.serve.refusal import Refusal
from nmt.serve.results import Result, Results
from nmt.serve.server import FILES_AT_ONCE
from nmt.serve.text_files import MOST_LINES, read_text_file

FIELDS = {"source": "en", "target": "de"}
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def server(tmp_path: Path) -> WordServer:
    return word_server(tmp_path, {("en", "de"): upper, ("de", "en"): upper}, "body_mb=1")


@pytest.fixture
def client(server: WordServer) -> TestClient:
    return TestClient(app_of(server), raise_server_exceptions=False)


def upload(client: TestClient, content: bytes, name: str = "a.txt", fields: dict[str, str] | None = None) -> Any:
    return client.post("/translate_file", data=FIELDS if fields is None else fields, files={"file": (name, content)})


def translated(client: TestClient, content: bytes, name: str = "a.txt") -> bytes:
    response = upload(client, content, name)
    assert response.status_code == 200, response.text
    return client.get(response.json()["translatedFileUrl"]).content


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (b"one two\nthree", b"ONE TWO\nTHREE"),
        (b"one\r\n\r\n  two \r\n", b"ONE\r\n\r\n  TWO \r\n"),
        (b"one\rtwo\n\nthree\r\n", b"ONE\rTWO\n\nTHREE\r\n"),
        (BOM + b"one\n", BOM + b"ONE\n"),
        ("größe\n12 €\n\x85\u2028x".encode(), "GRÖSSE\n12 €\n\x85\u2028X".encode()),
        (b"", b""),
        (b"\n", b"\n"),
        (b"word\n" * 100, b"WORD\n" * 100),
    ],
)
def test_lines_are_translated_and_all_else_stays(client: TestClient, content: bytes, result: bytes) -> None:
    assert translated(client, content) == result


def test_the_language_may_be_detected(client: TestClient, server: WordServer) -> None:
    text = b"Das ist ein Satz in deutscher Sprache.\n"
    response = upload(client, text, fields={"source": "auto", "target": "en"})
    assert client.get(response.json()["translatedFileUrl"]).content == text.upper()
    assert server.seen[0][:2] == ("de", "en")


def test_a_file_in_the_target_language_stays_as_it_is(client: TestClient, server: WordServer) -> None:
    response = upload(client, b"x y\r\n", fields={"source": "de", "target": "de"})
    assert client.get(response.json()["translatedFileUrl"]).content == b"x y\r\n"
    assert server.seen == []


def test_a_file_may_be_longer_than_the_texts_of_a_request(client: TestClient, server: WordServer) -> None:
    content = b"several words\n" * 10_000
    assert translated(client, content) == content.upper()
    assert max(len(texts) for _, _, texts, _ in server.seen) <= 32  # others have their turn in between


def test_a_line_that_is_too_long_is_refused_before_anything_is_translated(
    client: TestClient, server: WordServer
) -> None:
    response = upload(client, b"one\n" + b"a" * 20_001)
    assert (response.status_code, response.json()) == (
        400,
        {"error": "line 2 has 20,001 characters, more than 20,000; break it into several"},
    )
    assert server.seen == []


def test_long_lines_are_few_at_once(client: TestClient, server: WordServer) -> None:
    content = (b"word " * 500 + b"\n") * 7
    assert translated(client, content) == content.upper()
    assert [len(texts) for _, _, texts, _ in server.seen] == [2, 2, 2, 1]


@pytest.mark.parametrize(("times", "status"), [(9, 200), (10, 503)])
def test_a_full_queue_is_asked_again(
    client: TestClient, server: WordServer, monkeypatch: pytest.MonkeyPatch, times: int, status: int
) -> None:
    monkeypatch.setattr("nmt.serve.files.LONGEST_PAUSE_S", 0)
    left = [Refusal(503, "busy", 7)] * times
    own = server.translate

    async def busy(*arguments: Any) -> Any:
        if left:
            raise left.pop()
        return await own(*arguments)

    monkeypatch.setattr(server, "translate", busy)
    assert upload(client, b"a").status_code == status


def test_other_refusals_are_not_waited_for(
    client: TestClient, server: WordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*arguments: Any) -> Any:
        calls.append(arguments)
        raise Refusal(500, "broken")

    calls: list[Any] = []
    monkeypatch.setattr(server, "translate", broken)
    assert upload(client, b"a").status_code == 500
    assert len(calls) == 1


@pytest.mark.slow
def test_a_file_has_a_time_limit_as_a_whole(tmp_path: Path) -> None:
    server = word_server(tmp_path, {("en", "de"): upper}, "file_timeout_s=0.5")
    own = server.translate

    async def slow(*arguments: Any) -> Any:
        await asyncio.sleep(0.2)
        return await own(*arguments)

    server.translate = slow  # type: ignore[method-assign]
    client = TestClient(app_of(server), raise_server_exceptions=False)
    assert translated(client, b"a\n" * 64) == b"A\n" * 64  # two portions
    response = upload(client, b"a\n" * 32 * 20)
    assert response.status_code == 413
    assert response.json() == {"error": "the file was not translated within 0.5 s; send a shorter one"}
    assert len(server.seen) < 2 + 5


def test_no_more_files_than_memory_holds_are_taken_at_one_time(client: TestClient, server: WordServer) -> None:
    for _ in range(FILES_AT_ONCE + 1):  # each makes room again, refused or not
        assert upload(client, b"a").status_code == 200
        assert upload(client, b"a", "a.exe").status_code == 400
    with ExitStack() as others:
        for _ in range(FILES_AT_ONCE):
            others.enter_context(server.room_for_file())
        response = upload(client, b"a")
    assert response.status_code == 503
    assert response.json() == {"error": "too many files are sent at one time; try again later"}
    assert response.headers["retry-after"] == "10"
    assert upload(client, b"a").status_code == 200


@pytest.mark.parametrize("why", ["full", "key"])
def test_a_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    class NoKey:
        def of(self, secret: str) -> None:
            assert secret == "wrong"

    def full() -> None:
        raise Refusal(503, "the server is busy; try again later", 1)

    async def unread(request: Request) -> Any:
        raise AssertionError("the file is being read")

    server = word_server(tmp_path, {("en", "de"): upper}, keys=NoKey())  # type: ignore[arg-type]
    monkeypatch.setattr("nmt.serve.files.read_upload", unread)
    headers = {"Authorization": "Bearer wrong"}
    if why == "full":
        monkeypatch.setattr(server.engine, "refuse_when_full", full)
        headers = {}
    client = TestClient(app_of(server), headers=headers)
    assert upload(client, b"a").status_code == {"full": 503, "key": 403}[why]


def test_searches_of_one_request_have_one_deadline_and_portions_of_a_file_their_own(server: WordServer) -> None:
    async def deadlines() -> list[float]:
        request = Request({"type": "http", "headers": []}, asyncio.Event().wait)  # type: ignore[arg-type]
        found = []
        for portion in (False, False, True):
            if portion:
                server.start_time(request)
            async with server.ticket(request) as ticket:
                found.append(ticket.deadline)
            await asyncio.sleep(0.01)
        return found

    first, second, portion = asyncio.run(deadlines())
    assert first == second < portion


def test_behind_a_proxy_the_address_is_the_clients(tmp_path: Path) -> None:
    server = word_server(tmp_path, {("en", "de"): upper}, "trust_proxy=[192.0.2.7]")
    files = {"file": ("a.txt", b"a")}
    for told, scheme in (("https", "https"), ("javascript", "http")):
        headers = {"X-Forwarded-Proto": told, "Host": "translate.example"}
        client = TestClient(app_of(server), client=("192.0.2.7", 50_000))
        response = client.post("/translate_file", data=FIELDS, files=files, headers=headers)
        assert response.json()["translatedFileUrl"].startswith(f"{scheme}://translate.example/download_file/")


def test_it_is_downloaded_once(client: TestClient, server: WordServer) -> None:
    url = upload(client, b"a").json()["translatedFileUrl"]
    assert re.fullmatch(r"http://testserver/download_file/[A-Za-z0-9_-]{32}", url)
    assert client.head(url).status_code == 200
    assert len(list(server.files.folder.iterdir())) == 1
    assert client.get(url).content == b"A"
    assert list(server.files.folder.iterdir()) == []
    again = client.get(url)
    assert (again.status_code, again.json()) == (
        404,
        {"error": "there is no such file: it was downloaded already, or an hour has passed"},
    )


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("notes.txt", "notes_de.txt"),
        ("Notes.TXT", "Notes_de.txt"),
        ("../../etc/passwd.txt", "passwd_de.txt"),
        ("C:\\secret\\a.txt", "a_de.txt"),
        ("größe №5.txt", "größe №5_de.txt"),
        ('a"b;c\r\nX-Evil: 1.txt', None),
        ("a" * 500 + ".txt", "a" * 100 + "_de.txt"),
        ("...txt", None),
    ],
)
def test_the_name_is_for_the_client_alone(client: TestClient, server: WordServer, name: str, seen: str | None) -> None:
    url = upload(client, b"a", name).json()["translatedFileUrl"]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", file.name) for file in server.files.folder.iterdir())
    response = client.get(url)
    disposition = response.headers["content-disposition"]
    assert re.fullmatch(r"""attachment; filename="[ -!#-~]*"; filename\*=UTF-8''[A-Za-z0-9._%~-]+""", disposition)
    assert "x-evil" not in response.headers
    if seen is not None:
        from urllib.parse import unquote

        assert unquote(disposition.split("''")[1]) == seen


@pytest.mark.parametrize("token", ["..%2f..%2fetc%2fpasswd", "a", "A" * 32, "%00", ".", "a/b"])
def test_other_names_are_no_files(client: TestClient, token: str) -> None:
    assert client.get(f"/download_file/{token}").status_code == 404


@pytest.mark.parametrize(
    ("content", "name", "fields", "error"),
    [
        (b"a", "a.docx", FIELDS, ".docx is not supported; send one of: .txt"),
        (b"a", "txt", FIELDS, "a file without an ending is not supported; send one of: .txt"),
        (b"a", "a.txt", {"target": "de"}, "Invalid request: missing source parameter"),
        (b"a", "a.txt", {"source": "en"}, "Invalid request: missing target parameter"),
        (b"a", "a.txt", {"source": "en", "target": "fr"}, "fr is not supported as a target"),
        (
            "Größe und Länge sind übermäßig schön\n".encode("cp1252"),
            "a.txt",
            FIELDS,
            "probably in CP1252, not in UTF-8",
        ),
        ("größe\n".encode("utf-16"), "a.txt", FIELDS, "the file is probably in UTF-16, not in UTF-8; save it as UTF-8"),
        (b"a\0b", "a.txt", FIELDS, "the file is not a text; it has zero bytes"),
    ],
)
def test_what_is_refused(
    client: TestClient, server: WordServer, content: bytes, name: str, fields: dict[str, str], error: str
) -> None:
    response = upload(client, content, name, fields)
    assert response.status_code == 400
    assert error in response.json()["error"]
    assert not server.files.folder.exists()


def test_a_form_without_a_file_is_refused(client: TestClient) -> None:
    response = client.post("/translate_file", data=FIELDS, files={"other": ("a.txt", b"a")})
    assert (response.status_code, response.json()) == (400, {"error": "Invalid request: missing file parameter"})
    response = client.post("/translate_file", json=FIELDS)
    assert response.json()["error"].startswith("send the file as multipart/form-data")
    response = client.post(
        "/translate_file", content=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert response.status_code == 400
    response = client.post("/translate_file", content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert (response.status_code, response.json()) == (
        400,
        {"error": "the form cannot be read: Missing boundary in multipart."},
    )


def test_many_and_long_fields_are_refused(client: TestClient) -> None:
    for fields in ({str(number): "a" for number in range(50)}, {"source": "a" * 10_000}):
        response = upload(client, b"a", fields=fields)
        assert response.status_code == 400
        assert "the form cannot be read" in response.json()["error"]


def test_a_file_that_is_too_large_is_refused(client: TestClient, server: WordServer) -> None:
    response = upload(client, b"a\n" * 600_000)
    assert response.status_code == 413
    assert "1,000,000 bytes" in response.json()["error"]
    assert server.seen == []


def test_a_key_may_come_in_the_form(tmp_path: Path) -> None:
    class OneKey:
        def of(self, secret: str) -> None:
            assert secret == "wrong"

    server = word_server(tmp_path, {("en", "de"): upper}, keys=OneKey())  # type: ignore[arg-type]
    response = upload(TestClient(app_of(server)), b"a", fields={**FIELDS, "api_key": "wrong"})
    assert response.status_code == 403


@given(st.text(max_size=200))
@settings(max_examples=60)
def test_every_text_in_utf8_comes_back(text: str) -> None:
    content = text.replace("\0", "").encode()
    file = read_text_file(content)
    assert file.with_lines(file.lines) == content


def test_results_are_bounded_in_number_and_bytes(tmp_path: Path) -> None:
    results = Results(tmp_path / "files", most_files=2, most_bytes=1000)
    first = results.keep(Result("a", b"a" * 100))
    results.keep(Result("a", b"a" * 100))
    with pytest.raises(Refusal, match="too many translated files wait") as refusal:
        results.keep(Result("a", b"a"))
    assert (refusal.value.status, refusal.value.retry_after_s) == (503, 60)
    results.remove(first)
    with pytest.raises(Refusal, match="too many translated files wait"):
        results.keep(Result("a", b"a" * 900))
    results.keep(Result("a", b"a"))


def test_results_are_kept_for_an_hour(tmp_path: Path) -> None:
    results = Results(tmp_path / "files")
    token = results.keep(Result("a.txt", b"line\nanother"))
    assert results.find(token) == Result("a.txt", b"line\nanother")
    file = results.folder / token
    assert file.stat().st_mode & 0o777 == 0o600
    assert results.folder.stat().st_mode & 0o777 == 0o700
    old = time.time() - 3601
    os.utime(file, (old, old))
    with pytest.raises(Refusal, match="an hour has passed"):
        results.find(token)
    results.keep(Result("b", b""))
    assert not file.exists()


def test_a_file_of_very_many_lines_is_refused(client: TestClient) -> None:
    """Each line takes memory and time, although it may hold no character that a limit counts."""
    for end in (b"\n", b"\r", b"\r\n"):
        assert len(read_text_file(end * MOST_LINES).lines) == MOST_LINES + 1
    response = upload(client, b"\n" * (MOST_LINES + 1))
    assert response.status_code == 413
    assert response.json()["error"] == "the file has more than 200,000 lines; send it in parts"


@given(st.lists(st.sampled_from(["", "1", "word", "a" * 4000])), st.integers(0, 70))
def test_portions_hold_each_line_with_letters_once(lines: list[str], more: int) -> None:
    whole = [*lines, *["word"] * more]
    portions = _portions(whole, 4000)
    assert [number for some in portions for number in some] == [n for n, line in enumerate(whole) if line.isalpha()]
    for some in portions:
        assert 0 < len(some) <= LINES_AT_ONCE
        assert sum(len(whole[number]) for number in some) <= CHARACTERS_AT_ONCE
