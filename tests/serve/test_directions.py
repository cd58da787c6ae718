"""Which direction a request means."""

from types import SimpleNamespace
from typing import Any

import pytest
from langcodes import Language

from nmt.serve import directions
from nmt.serve.directions import direction, meant
from nmt.serve.refusal import Refusal


@pytest.mark.parametrize(
    ("code", "served", "found"),
    [
        ("en", ["en", "de"], "en"),
        ("EN", ["en"], "en"),
        (" en ", ["en"], "en"),
        ("en-US", ["en"], "en"),
        ("en_GB", ["en"], "en"),
        ("en", ["en-US"], "en-US"),
        ("en-GB", ["en-US", "en-GB"], "en-GB"),
        ("en-CA", ["en-US", "en"], "en"),
        ("zh", ["zh-Hans"], "zh-Hans"),
        ("zh-Hans", ["zh"], "zh"),
        ("zh_Hans", ["zh"], "zh"),
        ("zh-CN", ["zh"], "zh"),
        ("ZH-HANS", ["zh"], "zh"),
        ("zh-TW", ["zh"], None),
        ("zh-TW", ["zh", "zh-Hant"], "zh-Hant"),
        ("zt", ["zh", "zh-Hant"], "zh-Hant"),
        ("zt", ["zh"], None),
        ("pb", ["pt"], "pt"),
        ("pb", ["pt", "pt-BR"], "pt-BR"),
        ("pt-PT", ["pt-BR"], "pt-BR"),
        ("sr-Latn", ["sr"], None),
        ("nb", ["no"], "no"),
        ("no", ["nb"], "nb"),
        ("iw", ["he"], "he"),
        ("de", ["en"], None),
        ("", ["en"], None),
        ("english", ["en"], None),
        ("x" * 300, ["en"], None),
        ("en\0", ["en"], None),
        ("é", ["en"], None),
    ],
)
def test_codes(code: str, served: list[str], found: str | None) -> None:
    assert meant(code, served) == found


def catalogue(*directions: tuple[str, str]) -> Any:
    return SimpleNamespace(directions=lambda: list(directions), find=lambda source, target, name: (source, target))


def test_the_model_is_that_of_the_direction() -> None:
    found = direction(catalogue(("en", "de"), ("de", "en")), "EN", "de-AT", [])
    assert (found.source, found.target, found.confidence) == ("en", "de", None)
    assert found.served == ("en", "de")  # type: ignore[comparison-overlap]  # what the stand-in finds


def test_what_nothing_can_be_told_of_is_in_the_first_language_that_has_a_model() -> None:
    found = direction(catalogue(("en", "de"), ("fr", "it")), "auto", "it", ["12", "?"])
    assert (found.source, found.confidence) == ("fr", 0.0)


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("en", "fr", "fr is not supported as a target; this server translates en to de, de to en, en to it"),
        ("fr", "de", "fr is not supported; this server translates en to de, de to en, en to it"),
        ("de", "it", "de to it is not supported; this server translates en to de, de to en, en to it"),
        ("AUTO", "it", r"de \(detected\) to it is not supported; this server translates en to de"),
    ],
)
def test_what_is_refused(source: str, target: str, error: str) -> None:
    served = catalogue(("en", "de"), ("de", "en"), ("en", "it"))
    with pytest.raises(Refusal, match=error) as refusal:
        direction(served, source, target, ["Das ist ein Satz in deutscher Sprache."])
    assert refusal.value.status == 400


@pytest.mark.parametrize("code", ["en" + "-abcde1" * 3000, "en-x" + "-a" * 40, "e" * 100_000])
def test_a_code_that_no_language_has_is_refused_in_one_line(code: str) -> None:
    assert meant(code, ["en", "de"]) is None
    with pytest.raises(Refusal) as refused:
        direction(catalogue(("en", "de")), "en", code, ["a"])
    assert refused.value.message.startswith(f"{code[:80]} is not supported as a target; ")


def test_codes_of_clients_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directions, "MOST_CODES", 20)
    for number in range(100):
        assert meant(f"en-x-a{number}", ["en", "de"]) == "en"
    assert len(Language._PARSE_CACHE) < 30
    assert len(Language._INSTANCES) < 60
