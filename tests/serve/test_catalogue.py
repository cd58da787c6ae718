"""The models that are served: their directions, and what happens when one changes on disk. Detection of languages."""

from pathlib import Path

import pytest
from helpers.small_runs import make_run

from nmt.errors import ConfigError
from nmt.serve.catalogue import Catalogue, Source, sources_of, stamp_of
from nmt.serve.detect import detect
from nmt.serve.refusal import Refusal
from nmt.translation.translator import Translator


def load(source: Source) -> Translator:
    return Translator.load(source.folder, device="cpu", precision="fp32")


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    folders = [make_run(tmp_path / name, seed=seed) for seed, name in enumerate(("a", "b"))]
    return Catalogue(sources_of(folders, [("en", "de"), ("de", "en")], None), load)


def test_models_are_found_by_direction_and_name(catalogue: Catalogue) -> None:
    assert catalogue.directions() == [("en", "de"), ("de", "en")]
    assert catalogue.find("en", "de", None).name == "a"
    assert catalogue.find("de", "en", "b").name == "b"
    with pytest.raises(Refusal, match="en to fr is not served here; choose from: en to de, de to en"):
        catalogue.find("en", "fr", None)
    with pytest.raises(Refusal, match="no model c translates en to de; choose from: a"):
        catalogue.find("en", "de", "c")


def test_a_changed_model_takes_the_place_of_the_old_one(
    catalogue: Catalogue, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = catalogue.served
    assert catalogue.reload(changed_only=True) == []
    assert catalogue.served == before
    make_run(tmp_path / "other", seed=7)
    (tmp_path / "other" / "model.safetensors").rename(tmp_path / "a" / "model.safetensors")
    assert catalogue.reload(changed_only=True) == ["a"]
    assert catalogue.served[0].translator.checksum != before[0].translator.checksum
    assert catalogue.served[1] is before[1]
    assert catalogue.reload(changed_only=False) == ["a", "b"]
    (tmp_path / "b" / "model.safetensors").write_bytes(b"damaged")
    now = catalogue.served
    assert catalogue.reload(changed_only=True) == []
    assert catalogue.served == now
    assert "; the server keeps the model that it had" in capsys.readouterr().err
    assert catalogue.reload(changed_only=True) == []  # said once
    catalogue.load = lambda source: 1 // 0  # type: ignore[assignment, return-value]  # whatever goes wrong
    assert catalogue.reload(changed_only=False) == []
    assert catalogue.served == now
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert capsys.readouterr().err == ""


def test_a_folder_without_weights_is_left_alone(catalogue: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "a" / "model.safetensors").unlink()
    assert stamp_of(tmp_path / "a") is None
    assert catalogue.reload(changed_only=False) == ["b"]


def test_runs_of_the_same_name_are_told_apart() -> None:
    found = sources_of([Path("x/run"), Path("y/run"), Path("z/run")], [("en", "de")] * 3, None)
    assert [each.name for each in found] == ["run", "run_2", "run_3"]


def test_languages_may_be_typed() -> None:
    [found] = sources_of([Path("run")], [(None, None)], ["zh-Hant>en"])
    assert (found.src_lang, found.tgt_lang) == ("zh-Hant", "en")
    for languages, message in (
        (None, r"run does not say which languages it translates .*; add, for example, languages=\[en-de\]"),
        (["en-de", "de-en"], "languages names 2 directions for 1 models; give one for each"),
        (["en"], "languages=en is not a direction; write one as en-de, or zh-Hant>en"),
        (["en-german"], "languages=german is not a language code; did you mean 'de'?"),
    ):
        with pytest.raises(ConfigError, match=message.replace("?", r"\?") if "did" in message else message):
            sources_of([Path("run")], [("en", None)], languages)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The dog sleeps in the garden.", "en"),
        ("Der Hund schläft im Garten.", "de"),
        ("狗在花园里睡觉。", "zh-Hant"),
    ],
)
def test_the_language_of_a_text_among_those_served(text: str, language: str) -> None:
    found = detect(text, ["en", "de", "zh-Hant"])
    assert found[0][0] == language
    assert sum(share for _, share in found) == pytest.approx(1, abs=1e-3)
    assert [share for _, share in found] == sorted((share for _, share in found), reverse=True)


def test_languages_that_cannot_be_told_apart_come_last() -> None:
    assert detect("Hello", ["tlh", "en"])[-1] == ("tlh", 0.0)
    assert detect("Hello", ["tlh"]) == [("tlh", 0.0)]
