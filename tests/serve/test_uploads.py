"""Forms with a file: what cannot be read is refused, whatever it says of itself."""

from pathlib import Path

import pytest
from helpers.served import app_of, upper, word_server
from starlette.testclient import TestClient


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return TestClient(app_of(word_server(tmp_path, {("en", "de"): upper})), raise_server_exceptions=False)


def form(source: bytes = b"en", name: bytes = b"a.txt") -> bytes:
    fields = ((b"source", b"", source), (b"target", b"", b"de"), (b"file", b'; filename="%s"' % name, b"a dog"))
    parts = (b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % each for each in fields)
    return b"".join(parts) + b"--x--\r\n"


def sent(client: TestClient, content: bytes, kind: str) -> tuple[int, str]:
    answer = client.post("/translate_file", content=content, headers={"Content-Type": kind})
    return answer.status_code, answer.text


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", '; charset="UTF8"'])
def test_utf_8_may_be_named(client: TestClient, charset: str) -> None:
    assert sent(client, form(), f"multipart/form-data; boundary=x{charset}")[0] == 200


@pytest.mark.parametrize("charset", ["latin-1", "utf-7", "undefined", "unicode_escape", "punycode", "hex", "none"])
@pytest.mark.parametrize("odd", [b"en", b"\\ud800", b"+2AA-"])
def test_other_charsets_are_refused(client: TestClient, charset: str, odd: bytes) -> None:
    for content in (form(odd), form(name=odd + b".txt")):
        status, text = sent(client, content, f"multipart/form-data; boundary=x; charset={charset}")
        assert (status, "the form is not in UTF-8; send it as UTF-8, without a charset" in text) == (400, True)


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("text/plain", b"a", "send the file as multipart/form-data, with the fields file, source and target"),
        ("", b"a", "send the file as multipart/form-data"),
        ("multipart/form-data", form(), "the form cannot be read: Missing boundary"),
        ("multipart/form-data; boundary=x", b"a", "the form cannot be read"),
        ("multipart/form-data; boundary=x", form()[:40], "missing file"),
    ],
)
def test_forms_that_cannot_be_read(client: TestClient, kind: str, content: bytes, message: str) -> None:
    status, text = sent(client, content, kind)
    assert (status, message in text) == (400, True), text


@pytest.mark.parametrize("content", [b"--y\r\n", b"--x\r\nA B: c\r\n\r\n", b"--x\r\n\r\na\r\n--x!", b"a" * 500])
def test_a_broken_form_writes_nothing_into_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    assert sent(client, content, "multipart/form-data; boundary=x")[0] == 400
    assert not [each for each in caplog.records if each.name.startswith("python_multipart")]
