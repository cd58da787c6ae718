"""Requests that no client sends: each gets an answer or a clear refusal, and none a mistake of ours."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.markup_documents import DOCUMENTS
from helpers.served import app_of, backwards, upper, word_server
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

TEXT = st.text(max_size=20) | DOCUMENTS
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
CODES = st.sampled_from(["en", "de", "EN-US", "auto", "", "zz", "pb"]) | st.text(max_size=5)
LIBRETRANSLATE = {
    "q": TEXT | st.lists(TEXT, max_size=3),
    "s": TEXT,
    "source": CODES,
    "target": CODES,
    "format": st.sampled_from(["text", "html", "", "x"]),
    "alternatives": st.integers(-2, 12) | st.sampled_from(["1", "x", ""]),
    "api_key": TEXT,
}
DEEPL = {
    "text": st.lists(TEXT, max_size=3) | TEXT,
    "source_lang": CODES,
    "target_lang": CODES,
    "tag_handling": st.sampled_from(["html", "xml", "", "x"]),
    "split_sentences": st.sampled_from(["0", "1", "nonewlines", 0, 1, "x"]),
    "ignore_tags": st.lists(st.sampled_from(["b", "x", "p"]), max_size=2) | st.just("b,i"),
    "splitting_tags": st.lists(st.sampled_from(["b", "x", "p"]), max_size=2),
    "non_splitting_tags": st.lists(st.sampled_from(["b", "x", "p"]), max_size=2),
    "outline_detection": st.booleans() | st.sampled_from(["0", "x"]),
    "show_billed_characters": st.booleans(),
    "formality": st.sampled_from(["default", "more"]),
}
EXPECTED = (200, 400, 403, 404, 405, 413, 503)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    models = {("en", "de"): backwards, ("de", "en"): upper, ("en", "pt-BR"): upper}
    server = word_server(tmp_path_factory.mktemp("odd"), models, "suggestions=true")
    with TestClient(app_of(server)) as client:  # a mistake of ours is raised here
        yield client


def requests(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Requests that are nearly right: some fields are missing, one may be anything."""
    odd = st.fixed_dictionaries({}, optional=dict.fromkeys(fields, VALUES))
    return st.fixed_dictionaries({}, optional=fields) | st.tuples(st.fixed_dictionaries({}, optional=fields), odd).map(
        lambda both: {**both[0], **dict(list(both[1].items())[:1])}
    )


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(["/translate", "/detect", "/suggest"]), requests(LIBRETRANSLATE), st.booleans())
def test_libretranslate(client: TestClient, path: str, fields: dict[str, Any], form: bool) -> None:
    check(client, path, fields, form, "error")


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(["/v2/translate", "/v2/languages", "/v2/usage"]), requests(DEEPL), st.booleans())
def test_deepl(client: TestClient, path: str, fields: dict[str, Any], form: bool) -> None:
    check(client, path, fields, form, "message")


def check(client: TestClient, path: str, fields: dict[str, Any], form: bool, key: str) -> None:
    if form:
        flat = {name: value for name, value in fields.items() if isinstance(value, str | list)}
        response = client.post(
            path,
            data={name: value if isinstance(value, str) else list(map(str, value)) for name, value in flat.items()},
        )
    else:
        import json

        response = client.post(path, content=json.dumps(fields), headers={"Content-Type": "application/json"})
    assert response.status_code in EXPECTED
    if response.status_code != 200:
        assert list(response.json()) == [key]
        assert response.json()[key]


@pytest.mark.slow
@settings(deadline=None)
@given(st.binary(max_size=100), st.text(max_size=20), CODES, CODES, st.binary(max_size=40))
def test_files(client: TestClient, content: bytes, name: str, source: str, target: str, tail: bytes) -> None:
    usable = name.encode("utf-8", "ignore").decode().replace("\r", "").replace("\n", "")
    for each in (f"{usable}.txt", usable):
        response = client.post(
            "/translate_file", data={"source": source, "target": target}, files={"file": (each, content)}
        )
        assert response.status_code in EXPECTED
        if response.status_code == 200:
            found = client.get(response.json()["translatedFileUrl"])
            assert found.status_code == 200
            assert len(found.content.splitlines()) == len(content.splitlines())
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + content + tail
    raw = client.post("/translate_file", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert raw.status_code in EXPECTED
