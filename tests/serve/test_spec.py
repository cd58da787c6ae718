"""The description of the API names every route, is valid, and tells the truth about what is answered."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from helpers.described_cases import conforms, every_kind, narrowed, tried
from helpers.servers import client_of
from helpers.small_runs import make_run
from schemathesis import openapi
from starlette.routing import Route
from starlette.testclient import TestClient

from nmt.serve.spec import FILE, described

METHODS = {"get", "post", "put", "patch", "delete", "options", "head", "trace"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    runs = tmp_path_factory.mktemp("runs")
    make_run(runs / "first")
    make_run(runs / "back", "none", seed=2, data={"src_lang": "de", "tgt_lang": "en"})
    models = f"models=[{runs / 'first'},{runs / 'back'}]"
    with client_of(models, "characters=300", "texts=4", "n_best=4", "suggestions=true") as client:
        yield client


def description_of(client: TestClient) -> dict[str, Any]:
    answer = client.get("/spec")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def operations_of(description: dict[str, Any]) -> set[tuple[str, str]]:
    return {(path, method) for path, about in description["paths"].items() for method in about if method in METHODS}


def test_every_route_and_method_is_described_and_nothing_else(client: TestClient) -> None:
    served = set()
    for route in client.app.routes:  # type: ignore[attr-defined]
        if isinstance(route, Route) and not route.path.startswith("/page/"):  # the page's files are its own affair
            methods = route.methods or set()
            assert ("HEAD" in methods) == ("GET" in methods)
            served |= {(route.path, method.lower()) for method in methods - {"HEAD"}}
    assert operations_of(description_of(client)) == served


def test_the_file_describes_nothing_that_no_server_has(client: TestClient) -> None:
    whole = described(description_of(client)["paths"])
    assert set(whole["paths"]) == set(description_of(client)["paths"])
    assert FILE.read_text(encoding="utf-8").count("operationId:") == len(operations_of(whole))


def test_a_server_describes_the_paths_that_it_has_and_its_version(client: TestClient, tmp_path: Path) -> None:
    with client_of(f"model={make_run(tmp_path / 'first')}", "page=false") as plain:
        paths = description_of(plain)["paths"]
    assert set(description_of(client)["paths"]) - set(paths) == {"/"}
    assert description_of(client)["info"]["version"] == version("nmt")


def test_the_description_is_valid_openapi(client: TestClient) -> None:
    description = description_of(client)
    assert description["openapi"] == "3.1.0"
    openapi.from_dict(description).validate()
    identifiers = [about[method]["operationId"] for about in description["paths"].values() for method in about]
    assert len(set(identifiers)) == len(identifiers)


def test_every_part_of_the_description_is_used() -> None:
    text = FILE.read_text(encoding="utf-8")
    components = described([])["components"]
    for kind in ("schemas", "responses", "headers"):
        for name in components[kind]:
            assert f'"#/components/{kind}/{name}"' in text, name


def test_errors_under_v2_are_messages_and_all_others_are_errors(client: TestClient) -> None:
    description = description_of(client)
    for path, about in description["paths"].items():
        for operation in about.values():
            for status, answer in operation["responses"].items():
                if int(status) >= 400 and (path, status) != ("/health", "503"):
                    named = answer["$ref"].removeprefix("#/components/responses/")
                    schema = description["components"]["responses"][named]["content"]["application/json"]["schema"]
                    kind = "Message" if path.startswith("/v2/") else "Error"
                    assert schema["$ref"] == f"#/components/schemas/{kind}"


def conform(client: TestClient, cases: int, start: int) -> dict[tuple[str, str], set[int]]:
    """Tries so many cases of every operation, valid and not; which statuses each had."""
    seen: dict[tuple[str, str], set[int]] = {}

    def check(case: Any) -> None:
        response = case.call(app=client.app)
        seen.setdefault((case.operation.label, mode.value), set()).add(response.status_code)
        conforms(case, response)

    for operation, mode in every_kind(narrowed(description_of(client), ["en", "de"])):
        assert tried(operation, mode, cases, start, check) >= 1
    return seen


@pytest.mark.slow
def test_what_is_answered_is_as_described(client: TestClient) -> None:
    seen = conform(client, 4, 1)
    assert len(seen) >= len(operations_of(description_of(client)))


@pytest.mark.slow
def test_what_is_answered_to_many_cases_is_as_described(client: TestClient) -> None:
    seen = conform(client, 40, 2)
    for path in ("/v1/translate", "/v1/continuations", "/translate", "/v2/translate", "/suggest", "/detect"):
        assert 200 in seen[f"POST {path}", "positive"]
        assert 400 in seen[f"POST {path}", "negative"]


@pytest.mark.parametrize("kind", ["json", "form", "stream"])
def test_a_translation_with_everything_is_as_described(client: TestClient, kind: str) -> None:
    found = narrowed(description_of(client), ["en", "de"])
    [operation] = [each for each, mode in every_kind(found) if each.label == "POST /v1/translate"][:1]
    whole = {"text": "Der Hund schläft.", "source": "en", "target": "de", "attention": "pieces", "n_best": 2}
    body = whole | ({"stream": True} if kind == "stream" else {"tree": True})
    media = "application/x-www-form-urlencoded" if kind == "form" else "application/json"
    case = operation.Case(body=body, media_type=media)
    response = case.call(app=client.app)
    assert response.status_code == 200
    conforms(case, response)
    for name in ("word_attention", "source_pieces") if kind == "stream" else ("word_attention", "attention", "tree"):
        assert f'"{name}"' in response.text
