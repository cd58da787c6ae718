"""LibreTranslate's API: what its clients send, and what they expect."""

from pathlib import Path
from typing import Any

import pytest
from helpers.served import WordServer, app_of, backwards, same, upper, word_server
from starlette.testclient import TestClient

ENGLISH, GERMAN = "This is a sentence in English.", "Das ist ein Satz in deutscher Sprache."
MODELS = {("en", "de"): upper, ("de", "en"): backwards, ("en", "zh"): same, ("en", "pt-BR"): same}


@pytest.fixture
def server(tmp_path: Path) -> WordServer:
    return word_server(tmp_path, MODELS, "texts=50", "characters=5000")


@pytest.fixture
def client(server: WordServer) -> TestClient:
    return TestClient(app_of(server), raise_server_exceptions=False)


def post(client: TestClient, path: str = "/translate", **fields: Any) -> Any:
    response = client.post(path, json=fields)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client: TestClient, path: str = "/translate", **fields: Any) -> str:
    response = client.post(path, json=fields)
    assert response.status_code == 400
    assert list(response.json()) == ["error"]
    return str(response.json()["error"])


def test_a_text(client: TestClient) -> None:
    assert post(client, q="A dog.", source="en", target="de") == {"translatedText": "A DOG."}


def test_a_list_of_texts_comes_back_as_a_list(client: TestClient) -> None:
    assert post(client, q=["a", "", "b c"], source="en", target="de") == {"translatedText": ["A", "", "B C"]}
    assert post(client, q=["a"], source="en", target="de") == {"translatedText": ["A"]}


@pytest.mark.parametrize("how", ["json", "form", "query", "multipart form"])
def test_json_forms_and_queries_say_the_same(client: TestClient, how: str) -> None:
    fields = {"q": "a dog", "source": "en", "target": "de", "alternatives": "1", "format": "text", "api_key": ""}
    parts = {name: (None, value) for name, value in fields.items()}
    sent = {"json": {"json": fields}, "form": {"data": fields}, "query": {"params": fields}}
    response = client.post("/translate", **sent.get(how, {"files": parts}))  # type: ignore[arg-type]
    assert response.json() == {"translatedText": "A DOG", "alternatives": ["A DOG2"]}


def test_a_field_of_a_form_that_comes_twice_is_a_list(client: TestClient) -> None:
    response = client.post("/translate", data={"q": ["a", "b"], "source": "en", "target": "de"})
    assert response.json() == {"translatedText": ["A", "B"]}


def test_a_multipart_form_may_have_lists_and_long_texts_but_no_files(client: TestClient) -> None:
    parts = [
        ("q", (None, "a dog. " * 600 + "End.")),
        ("q", (None, "b")),
        ("source", (None, "en")),
        ("target", (None, "de")),
    ]
    assert client.post("/translate", files=parts).json() == {"translatedText": ["A DOG. " * 600 + "END.", "B"]}
    response = client.post("/translate", files=[*parts, ("file", ("a.txt", b"a"))])
    assert response.status_code == 400
    assert "Too many files" in response.json()["error"]


def test_lines_and_white_space_stay(client: TestClient) -> None:
    assert post(client, q=" a b\n\n  c\n", source="en", target="de")["translatedText"] == " A B\n\n  C\n"


def test_html(client: TestClient, server: WordServer) -> None:
    found = post(client, q="<p>Das <b>ist</b> gut</p>", source="de", target="en", format="html", alternatives=2)
    assert found == {"translatedText": "<p>GUT <b>IST</b> DAS</p>", "alternatives": []}
    assert server.seen[0][3].attention == "words"


def test_markup_in_plain_text_is_text(client: TestClient) -> None:
    assert post(client, q="a <b>c</b> &amp;", source="en", target="de")["translatedText"] == "A <B>C</B> &AMP;"


def test_a_document_of_html_may_have_more_passages_than_a_request_has_texts(client: TestClient) -> None:
    document = "<p>word</p>" * 200
    found = post(client, q=document, source="en", target="de", format="html")
    assert found["translatedText"] == document.replace("word", "WORD")


def test_detection(client: TestClient) -> None:
    found = post(client, q=GERMAN, source="auto", target="en")
    assert found["detectedLanguage"]["language"] == "de"
    assert 50 < found["detectedLanguage"]["confidence"] <= 100
    assert found["translatedText"].startswith("SPRACHE.")


def test_texts_of_a_list_are_detected_together(client: TestClient) -> None:
    found = post(client, q=[GERMAN, "Hm"], source="auto", target="en")
    assert [each["language"] for each in found["detectedLanguage"]] == ["de", "de"]
    assert found["translatedText"][1] == "HM"


def test_a_text_in_the_target_language_stays_as_it_is(client: TestClient, server: WordServer) -> None:
    found = post(client, q=GERMAN, source="auto", target="de", alternatives=1)
    assert (found["translatedText"], found["alternatives"]) == (GERMAN, [])
    assert post(client, q="x y", source="de", target="de") == {"translatedText": "x y"}
    assert server.seen == []


def test_a_text_without_letters_has_any_language(client: TestClient) -> None:
    found = post(client, q="12", source="auto", target="de")
    assert found == {"translatedText": "12", "detectedLanguage": {"confidence": 0.0, "language": "en"}}


