"""The likeliest next words of a translation, against the model's own probabilities."""

from contextlib import suppress
from pathlib import Path

import pytest
from helpers.small_runs import make_run, sentences

from nmt.errors import ConfigError, DataError, NmtError
from nmt.translation.continuations import continuations
from nmt.translation.translator import Translator


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = make_run(tmp_path_factory.mktemp("run") / "run", length_penalty="none")
    return Translator.load(folder, device="cpu", precision="fp32")


@pytest.mark.parametrize("prefix", ["", "der ", "der Hund ", "der Hu", "我"])
def test_each_goes_on_from_the_prefix_and_the_likeliest_comes_first(translator: Translator, prefix: str) -> None:
    found = continuations(translator, "ein Haus sieht", prefix, 6, translator.settings)
    assert 0 < len(found) <= 6
    shares = [each.probability for each in found]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-6
    assert len({(each.text, each.end) for each in found}) == len(found)
    for each in found:
        assert each.translation.startswith(prefix.strip())
        if not each.end and prefix.endswith(" "):
            assert each.translation.startswith((prefix + each.text, prefix.strip() + each.text))


def test_its_translation_is_that_of_a_search_with_the_longer_prefix(translator: Translator) -> None:
    [first, *_] = [each for each in continuations(translator, "der Mann", "ein ", 8, translator.settings) if each.text]
    begun = translator.translate(["der Mann"], prefixes=[f"ein {first.text}"])[0]
    assert begun.text.startswith(f"ein {first.text}")
    assert first.translation.startswith(f"ein {first.text}")


def test_a_search_that_nobody_waits_for_ends(translator: Translator) -> None:
    def steps(last: int) -> int:
        asked: list[int] = []

        def gone() -> bool:
            asked.append(0)
            return len(asked) >= last

        with suppress(NmtError):
            continuations(translator, "ein Haus sieht der Mann heute", "", 3, translator.settings, gone)
        return len(asked)

    assert steps(2) == 2 < steps(10_000)


@pytest.mark.parametrize("attention", ["general", "none"])
def test_every_translation_begins_with_its_prefix(tmp_path: Path, attention: str) -> None:
    translator = Translator.load(make_run(tmp_path / "run", attention), device="cpu", precision="fp32")
    sources = sentences(9, seed=3)
    prefixes = ["der ", "ei", None, "12 , ", "我们", "", "spät .", "grünes Haus ", "x"]
    found = translator.translate(sources, prefixes=prefixes)
    for prefix, translation in zip(prefixes, found, strict=True):
        assert translation.text.startswith((prefix or "").strip())
        if prefix and prefix.endswith(" "):  # its last word is whole
            rest = translation.text[len(prefix) - 1 :]
            assert not rest[:1].isalpha() or rest[0] >= "\u4e00"
    assert translator.translate(sources)[2].text == found[2].text


def test_what_cannot_be_begun_is_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match=r"^2 sources but prefixes for 1; give one for each, or None$"):
        translator.translate(["a", "b"], prefixes=["x"])
    long = " ".join(["Hund"] * 1200)
    with pytest.raises(DataError, match=r"^the translation of a line in \d parts cannot begin with 'x'"):
        translator.translate([long], prefixes=["x"])
    with pytest.raises(DataError, match="continuations are for one sentence"):
        continuations(translator, "", "x", 3, translator.settings)


def test_letters_without_pieces_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(make_run(tmp_path / "run"), device="cpu", precision="fp32")
    monkeypatch.setattr(translator, "pieces_of_target", lambda text: [1])
    with pytest.raises(ConfigError, match="the model has no pieces to write 'ж'; begin the translation in other words"):
        translator.translate(["der Hund"], prefixes=["ж "])
