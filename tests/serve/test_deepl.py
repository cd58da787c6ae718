"""DeepL's API: what its clients send, and what they expect."""

from pathlib import Path
from typing import Any

import pytest
from helpers.served import WordServer, app_of, backwards, same, upper, word_server
from starlette.testclient import TestClient

from nmt.serve.keys import Key

GERMAN = "Das ist ein Satz in deutscher Sprache."
MODELS = {("en", "de"): upper, ("de", "en"): backwards, ("en", "pt"): same}


@pytest.fixture
def server(tmp_path: Path) -> WordServer:
    return word_server(tmp_path, MODELS)


@pytest.fixture
def client(server: WordServer) -> TestClient:
    return TestClient(app_of(server), raise_server_exceptions=False)


def texts(client: TestClient, **fields: Any) -> list[str]:
    response = client.post("/v2/translate", json={"source_lang": "EN", "target_lang": "DE", **fields})
    assert response.status_code == 200, response.text
    return [each["text"] for each in response.json()["translations"]]


def refused(client: TestClient, **fields: Any) -> str:
    sent = {"text": ["a"], "target_lang": "DE", **fields}
    response = client.post("/v2/translate", json={key: value for key, value in sent.items() if value is not None})
    assert response.status_code == 400
    assert list(response.json()) == ["message"]
    return str(response.json()["message"])


def test_texts(client: TestClient) -> None:
    response = client.post("/v2/translate", json={"text": ["a b", "", "c"], "source_lang": "en", "target_lang": "de"})
    assert response.json() == {
        "translations": [
            {"detected_source_language": "EN", "text": "A B"},
            {"detected_source_language": "EN", "text": ""},
            {"detected_source_language": "EN", "text": "C"},
        ]
    }


@pytest.mark.parametrize("text", ["a b", ["a b"]])
def test_forms_and_queries(client: TestClient, text: Any) -> None:
    fields = {"text": text, "target_lang": "DE", "source_lang": "EN"}
    expected = {"translations": [{"detected_source_language": "EN", "text": "A B"}]}
    assert client.post("/v2/translate", data=fields).json() == expected
    assert client.post("/v2/translate", params=fields).json() == expected
    assert client.post("/v2/translate", json=fields).json() == expected
    several = client.post("/v2/translate", data={**fields, "text": ["a", "b"]})
    assert [each["text"] for each in several.json()["translations"]] == ["A", "B"]


def test_each_text_has_a_source_language_of_its_own(client: TestClient) -> None:
    body = {"text": [GERMAN, "This is an English sentence."], "target_lang": "EN-US"}
    assert client.post("/v2/translate", json=body).json() == {
        "translations": [
            {"detected_source_language": "DE", "text": "SPRACHE. DEUTSCHER IN SATZ EIN IST DAS"},
            {"detected_source_language": "EN", "text": "This is an English sentence."},
        ]
    }


def test_billed_characters_where_they_are_asked_for(client: TestClient) -> None:
    body = {"text": ["a b"], "source_lang": "EN", "target_lang": "DE", "show_billed_characters": True}
    assert client.post("/v2/translate", json=body).json()["translations"][0]["billed_characters"] == 3


def test_splitting(client: TestClient, server: WordServer) -> None:
    german = {"source_lang": "DE", "target_lang": "EN-GB"}
    assert texts(client, text=["a b. c d.\ne"], **german) == ["B. A D. C\nE"]
    assert texts(client, text=["a b. c d.\ne"], split_sentences="1", **german) == ["B. A D. C\nE"]
    assert texts(client, text=["a b. c\nd."], split_sentences="nonewlines", **german) == ["B. A D. C"]
    assert texts(client, text=["a b. c"], split_sentences=0, **german) == ["C B. A"]
    assert server.seen[-1][3].split is False


def test_html(client: TestClient) -> None:
    german = {"source_lang": "DE", "target_lang": "EN-GB", "tag_handling": "html"}
    assert texts(client, text=["<p>a\n <b>c</b> d</p>"], **german) == ["<p>D <b>C</b> A</p>"]
    assert texts(client, text=["<p>a b\n c</p>"], split_sentences="1", **german) == ["<p>B A\n C</p>"]
    assert texts(client, text=["<p>a b</p><q>c d</q>"], splitting_tags=["q"], **german) == ["<p>B A</p><q>D C</q>"]
    assert texts(client, text=["a <i>b</i>"], ignore_tags="i", **german) == ["A <i>b</i>"]


def test_xml(client: TestClient) -> None:
    german = {"source_lang": "DE", "target_lang": "EN-GB", "tag_handling": "xml"}
    assert texts(client, text=["<d><t>a b</t><p>c <i>d</i></p></d>"], **german) == [
        "<d><t>B A</t><p><i>D</i> C</p></d>"
    ]
    assert texts(client, text=["<d><t>a b</t></d>"], outline_detection=False, **german) == ["<d><t>B A</t></d>"]
    assert texts(client, text=["<d><t>a</t> <t>b</t></d>"], outline_detection="0", **german) == [
        "<d><t>B</t> <t>A</t></d>"
    ]
    assert texts(client, text=["<d><t>a</t> <t>b</t></d>"], non_splitting_tags="d,t", **german) == [
        "<d><t>B</t> <t>A</t></d>"
    ]


def test_what_weblate_puts_in_the_place_of_placeholders_comes_back(client: TestClient) -> None:
    weblate = {"formality": "default", "tag_handling": "xml", "ignore_tags": ["x"]}
    source = 'Delete <x id="7"></x> files in &lt;b&gt; <x id="30"></x>?'
    assert texts(client, text=[source], **weblate) == ['DELETE <x id="7"></x> FILES IN &lt;B&gt; <x id="30"></x>?']