def test_alternatives_are_other_translations_of_the_whole_text(client: TestClient) -> None:
    found = post(client, q="A b. C d.", source="en", target="de", alternatives=2)
    assert found["alternatives"] == ["A B.2 C D.2", "A B.3 C D.3"]
    assert post(client, q=["a", ""], source="en", target="de", alternatives=1)["alternatives"] == [["A2"], []]


@pytest.mark.parametrize(
    ("source", "target", "direction"),
    [
        ("EN", "De", ("en", "de")),
        ("en-US", "de-AT", ("en", "de")),
        ("en_GB", "de_DE", ("en", "de")),
        ("en", "zh-Hans", ("en", "zh")),
        ("en", "zh_CN", ("en", "zh")),
        ("en", "pb", ("en", "pt-BR")),
        ("en", "pt", ("en", "pt-BR")),
        ("en", "PT-br", ("en", "pt-BR")),
    ],
)
def test_codes_that_other_programs_use(
    client: TestClient, server: WordServer, source: str, target: str, direction: tuple[str, str]
) -> None:
    post(client, q="a", source=source, target=target)
    assert server.seen[0][:2] == direction


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "", "source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": [], "source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "de"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": 5, "source": "en", "target": "de"}, "Invalid request: q parameter is neither a text nor a list"),
        ({"q": ["a", None], "source": "en", "target": "de"}, "Invalid request: q parameter is neither a text nor"),
        ({"q": "a", "source": ["en"], "target": "de"}, "Invalid request: source parameter is not a text"),
        ({"q": "a", "source": "zz", "target": "de"}, "zz is not supported; this server translates en to de, "),
        ({"q": "a", "source": "en", "target": "zz"}, "zz is not supported as a target; this server translates en to"),
        ({"q": "a", "source": "en", "target": "zh-TW"}, "zh-TW is not supported as a target"),
        ({"q": "a", "source": "de", "target": "zh"}, "de to zh is not supported; this server translates en to de, de"),
        ({"q": GERMAN, "source": "auto", "target": "zh"}, "de (detected) to zh is not supported"),
        ({"q": "a", "source": "en", "target": "de", "format": "xml"}, "xml format is not supported; choose text or"),
        ({"q": "a", "source": "en", "target": "de", "alternatives": "x"}, "alternatives parameter is not a number"),
        ({"q": "a", "source": "en", "target": "de", "alternatives": 10}, "alternatives parameter must be <= 9"),
        ({"q": ["a"] * 51, "source": "en", "target": "de"}, "51 texts are more than the 50 of one request"),
        ({"q": "a" * 5001, "source": "en", "target": "de"}, "5,001 characters are more than the 5,000 of one request"),
    ],
)
def test_what_is_refused(client: TestClient, fields: dict[str, Any], error: str) -> None:
    assert error in refused(client, **fields)


def test_alternatives_below_none_are_none(client: TestClient) -> None:
    assert post(client, q="a", source="en", target="de", alternatives=-3) == {"translatedText": "A"}


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"a"', b"\xff{}"])
def test_a_body_that_is_no_object_is_refused(client: TestClient, body: bytes) -> None:
    response = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert "body" in response.json()["error"]


def test_languages_name_every_language_and_its_targets(client: TestClient) -> None:
    found = client.get("/languages").json()
    assert {each["code"]: each["targets"] for each in found} == {
        "en": ["de", "pt-BR", "zh"],
        "de": ["en"],
        "zh": [],  # Weblate looks for the target here, too
        "pt-BR": [],
    }
    assert {each["name"] for each in found} == {"English", "German", "Chinese", "Portuguese (BR)"}


def test_detect(client: TestClient) -> None:
    found = post(client, "/detect", q=GERMAN)
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > 50
    assert all(set(each) == {"confidence", "language"} for each in found)
    assert client.post("/detect", data={"q": ENGLISH}).json()[0]["language"] == "en"
    assert post(client, "/detect", q="12") == [{"confidence": 0.0, "language": "en"}]
    assert "missing q parameter" in refused(client, "/detect")
    assert "characters are more than" in refused(client, "/detect", q="a" * 5001)


def test_frontend_settings(client: TestClient) -> None:
    assert client.get("/frontend/settings").json() == {
        "apiKeys": False,
        "charLimit": 5000,
        "filesTranslation": True,
        "frontendTimeout": 500,
        "keyRequired": False,
        "language": {"source": {"code": "en", "name": "English"}, "target": {"code": "de", "name": "German"}},
        "suggestions": False,
        "supportedFilesFormat": [".txt"],
    }


@pytest.mark.slow
def test_a_missing_key_and_a_busy_client_are_refused_as_theirs(tmp_path: Path) -> None:
    server = word_server(tmp_path, MODELS, "require_key=true", "keys=none.json")
    closed = TestClient(app_of(server), raise_server_exceptions=False)
    for path, fields in [("/translate", {"source": "en", "target": "de"}), ("/detect", {})]:
        response = closed.post(path, json={"q": "a", **fields})
        assert (response.status_code, list(response.json())) == (403, ["error"])
    assert server.seen == []
    limited = TestClient(app_of(word_server(tmp_path, MODELS, "requests_per_minute=1")))
    answers = [limited.post("/translate", json={"q": "a", "source": "en", "target": "de"}) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 429]
    assert "try again in" in answers[1].json()["error"]
    assert int(answers[1].headers["retry-after"]) > 0


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest", "/translate_file"])
def test_what_is_sent_is_not_got(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, list(response.json())) == (405, ["error"])
