"""The likeliest next words of a translation, against the model's own probabilities."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from math import exp
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import make_run, sentences

from nmt.data.batch import make_batch
from nmt.data.tokenizer import BOS, EOS
from nmt.data.train_tokenizers import train_tokenizer
from nmt.errors import CheckpointError, ConfigError, DataError, NmtError
from nmt.translation.continuations import _head, _ways, continuations
from nmt.translation.translator import Translator

SENTENCE = "ein Haus sieht"


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = make_run(tmp_path_factory.mktemp("run") / "run", length_penalty="none")
    return Translator.load(folder, device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def speller(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """Its pieces are characters, so that a text has one spelling, and it has no bytes for other characters."""
    config = tokenizer_config("char", byte_fallback=False)
    tokenizer = train_tokenizer(iter(sentences(200)), config, 1, [])
    with patch("helpers.small_runs.small_tokenizer", lambda: tokenizer):
        folder = make_run(tmp_path_factory.mktemp("run") / "run", length_penalty="none")
    return Translator.load(folder, device="cpu", precision="fp32")


def forced(translator: Translator, *targets: list[int]) -> list[list[float]]:
    """The log-probability of each piece of these translations, and of their ends."""
    src = translator.tokenizers.src.encode(translator.as_read(SENTENCE))
    with torch.inference_mode():
        log_probs, _ = translator.model.forced(make_batch([src] * len(targets), targets))
    return [row[: len(target) + 1] for row, target in zip(log_probs.tolist(), targets, strict=True)]


@pytest.mark.parametrize("prefix", ["", "der ", "der Hund ", "der Hu", "der Hund.", "12"])
def test_the_probability_is_that_of_the_pieces_of_the_word(speller: Translator, prefix: str) -> None:
    begun = speller.pieces_of_target(prefix)
    share = 1.0  # of all that may follow; after a space: the end, and pieces that do not lengthen the word before it
    if prefix.endswith(" "):
        apart = [piece for piece in speller.spelling.apart if piece != EOS]
        share = sum(exp(row[len(begun)]) for row in forced(speller, *([*begun, piece] for piece in apart)))
        share += exp(forced(speller, begun)[0][-1])
    found = continuations(speller, SENTENCE, prefix, 20, speller.settings)
    assert len(found) > 3
    for each in found:
        end = each.translation.index(each.text, len(prefix.strip())) + len(each.text)
        pieces = speller.pieces_of_target(each.translation[:end])
        [log_probs] = forced(speller, pieces)
        own = log_probs[len(begun) :] if each.end else log_probs[len(begun) : -1]
        options = [exp(sum(own)) / share]
        if not begun and pieces:  # the model may also write a first word without a space before it
            options.append(exp(sum(forced(speller, pieces[1:])[0][:-1])))
            options.append(sum(options))
        assert any(each.probability == pytest.approx(option, rel=1e-3) for option in options)


@pytest.mark.parametrize("prefix", ["der H", "der 1", "de", "der Hund", "我"])
def test_an_unfinished_word_may_be_spelled_in_any_way(translator: Translator, prefix: str) -> None:
    """Against all ways to spell it, one after another."""
    src = translator.tokenizers.src.encode(translator.as_read(SENTENCE))
    typed, surfaces = translator.spelled(prefix), translator.spelling.surfaces
    head = _head(translator, src, translator.known_pieces(prefix), typed.rfind("▁".encode()))

    @cache
    def following(pieces: tuple[int, ...]) -> list[float]:
        batch = make_batch([src], [[]])
        with torch.inference_mode():
            source, state = translator.model.start(batch.src, batch.src_mask, False)
            return translator.model.step(torch.tensor([[BOS, *head.pieces, *pieces]]), source, state)[0][0].tolist()

    def ways(pieces: tuple[int, ...], place: int, log_prob: float) -> Iterator[tuple[tuple[int, ...], float]]:
        rest = typed[place:]
        for piece, own in enumerate(surfaces):  # behind the prefix, unknown characters and padding count, too
            after = log_prob + following(pieces)[piece]
            if not rest or (own != rest and own.startswith(rest)):
                yield (*pieces, piece), exp(after)
            elif own and rest.startswith(own):
                yield from ways((*pieces, piece), place + len(own), after)

    every = dict(ways((), head.spelled, 0.0))
    whole = sum(every.values())
    every = {pieces: share for pieces, share in every.items() if pieces[-1] in translator.spelling.all}
    found = _ways(translator, head, translator.prefix(prefix), typed, 30)
    best = sorted(every.values(), reverse=True)[:30]
    assert [exp(way.log_prob) for way in found] == pytest.approx([each / whole for each in best], rel=1e-3)
    assert all(exp(way.log_prob) == pytest.approx(every[tuple(way.pieces)] / whole, rel=1e-3) for way in found)


@pytest.mark.parametrize("prefix", ["", "der ", "der Hu"])
def test_a_model_that_computes_nan_is_refused(tmp_path: Path, prefix: str) -> None:
    translator = Translator.load(make_run(tmp_path / "run"), device="cpu", precision="fp32")
    with torch.no_grad():
        translator.model.output.bias.fill_(float("nan"))
    with pytest.raises(CheckpointError, match="the model's probabilities are NaN"):
        continuations(translator, SENTENCE, prefix, 3, translator.settings)


def test_the_end_is_the_only_continuation_of_a_model_that_ends(tmp_path: Path) -> None:
    translator = Translator.load(make_run(tmp_path / "run"), device="cpu", precision="fp32")
    with torch.no_grad():
        translator.model.output.bias[EOS] += 1000
    for prefix in ("", "der Hund ", "der Hund.", "der Hund"):
        [first, *_] = continuations(translator, SENTENCE, prefix, 3, translator.settings)
        assert (first.text, first.translation, first.end) == ("", prefix.strip(), True)
        assert first.probability == pytest.approx(1.0)


@pytest.mark.parametrize("prefix", ["", "der ", "der Hund ", "der Hu", "我"])
def test_each_goes_on_from_the_prefix_and_the_likeliest_comes_first(translator: Translator, prefix: str) -> None:
    found = continuations(translator, SENTENCE, prefix, 6, translator.settings)
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
    found = continuations(translator, "der Mann", "ein ", 20, translator.settings)
    [first, *_] = [each for each in found if each.text.isascii() and each.text[:1].isalpha()]
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
    with pytest.raises(DataError, match="continuations are for one sentence; give one that is not empty"):
        continuations(translator, "", "x", 3, translator.settings)


def test_several_sentences_are_refused_unless_they_are_searched_as_one(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " Ein Hund schläft.\nEin Mann sieht. "
    message = r"^continuations are for one sentence, and 'Ein Hund schläft\. Ein Mann sieht\.' is cut into 2; give one"
    with pytest.raises(DataError, match=message):
        continuations(translator, text, "", 3, translator.settings)
    for at_once in (2, None):
        monkeypatch.setattr(translator, "at_once", at_once)
        assert continuations(translator, text.replace("\n", " "), "", 3, translator.settings)


@pytest.mark.parametrize("prefix", ["ж Hund ", "ж Hu", "der ж"])
def test_no_character_of_the_prefix_is_dropped(speller: Translator, prefix: str) -> None:
    with pytest.raises(
        ConfigError, match=f"no pieces to write '{prefix.strip()}'; begin the translation in other words"
    ):
        continuations(speller, SENTENCE, prefix, 3, speller.settings)


def test_letters_without_pieces_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(make_run(tmp_path / "run"), device="cpu", precision="fp32")
    monkeypatch.setattr(translator, "pieces_of_target", lambda text: [1])
    with pytest.raises(ConfigError, match="the model has no pieces to write 'ж'; begin the translation in other words"):
        translator.translate(["der Hund"], prefixes=["ж "])