def test_options_that_change_nothing_are_taken(client: TestClient) -> None:
    harmless = {
        "formality": "prefer_more",
        "model_type": "prefer_quality_optimized",
        "tag_handling_version": "v2",
        "preserve_formatting": True,
        "outline_detection": False,
        "splitting_tags": ["a"],
        "glossary_id": None,
        "context": "",
        "glossary_ids": [],
        "enable_beta_languages": "1",
        "auth_key": "x",
    }
    assert texts(client, text=["a"], **harmless) == ["A"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": None}, "Parameter 'text' not specified"),
        ({"text": []}, "Parameter 'text' not specified"),
        ({"text": [1]}, "Value for 'text' not supported: it is a list of texts"),
        ({"text": ["a"] * 51}, "Too many texts: a request may have 50, and this one has 51"),
        ({"target_lang": None}, "Parameter 'target_lang' not specified"),
        ({"target_lang": "FR"}, "FR is not supported as a target; this server translates en to de"),
        ({"source_lang": "FR"}, "FR is not supported; this server translates en to de"),
        ({"source_lang": 5}, "Value for 'source_lang' not supported: it is the code of a language"),
        ({"source_lang": "PT"}, "pt to de is not supported"),
        ({"tag_handling": "markdown"}, "Value for 'tag_handling' not supported: it is html or xml"),
        ({"split_sentences": "2"}, "Value for 'split_sentences' not supported: it is 0, 1 or nonewlines"),
        ({"preserve_formatting": "x"}, "Value for 'preserve_formatting' not supported: it is 0 or 1"),
        ({"outline_detection": 2}, "Value for 'outline_detection' not supported: it is 0 or 1"),
        ({"ignore_tags": [1]}, "Value for 'ignore_tags' not supported: it is a list of names of elements"),
        ({"formality": "more"}, "Value for 'formality' not supported: this server takes default, prefer_more, prefer"),
        ({"model_type": "quality_optimized"}, "Value for 'model_type' not supported: this server takes latency_opti"),
        ({"tag_handling_version": "v9"}, "Value for 'tag_handling_version' not supported: this server takes v1, v2"),
        ({"glossary_id": "x"}, "Parameter 'glossary_id' is not supported by this server; leave it out"),
        ({"glossary_ids": ["x"]}, "Parameter 'glossary_ids' is not supported"),
        ({"style_id": "x"}, "Parameter 'style_id' is not supported"),
        ({"context": "x"}, "Parameter 'context' is not supported"),
        ({"custom_instructions": ["x"]}, "Parameter 'custom_instructions' is not supported"),
        ({"translation_memory_id": "x"}, "Parameter 'translation_memory_id' is not supported"),
        ({"translation_memory_threshold": 5}, "Parameter 'translation_memory_threshold' is not supported"),
        ({"targetlang": "x"}, "Parameter 'targetlang' is not known to this server"),
        ({"text": ["a" * 20_001]}, "20,001 characters are more than the 20,000 of one request; send less"),
    ],
)
def test_what_is_refused(client: TestClient, fields: dict[str, Any], message: str) -> None:
    assert message in refused(client, **fields)


def test_errors_of_the_server_are_in_deepls_words(client: TestClient) -> None:
    for response in (
        client.post("/v2/translate", content=b"{", headers={"Content-Type": "application/json"}),
        client.get("/v2/translate"),
        client.get("/v2/glossaries"),
        client.get("/v2/languages?type=x"),
    ):
        assert response.status_code in (400, 404, 405)
        assert list(response.json()) == ["message"]


def test_languages(client: TestClient) -> None:
    english, german = {"language": "EN", "name": "English"}, {"language": "DE", "name": "German"}
    assert client.get("/v2/languages").json() == [german, english]
    assert client.get("/v2/languages?type=source").json() == [german, english]
    targets = client.get("/v2/languages?type=target").json()
    assert [each["language"] for each in targets] == ["DE", "EN-GB", "EN-US", "PT-BR", "PT-PT"]
    assert targets[0] == {"language": "DE", "name": "German", "supports_formality": False}
    assert targets[1]["name"] == "English (GB)"
    sent_as_form = client.request("GET", "/v2/languages", data={"type": "target"})  # as the official client does
    assert sent_as_form.json() == targets


def test_no_glossaries(client: TestClient) -> None:
    assert client.get("/v2/glossary-language-pairs").json() == {"supported_languages": []}


def test_usage_counts_the_characters_of_each_key(tmp_path: Path) -> None:
    class Keys:
        def of(self, secret: str) -> Key | None:
            return Key(secret, None, None) if secret in ("anna", "otto") else None

    client = TestClient(app_of(word_server(tmp_path, MODELS, keys=Keys())))  # type: ignore[arg-type]

    def usage(key: str | None) -> Any:
        return client.get("/v2/usage", headers={} if key is None else {"Authorization": f"DeepL-Auth-Key {key}"})

    for key, text in (("anna", "abc"), ("otto", "abcdef"), ("anna", "ab")):
        body = {"text": [text], "source_lang": "EN", "target_lang": "DE"}
        client.post("/v2/translate", json=body, headers={"Authorization": f"DeepL-Auth-Key {key}"})
    assert usage("anna").json() == {"character_count": 5, "character_limit": 1_000_000_000_000}
    assert usage("otto").json()["character_count"] == 6
    assert usage(None).json()["character_count"] == 0
    assert (usage("wrong").status_code, list(usage("wrong").json())) == (403, ["message"])
