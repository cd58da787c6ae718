"""Our own API over small random models: it answers what `nmt translate` writes, and every mistake has a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.servers import client_of, server_of
from helpers.small_runs import make_run, sentences
from starlette.testclient import TestClient

from nmt.config.verbs import ServeCommand
from nmt.data.sentences import sentence_spans
from nmt.model.seq2seq import Seq2Seq
from nmt.serve import answers
from nmt.serve.refusal import Refusal
from nmt.serve.search_wish import Search
from nmt.serve.server import Server
from nmt.translation.translator import Translator

TEXT = "Der Hund schläft. Ein Mann sieht das grüne Haus!\n\n12 , 12"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first")
    make_run(folder / "plain", "none", seed=1)
    make_run(folder / "back", "multi_head", seed=2, data={"src_lang": "de", "tgt_lang": "en"})
    return folder


@pytest.fixture(scope="module")
def client(runs: Path) -> Iterator[TestClient]:
    names = ",".join(f"{runs}/{name}" for name in ("first", "plain", "back"))
    with client_of(f"models=[{names}]", "characters=3000", "texts=4", "n_best=6", "cache_mb=1") as client:
        yield client


@pytest.fixture(scope="module")
def translator(runs: Path) -> Translator:
    return Translator.load(runs / "first", device="cpu", precision="fp32")


def asked(client: TestClient, **body: Any) -> dict[str, Any]:
    found = client.post("/v1/translate", json={"source": "en", "target": "de"} | body)
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()
    return answer


def test_models_are_listed_in_order_with_what_a_request_may_hold(client: TestClient) -> None:
    found = client.get("/v1/models").json()
    assert [(each["name"], each["source"], each["target"]) for each in found["models"]] == [
        ("first", "en", "de"),
        ("plain", "en", "de"),
        ("back", "de", "en"),
    ]
    assert [each["attention"] for each in found["models"]] == [True, False, True]
    assert found["models"][0]["source_name"] == "English"
    assert found["models"][0]["parameters"] > 1000
    assert found["limits"] == {"characters": 3000, "texts": 4, "n_best": 6}
    assert (found["suggestions"], found["keys_required"]) == (False, False)


def test_each_sentence_is_translated_as_the_translator_does(client: TestClient, translator: Translator) -> None:
    answer = asked(client, text=TEXT, n_best=3)
    [text] = answer["texts"]
    spans = sentence_spans(TEXT)
    parts = [TEXT[span.start : span.end] for span in spans]
    assert [each["source"] for each in text["sentences"]] == [
        {"text": part, "start": span.start, "end": span.end} for part, span in zip(parts, spans, strict=True)
    ]
    settings = Search(n_best=3).settings(translator.settings)
    for part, found in zip(parts, text["sentences"], strict=True):
        [expected] = translator.translate([part], settings=settings)
        assert [each["text"] for each in found["n_best"]] == [each.text for each in expected.n_best]
        assert [each["score"] for each in found["n_best"]] == pytest.approx(
            [each.score for each in expected.n_best], abs=1e-3
        )
        target = found["target"]
        assert text["text"][target["start"] : target["end"]] == target["text"] == expected.text
    assert "\n\n" in text["text"]
    assert (answer["model"], answer["detected"]) == ("first", None)
    assert answer["checksum"] == translator.checksum
    assert answer["settings"] == {
        "beam": settings.beam, "n_best": 3, "length_penalty": settings.length_penalty, "alpha": settings.alpha,
        "coverage_penalty": settings.coverage_penalty, "max_length_a": settings.max_length_a,
        "max_length_b": settings.max_length_b, "no_repeat_ngram": settings.no_repeat_ngram,
        "precision": translator.precision, "shortlist": False,
    }  # fmt: skip


def test_several_texts_are_answered_in_order_and_empty_ones_stay_empty(client: TestClient) -> None:
    texts = ["Der Hund.", "", " \n ", "Ein Mann."]
    answer = asked(client, text=texts)
    assert [each["text"] for each in answer["texts"]][1:3] == ["", " \n "]
    assert [len(each["sentences"]) for each in answer["texts"]] == [1, 0, 0, 1]
    assert answer["texts"][3] == asked(client, text=texts[3])["texts"][0]


@pytest.mark.parametrize("target", ["de", "en"])
def test_attention_between_words_adds_up_and_words_are_where_they_say(client: TestClient, target: str) -> None:
    text = "Heute sieht DER Mann ein grünes Haus."
    source = {"de": "en", "en": "de"}[target]
    answer = asked(client, text=text, source=source, target=target, attention="words")["texts"][0]
    [sentence] = answer["sentences"]
    weights = sentence["word_attention"]
    assert len(weights) == len(sentence["target_words"])
    assert all(len(row) == len(sentence["source_words"]) for row in weights)
    assert all(sum(row) == pytest.approx(1, abs=1e-2) or sum(row) == 0 for row in weights)
    for word in sentence["source_words"]:
        assert text[word["start"] : word["end"]] == word["text"]
    for word in sentence["target_words"]:
        if word["start"] is not None:
            assert sentence["target"]["start"] <= word["start"] < word["end"] <= sentence["target"]["end"]
    for source_word, target_word in sentence["links"]:
        assert weights[target_word][source_word] == max(weights[target_word])
    assert "attention" not in sentence


def test_attention_between_pieces_is_that_of_every_layer_and_head(client: TestClient, runs: Path) -> None:
    [sentence] = asked(client, text="der Hund", source="de", target="en", attention="pieces")["texts"][0]["sentences"]
    translator = Translator.load(runs / "back", device="cpu", precision="fp32")
    expected = translator.translate(["der Hund"], attention=True)[0]
    assert (sentence["source_pieces"], sentence["target_pieces"]) == (expected.src_pieces, expected.tgt_pieces)
    assert expected.attention is not None
    np.testing.assert_allclose(np.array(sentence["attention"]), expected.attention, atol=1e-3)


def test_a_model_without_attention_shows_none(client: TestClient) -> None:
    answer = asked(client, text="der Hund", model="plain", attention="words")
    assert answer["model"] == "plain"
    assert "word_attention" not in answer["texts"][0]["sentences"][0]


def test_a_stream_has_the_same_sentences_one_by_one(client: TestClient) -> None:
    whole = asked(client, text=[TEXT, "Ein Hund."], attention="words")
    streamed = client.post(
        "/v1/translate",
        json={"source": "en", "target": "de", "text": [TEXT, "Ein Hund."], "attention": "words", "stream": True},
    )
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = [event.split("\n") for event in streamed.text.strip().split("\n\n")]
    kinds = [event[0].removeprefix("event: ") for event in events]
    assert kinds == ["sentence"] * (len(events) - 1) + ["done"]
    data = [json.loads(event[1].removeprefix("data: ")) for event in events]
    found: list[list[Any]] = [[], []]
    for each in data[:-1]:
        number, place = each.pop("text"), each.pop("sentence")
        assert place == len(found[number])
        found[number].append(each)
    assert found == [each["sentences"] for each in whole["texts"]]
    assert [each["text"] for each in data[-1]["texts"]] == [each["text"] for each in whole["texts"]]
    assert data[-1]["checksum"] == whole["checksum"]


def test_what_a_stream_cannot_begin_has_its_own_status(client: TestClient) -> None:
    found = client.post("/v1/translate", json={"text": "a" * 4000, "source": "en", "target": "de", "stream": True})
    assert found.status_code == 400
    assert "4,000 characters are more than the 3,000" in found.json()["error"]
    empty = client.post("/v1/translate", json={"text": "", "source": "en", "target": "de", "stream": True})
    assert empty.text.startswith("event: done\n")


@pytest.mark.parametrize("prefix", ["der ", "12", "Haus sieht "])
def test_a_prefix_begins_the_translation(client: TestClient, translator: Translator, prefix: str) -> None:
    found = asked(client, text="Ein Hund.", prefix=prefix)["texts"][0]["text"]
    assert found.startswith(prefix.strip())
    assert found == translator.translate(["Ein Hund."], prefixes=[prefix])[0].text


def test_the_tree_holds_every_hypothesis_and_the_way_to_the_best(client: TestClient) -> None:
    [sentence] = asked(client, text="der Hund sieht", beam=4, n_best=2, tree=True)["texts"][0]["sentences"]
    nodes = sentence["tree"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    for node in nodes[1:]:
        parent = nodes[node["parent"]]
        assert node["step"] == parent["step"] + 1
        assert node["log_prob"] <= parent["log_prob"] + 1e-3
        assert not parent["end"]
    best = [node for node in nodes if node["best"]]
    assert [node["step"] for node in best] == list(range(len(best)))
    assert best[-1]["end"]
    assert best[-1]["log_prob"] == pytest.approx(sentence["log_prob"], abs=1e-3)
    steps = {node["step"] for node in nodes}
    assert all(sum(node["step"] == step and not node["end"] for node in nodes) <= 4 for step in steps)


def test_continuations_of_a_prefix(client: TestClient) -> None:
    body = {"text": "Ein Hund schläft.", "source": "en", "target": "de", "prefix": "der ", "count": 3}
    found = client.post("/v1/continuations", json=body).json()
    assert found["prefix"] == "der "
    assert 0 < len(found["continuations"]) <= 3
    for each in found["continuations"]:
        assert each["translation"].startswith("der")
        assert 0 < each["probability"] <= 1


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_continuations_of_nothing_are_refused(client: TestClient, text: str) -> None:
    found = client.post("/v1/continuations", json={"text": text, "source": "en", "target": "de"})
    assert found.status_code == 400
    assert found.json()["error"].startswith("continuations are for one sentence; give one that is not empty")


def test_continuations_of_two_sentences_are_refused(client: TestClient) -> None:
    found = client.post("/v1/continuations", json={"text": "Ein Hund. Ein Haus.", "source": "en", "target": "de"})
    assert found.status_code == 400
    message = "continuations are for one sentence, and 'Ein Hund. Ein Haus.' is cut into 2; give one sentence at a time"
    assert found.json()["error"] == message


def test_the_source_language_is_found_out(client: TestClient) -> None:
    found = asked(client, text="The dog sleeps in the garden of the house.", source="auto", target="de")
    assert (found["source"], found["detected"]["language"]) == ("en", "en")
    other = asked(client, text="Der Hund schläft im Garten des Hauses.", source="auto", target="EN-US")
    assert (other["source"], other["target"]) == ("de", "en")
    assert 0.5 < other["detected"]["confidence"] <= 1
    short = asked(client, text="Wind", source="auto", target="de")  # German as well, and nothing else is served into it
    assert short["source"] == "en"


def test_the_only_target_need_not_be_named(runs: Path) -> None:
    with client_of(f"models=[{runs}/first,{runs}/plain]") as client:
        assert client.post("/v1/translate", json={"text": "The dog sleeps."}).json()["target"] == "de"


def test_texts_that_the_model_cannot_read_have_a_caution(client: TestClient) -> None:
    [sentence] = asked(client, text="Ακόμα και τώρα")["texts"][0]["sentences"]
    assert "which the model hardly knows" in sentence["caution"] or "does not know" in sentence["caution"]
    assert asked(client, text="der Hund")["texts"][0]["sentences"][0]["caution"] is None


def test_forms_and_queries_are_read_too(client: TestClient) -> None:
    as_json = asked(client, text="der Hund")["texts"]
    words = {"text": "der Hund", "source": "en", "target": "de"}
    assert client.post("/v1/translate", data=words).json()["texts"] == as_json
    assert client.post("/v1/translate", params=words).json()["texts"] == as_json


def test_what_was_translated_before_is_not_searched_again(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    server = server_of(client)
    text = sentences(1, seed=77)[0]
    first = asked(client, text=text)["texts"]
    queued: list[Any] = []
    monkeypatch.setattr(server.engine.jobs, "put", queued.extend)
    assert asked(client, text=text)["texts"] == first
    assert not queued


MISTAKES: list[tuple[dict[str, Any], int, str]] = [
    ({}, 400, "text is missing; give a text or a list of texts"),
    ({"text": 3}, 400, "text is not a text"),
    ({"text": []}, 400, "text is not a text"),
    ({"text": ["a"] * 5}, 400, "5 texts are more than the 4 of one request; send fewer"),
    ({"text": "a", "source": "xx"}, 400, "xx is not supported; this server translates en to de, de to en"),
    ({"text": "a", "target": "fr"}, 400, "fr is not supported as a target; this server translates en to de, de to en"),
    ({"text": "a", "source": "de"}, 400, "source and target are both German; choose another target"),
    ({"text": "a", "prefix": "b" * 3000}, 400, "3,001 characters are more than the 3,000 of one request"),
    ({"text": "a", "target": None}, 400, "target is missing; give a text"),
    ({"text": "a", "model": "firts"}, 400, "no model firts translates en to de; did you mean 'first'?"),
    ({"text": "a", "model": 3}, 400, "model must be the name of one"),
    ({"text": "a", "n_best": 7}, 400, "n_best must be a whole number from 1 to 6"),
    ({"text": "a", "n_best": "x"}, 400, "n_best must be a whole number"),
    ({"text": "a", "n_best": "--2"}, 400, "n_best must be a whole number"),
    ({"text": "a", "n_best": "2" * 5000}, 400, "n_best must be a whole number"),
    ({"text": "a", "beam": 0}, 400, "beam must be a whole number from 1 to 100"),
    ({"text": "a", "attention": "all"}, 400, "attention must be false, words or pieces"),
    ({"text": "a", "stream": "perhaps"}, 400, "stream must be true or false"),
    ({"text": "a", "prefix": 3}, 400, "prefix is not a text; give one"),
    ({"text": ["a", "b"], "prefix": "x"}, 400, "prefix is for one text; send one"),
    ({"text": "Ein Hund. Ein Haus.", "prefix": "x"}, 400, "prefix is for one sentence, and there are 2; send one"),
    ({"text": "Ein Hund. Ein Haus.", "tree": True}, 400, "tree is for one sentence, and there are 2; send one"),
    ({"text": "", "tree": True}, 400, "tree is for one sentence, and there are 0"),
]


@pytest.mark.parametrize(("body", "status", "message"), MISTAKES)
def test_mistakes(client: TestClient, body: dict[str, Any], status: int, message: str) -> None:
    found = client.post("/v1/translate", json={"source": "en", "target": "de"} | body)
    assert (found.status_code, message in found.json()["error"]) == (status, True), found.text


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"{", "application/json", "the body is not valid JSON"),
        (b"[1]", "application/json", "the body is not a JSON object"),
        (b'{"text": "\xff"}', "application/json", "the body is not valid UTF-8"),
        (b'{"text": "\\ud800"}', "application/json", "half of a surrogate pair"),
        (b"<a/>", "application/xml", "a body of type application/xml cannot be read; send application/json"),
        (b"text=%ff", "application/x-www-form-urlencoded", "the text is not valid UTF-8"),
        (b"[" * 100_000, "application/json", "the body is not valid JSON"),
    ],
)
def test_bodies_that_cannot_be_read(client: TestClient, content: bytes, kind: str, message: str) -> None:
    found = client.post("/v1/translate", content=content, headers={"content-type": kind})
    assert (found.status_code, message in found.json()["error"]) == (400, True), found.text


def test_paths_and_methods_that_are_not_there(client: TestClient) -> None:
    assert client.get("/nowhere").json() == {"error": "there is no /nowhere here; see /spec"}
    assert client.get("/v1/translate").json() == {"error": "/v1/translate does not take GET; see /spec"}
    assert client.get("/v2/nowhere").json() == {"message": "there is no /v2/nowhere here; see /spec"}


@pytest.mark.slow
def test_settings_that_do_not_go_together() -> None:
    from nmt.config.compose import command_of
    from nmt.errors import ConfigError

    for words, message in (
        ([], "model and models are both missing"),
        (["model=a", "models=[b]"], "model and models are both given"),
        (["models=[]"], "models is an empty list"),
        (["model=a", "require_key=true"], "require_key=true needs the keys; add keys=auto"),
        (
            ["model=a", "trust_proxy=[10.0.0.0/8]"],
            "trust_proxy=10.0.0.0/8 is not an IP address; give one such as 127.0.0.1",
        ),
        (
            ["model=a", "trust_proxy=['::FFFF']"],
            "trust_proxy=::FFFF is not in the usual form; write it as ::ffff",
        ),
        (["model=a", "origins=['*']"], "would let every site call"),
        (["model=a", "metrics=false", "metrics_token=x"], "metrics_token is given, and metrics=false"),
        (["model=a", "port=70000"], "port is 70000; it must be at most 65,535"),
    ):
        with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
            command_of("serve", words)
    command: ServeCommand = command_of("serve", ["model=a"])
    assert command.folders == ["a"]
    assert command.host == "127.0.0.1"


def test_a_stream_needs_http_1_1(client: TestClient) -> None:
    """In 1.0, nothing says where a stream ends."""
    app = client.app

    async def old(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "http_version": "1.0"}, receive, send)

    found = TestClient(old).post("/v1/translate", json={"text": "Hund", "source": "en", "target": "de", "stream": True})
    error = "a stream needs HTTP/1.1; send the request in it, or without stream"
    assert (found.status_code, found.json()["error"]) == (400, error)


@pytest.mark.parametrize("more", [{}, {"tree": True}, {"stream": True}])
def test_a_prefix_without_room_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    translator = server_of(client).catalogue.served[0].translator
    prefix = "ein Haus sieht der Mann"
    pieces, letters = len(translator.pieces_of_target(prefix)), len(translator.spelled(prefix))
    monkeypatch.setattr(Seq2Seq, "max_length", pieces + 1)
    body = {"text": "der Hund", "source": "en", "target": "de", "prefix": prefix, **more}
    found = client.post("/v1/translate", json=body)
    told = f"the prefix has up to {letters} pieces, and this model writes {pieces + 1} at most; shorten it"
    assert (found.status_code, found.json()["error"]) == (400, told)


@pytest.mark.parametrize("path", ["translate", "continuations"])
@pytest.mark.parametrize("more", [{}, {"tree": True}])
def test_a_damaged_model_is_no_mistake_of_the_request(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str, more: dict[str, Any]
) -> None:
    translator = server_of(client).catalogue.served[0].translator
    monkeypatch.setattr(translator, "search", lambda batch, *_: [[] for _ in batch.src])
    found = client.post(f"/v1/{path}", json={"text": "Heute schläft er.", "source": "en", "target": "de", **more})
    assert (found.status_code, found.json()["error"]) == (500, "the model is damaged; the server's log says more")


def test_continuations_of_a_text_that_counts_as_one_sentence(client: TestClient) -> None:
    body = {"text": "Ein Hund. Ein Haus.", "source": "en", "target": "de", "split": False, "count": 2}
    found = client.post("/v1/continuations", json=body).json()["continuations"]
    assert 0 < len(found) <= 2


def test_a_tree_is_of_one_text(client: TestClient) -> None:
    body = {"text": ["Ein Hund.", "Ein Haus."], "source": "en", "target": "de", "tree": True}
    found = client.post("/v1/translate", json=body)
    assert (found.status_code, found.json()["error"]) == (400, "tree is for one text, and there are 2; send one")


def test_an_error_within_a_stream_says_its_status(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(self: Any, request: Any, served: Any, texts: Any, search: Any, growing: Any) -> Any:
        prepared = await self.prepared(texts, served, search)
        yield 0, growing[0].add(prepared[0].spans[0], served.translator.translate(["Ein Hund."])[0])
        raise Refusal(503, "no answer within 20 s; send less text, or try again later", 5)

    monkeypatch.setattr(Server, "sentences", failing)
    body = {"text": "Ein Hund. Ein Haus.", "source": "en", "target": "de", "stream": True}
    last = client.post("/v1/translate", json=body).text.strip().split("\n\n")[-1].split("\n")
    assert last[0] == "event: error"
    told = {"error": "no answer within 20 s; send less text, or try again later", "status": 503}
    assert json.loads(last[1].removeprefix("data: ")) == told


def test_bodies_that_no_text_can_fill_are_not_parsed(client: TestClient) -> None:
    """A list of a million lists takes a second, in which nobody else is answered."""
    most = 12 * 3000 + 65_536
    for content, kind in (
        (b'{"text": ' + b"[]," * most, "application/json"),
        (b"text=" + b"%41" * most, "application/x-www-form-urlencoded"),
    ):
        found = client.post("/v1/translate", content=content, headers={"content-type": kind})
        told = f"the body has more than {most:,} bytes; send less at once"
        assert (found.status_code, found.json()["error"]) == (413, told)
    longest = json.dumps({"text": "\U0001f600" * 3000, "source": "en", "target": "fr"})
    assert "fr is not supported" in client.post("/v1/translate", content=longest).json()["error"]


def test_attention_between_very_many_pieces_is_left_out(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = asked(client, text="der Hund", attention="pieces")["texts"][0]["sentences"][0]
    size = np.array(whole["attention"]).size
    monkeypatch.setattr(answers, "MOST_WEIGHTS", size)
    assert asked(client, text="der Hund", attention="pieces")["texts"][0]["sentences"][0] == whole
    monkeypatch.setattr(answers, "MOST_WEIGHTS", size - 1)
    found = asked(client, text="der Hund", attention="pieces")["texts"][0]["sentences"][0]
    assert whole.keys() - found.keys() == {"attention", "source_pieces", "target_pieces"}
    assert found["word_attention"] == whole["word_attention"]
