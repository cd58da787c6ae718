"""Public clients, as they are installed, against a server with a socket."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from helpers.served import WordServer, app_of, backwards, listening, upper, word_server

from nmt.serve.keys import Key

GERMAN = "Das ist ein Satz in deutscher Sprache."
MODELS = {("en", "de"): upper, ("de", "en"): backwards}


class Keys:
    """One key."""

    def of(self, secret: str) -> Key | None:
        return Key("weblate", None, None) if secret == "secret" else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> WordServer:
    folder: Path = tmp_path_factory.mktemp("server")
    words = ("suggestions=true", "require_key=true", "keys=none.json", "origins=[]")
    return word_server(folder, MODELS, *words, keys=Keys())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def url(server: WordServer) -> Iterator[str]:
    with listening(app_of(server)) as address:
        yield address


def test_libretranslatepy(url: str) -> None:
    client = pytest.importorskip("libretranslatepy").LibreTranslateAPI(url, "secret")
    assert client.translate("A big dog.", "en", "de") == "A BIG DOG."
    assert client.detect(GERMAN)[0]["language"] == "de"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": ["en"]},
    ]


def test_libretranslate_aio(url: str, server: WordServer, tmp_path: Path) -> None:
    package = pytest.importorskip("libretranslate_aio")
    (tmp_path / "notes.txt").write_bytes(b"One line.\r\n\r\nTwo")
    with package.LibreTranslate(url, api_key="secret") as client:
        found = client.translate(["A dog.", "Two <b>words</b>"], "en", "de", format="html", alternatives=2)
        assert (found.translated_text, found.alternatives) == (["A DOG.", "TWO <b>WORDS</b>"], [[], []])
        found = client.translate(GERMAN, "auto", "en")
        assert found.translated_text == "SPRACHE. DEUTSCHER IN SATZ EIN IST DAS"
        assert found.detected_language.language == "de"
        assert client.translate("A b.", "en", "de", alternatives=2).alternatives == ["A B.2", "A B.3"]
        assert client.detect(GERMAN)[0].language == "de"
        assert [(each.code, each.targets) for each in client.languages()] == [("en", ["de"]), ("de", ["en"])]
        assert client.suggest("a", "b", "en", "de") is True
        settings = client.frontend_settings()
        assert (settings.key_required, settings.suggestions, settings.supported_files_format) == (True, True, [".txt"])
        assert client.health() is True
        translated = client.translate_file(tmp_path / "notes.txt", "en", "de").translated_file_url
        assert client._client.get(translated).content == b"ONE LINE.\r\n\r\nTWO"  # as its command line does
        with pytest.raises(package.BadRequestError, match="fr is not supported"):
            client.translate("a", "en", "fr")
        with pytest.raises(package.BadRequestError, match="a file without an ending is not supported"):
            client.translate_file(io.BytesIO(b"a"), "en", "de")
    with package.LibreTranslate(url) as client, pytest.raises(package.ForbiddenError, match="needs a key"):
        client.translate("a", "en", "de")


def test_deepl(url: str) -> None:
    package = pytest.importorskip("deepl")
    client = package.DeepLClient("secret", server_url=url)
    before = client.get_usage().character.count
    german, english = client.translate_text([GERMAN, "A sentence in English."], target_lang="EN-US")
    assert (german.text, german.detected_source_lang) == ("SPRACHE. DEUTSCHER IN SATZ EIN IST DAS", "DE")
    assert (english.text, english.detected_source_lang) == ("A sentence in English.", "EN")
    assert english.billed_characters == 22
    assert client.translate_text("a b", source_lang="en", target_lang="DE").text == "A B"
    assert client.get_usage().character.count == before + len(GERMAN) + 22 + 3
    options = {"tag_handling": "html", "split_sentences": package.SplitSentences.NO_NEWLINES}
    assert client.translate_text("<p>a\n<b>b</b></p>", source_lang="DE", target_lang="EN-GB", **options).text == (
        "<p><b>B</b> A</p>"
    )
    text = client.translate_text(
        "a <x>b</x>", source_lang="EN", target_lang="DE", tag_handling="xml", ignore_tags="x", formality="default"
    ).text
    assert text == "A <x>b</x>"
    assert [each.code for each in client.get_source_languages()] == ["DE", "EN"]
    targets = client.get_target_languages()
    assert [each.code for each in targets] == ["DE", "EN-GB", "EN-US"]
    for target in targets:  # each is good for what it is listed for
        assert client.translate_text("12", target_lang=target).text == "12"
    assert client.get_glossary_languages() == []
    with pytest.raises(package.DeepLException, match="Bad request, message: FR is not supported as a target"):
        client.translate_text("a", target_lang="FR")
    with pytest.raises(package.DeepLException, match="Value for 'formality' not supported"):
        client.translate_text("a", target_lang="DE", formality=package.Formality.MORE)
    with pytest.raises(package.AuthorizationException, match="this key is unknown"):
        package.DeepLClient("wrong", server_url=url).translate_text("a", target_lang="DE")


def test_weblate(url: str) -> None:
    """Its requests: languages once, then lists of 20 as JSON, which must be answered within 20 s."""
    codes = [each["code"] for each in httpx.get(f"{url}/languages").json()]
    assert {"en", "de"} <= set(codes)  # it looks for the target, too
    texts = [f"File %s has {number} <b>lines</b>.\nNext?" for number in range(20)]
    started = time.monotonic()
    body = {"api_key": "secret", "q": texts, "source": "en", "target": "de"}
    response = httpx.post(f"{url}/translate", json=body, headers={"Referer": "https://weblate.example"}, timeout=20)
    assert response.json() == {"translatedText": [text.upper() for text in texts]}
    assert time.monotonic() - started < 20
    header = {"Authorization": "DeepL-Auth-Key secret"}
    sources = {each["language"] for each in httpx.get(f"{url}/v2/languages?type=source", headers=header).json()}
    targets = {each["language"] for each in httpx.get(f"{url}/v2/languages?type=target", headers=header).json()}
    assert ("EN", "DE") in {(source, target) for source in sources for target in targets}
    assert httpx.get(f"{url}/v2/glossary-language-pairs", headers=header).json() == {"supported_languages": []}
    body = {
        "text": [f'Delete <x id="7"></x> of {number} &lt;b&gt;' for number in range(20)],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    found = httpx.post(f"{url}/v2/translate", json=body, headers=header, timeout=20).json()["translations"]
    assert [each["text"] for each in found] == [f'DELETE <x id="7"></x> OF {number} &lt;B&gt;' for number in range(20)]


def test_mastodon(url: str) -> None:
    """Its requests: LibreTranslate with HTML and an unknown source; DeepL as a form."""
    body = {"q": ["<p>A dog</p>", "One &amp; two"], "source": "auto", "target": "de", "format": "html"}
    response = httpx.post(f"{url}/translate", json={**body, "api_key": "secret"})
    assert response.json()["translatedText"] == ["<p>A DOG</p>", "ONE &amp; TWO"]
    assert len(response.json()["detectedLanguage"]) == 2
    form = {"text": ["<p>A dog</p>", "b"], "source_lang": "EN", "target_lang": "de", "tag_handling": "html"}
    found = httpx.post(f"{url}/v2/translate", data=form, headers={"Authorization": "DeepL-Auth-Key secret"}).json()
    assert [each["text"] for each in found["translations"]] == ["<p>A DOG</p>", "B"]
