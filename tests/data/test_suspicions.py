"""Copies, swapped sides and other languages are recognised, and text that is what it is taken for is not suspected."""

import random
from pathlib import Path

import pytest
from helpers.small_corpora import text_data

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.suspicions import READ, copied, of_copies, of_languages, other_language, share_sentences

DEMO = Path(__file__).parents[2] / "data" / "demo_en_de"


def lines(language: str, count: int = 300) -> list[str]:
    return (DEMO / f"train.{language}").read_text("utf-8").splitlines()[:count]


def corpus(folder: Path, src: list[str], tgt: list[str], **changes: object) -> list[str]:
    """The cautions about a training split."""
    data = text_data(folder, list(zip(src, tgt, strict=True)), **changes)
    return [line for line in read_corpus(data, folder / "cache").report if line.startswith("caution: ")]


def test_translations_are_not_suspected(tmp_path: Path) -> None:
    assert corpus(tmp_path, lines("en"), lines("de"), src_lang="en", tgt_lang="de") == []


def test_copies_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    src, tgt = lines("en"), lines("de")
    tgt[100:160] = [line.upper() + "!" for line in src[100:160]]
    (said,) = corpus(tmp_path, src, tgt)
    assert said == (
        "caution: 20% of the longer targets of train repeat their source, first in pair 101: are they translated? "
        "(data.filters.identical=true drops exact copies)"
    )


def test_british_and_american_english_may_be_the_same(tmp_path: Path) -> None:
    src = lines("en")
    assert corpus(tmp_path, src, ["Colour", *src[1:]], src_lang="en-GB", tgt_lang="en-US") == []


def test_the_filter_is_for_training_pairs(tmp_path: Path) -> None:
    for side in ("s", "t"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines("en")[:60]), "utf-8")
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in ["x", *lines("en")[1:60]]), "utf-8")
    (said,) = corpus(tmp_path, lines("en")[100:], lines("de")[100:], dev=SplitConfig("s", "t", None))
    assert said.endswith("% of the longer targets of dev repeat their source, first in pair 2: are they translated?")


@pytest.mark.parametrize("codes", [("hr", "bs"), ("nb", "da"), ("en", "en-US")])
def test_related_languages_share_sentences(codes: tuple[str, str]) -> None:
    assert share_sentences(*codes)


@pytest.mark.parametrize("codes", [("en", "de"), (None, "de"), ("en", None), ("sr", "ru")])
def test_other_languages_do_not(codes: tuple[str | None, str | None]) -> None:
    assert not share_sentences(*codes)


def test_few_copies_say_nothing() -> None:
    src = lines("en")
    assert list(of_copies("train", range(40), src[:40], src[:40])) == []
    assert len(list(of_copies("train", range(60), src[:60], src[:60]))) == 1


def test_names_and_numbers_are_no_copies() -> None:
    assert copied(["Berlin", "12 345 678 901", "A long English sentence"], ["Berlin", "12 345 678 901", "A b c"]) == (
        0,
        [],
    )
    assert copied(["The old House, 1"], ["the old house. 2"]) == (1, [0])


def test_swapped_sides_are_recognised(tmp_path: Path) -> None:
    (said,) = corpus(tmp_path, lines("de"), lines("en"), src_lang="en", tgt_lang="de")
    assert said.startswith("caution: the sides of train look swapped in ")
    assert "sources in German, targets in English; exchange the files, or data.src_lang and data.tgt_lang" in said


def test_where_one_side_is_too_short_to_judge_the_other_one_raises_the_question(tmp_path: Path) -> None:
    (said,) = corpus(tmp_path, lines("de"), ["A dog."] * 300, src_lang="en", tgt_lang="de")
    assert said.endswith(
        "of the source lines of train look German, not English (data.src_lang=en); are the sides swapped?"
    )


def test_the_languages_may_be_named_later(tmp_path: Path) -> None:
    assert corpus(tmp_path, lines("de"), lines("en")) == []
    assert len(corpus(tmp_path, lines("de"), lines("en"), src_lang="en", tgt_lang="de")) == 1
    assert corpus(tmp_path, lines("de"), lines("en"), src_lang="de", tgt_lang="en") == []


def test_a_side_in_another_language_is_named(tmp_path: Path) -> None:
    (said,) = corpus(tmp_path, lines("en"), lines("de"), src_lang="en", tgt_lang="fr")
    assert "of the target lines of train look German, not French (data.tgt_lang=fr); check the files" in said


@pytest.mark.parametrize(("share", "found"), [(0.1, False), (0.5, True)])
def test_some_lines_may_be_in_another_language(share: float, found: bool) -> None:
    rng = random.Random(1)
    mixed = [de if rng.random() < share else en for en, de in zip(lines("en"), lines("de"), strict=True)]
    other = other_language(mixed, "en")
    assert (other is not None) == found
    if other is not None:
        assert other[0] == "de"
        assert other[1] == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize("code", ["tlh", "de-Cyrl"])
def test_a_language_that_cannot_be_told_is_not_suspected(code: str) -> None:
    """Klingon is unknown to the identifier, which knows each language in its usual script."""
    assert other_language(lines("en"), code) is None


@pytest.mark.parametrize("code", ["bs", "sr", "hr"])
def test_related_languages_are_not_taken_for_each_other(code: str) -> None:
    croatian = ["Dvije djevojke sjede na klupi u parku i razgovaraju o novoj knjizi koju su kupile."] * 60
    assert other_language(croatian, code) is None


def test_few_lines_and_short_ones_say_nothing() -> None:
    assert other_language(lines("de", 49), "en") is None
    assert other_language(["Guten Tag"] * 500, "en") is None
    assert not list(of_languages("dev", (lines("de", 40), lines("en", 40)), ("en", "de")))


def test_of_long_lines_the_beginning_is_looked_at(tmp_path: Path) -> None:
    long = [f"{line} ".ljust(READ, ".") + " ".join(lines("de")) for line in lines("en")]
    assert corpus(tmp_path, long, lines("de"), src_lang="en", tgt_lang="de") == []
