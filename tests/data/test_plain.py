"""Sources in plain characters: the same word is the same text, however it was typed."""

import time
import unicodedata
from pathlib import Path

import pytest
from helpers.training_runs import write_corpus
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.compose import command_of
from nmt.data.corpus import read_corpus
from nmt.data.plain import ALIKE, FULL_WIDTH, LIGATURES, plain
from nmt.data.text import Cleaning

ODD = st.text(
    st.sampled_from(
        "ab '\"-.,!éñпривет“”„«»‘’…\u00ad\u200b\u200c\u200d\u2060\ufeff\u200f\u00a0\u3000ﬁﬀＡｂ９！，。𝐇аеоကျ"
    )
)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("these dan\u00adcers lock up on Sun\u00adday", "these dancers lock up on Sunday"),
        ("it’s ‘one’ of “many” „so“ «là» ‹là›", 'it\'s \'one\' of "many" "so" "là" \'là\''),
        ("no\u00a0break\u202fand\u3000wide", "no break and wide"),
        ("ﬁve ﬂat oﬃces", "five flat offices"),
        ("Ｔｈｅ ９ ｄｏｇｓ", "The 9 dogs"),
        ("𝐓𝐡𝐞 𝑑𝑜𝑔", "The dog"),
        ("non‑breaking −5 …", "non-breaking -5 ..."),
        ("\ufeffa\u200bb\u2060c\u200ed", "abcd"),
        ("sоmе wоrds", "some words"),  # with Cyrillic о and е
        ("cлово", "слово"),  # with a Latin c
        ("I dοn't knοw", "I don't know"),  # with Greek ο
        ("Ｉ　ｄｏｎ＇ｔ　ｋｎｏｗ，Ｔｏｍ！", "I don't know, Tom!"),
        ("𝑤ℎ𝑒𝑟𝑒 ℝ𝕠𝕒𝕕 ℴ𝒻𝒻𝒾𝒸ℯ", "where Road office"),
        ("Ⅳ ⅻ houſe ĳs", "IV xii house ijs"),
        ("of\u034ffi\u180ec\u206ae", "office"),
        ("ᠠᠷ\u180eᠠ\u202fᠢᠢᠨ", "ᠠᠷ\u180eᠠ\u202fᠢᠢᠨ"),  # they part suffixes of Mongolian
        ("don't\ufe0f\u3164know\u1680it", "don't know it"),
    ],
)
def test_what_is_typed_otherwise_becomes_plain(typed: str, wanted: str) -> None:
    assert plain(typed) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "The dog sees a house.",
        "狗，看見了「房子」。",  # full-width punctuation is that of the language
        "می\u200cخواهم",  # joiners shape Persian
        "क\u094d\u200dष",
        "👨\u200d👩\u200d👧",
        "နေ\u200bကောင်း\u200bလား",  # zero-width spaces part words
        "3D-принтер и naïve слово",
        "Привет wörld",
        "10 kΩ, 5 μm, Δt",
        "Ελλάδα",
        "❤\ufe0f 1\ufe0f\u20e3",  # selectors belong to emoji
        "使用Python，很好！",
        "сор, рост",  # only letters that look Latin, but a word of their own script
        "— dash – dash",
    ],
)
def test_what_a_language_needs_stays(text: str) -> None:
    assert plain(text) == text


def test_letters_are_those_that_unicode_says() -> None:
    for char in LIGATURES + FULL_WIDTH:
        assert plain(char) == unicodedata.normalize("NFKC", char)
    for cyrillic, latin in ALIKE.items():
        assert "CYRILLIC" in unicodedata.name(cyrillic)
        assert latin.isascii()
        assert cyrillic.isupper() == latin.isupper()


@given(ODD)
def test_once_is_enough(text: str) -> None:
    cleaning = Cleaning(nfc=True, plain_source=True)
    once = cleaning.source(text)
    assert cleaning.source(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(st.text())
def test_letters_are_never_lost(text: str) -> None:
    kept = unicodedata.normalize("NFKC", plain(text))
    for char in text:
        if char.isalnum() and char not in ALIKE and char not in ALIKE.values():
            assert unicodedata.normalize("NFKC", char) in kept or unicodedata.combining(char)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "ab ", "а", "aа", "\u200b", "\u200da", "“", "\u0e01\u200b"])
def test_the_time_grows_with_the_text_alone(text: str) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        plain(text * count)
        return time.process_time() - start

    seconds(1000)
    assert min(seconds(400_000) for _ in range(2)) < 60 * max(min(seconds(20_000) for _ in range(3)), 0.002)


def test_sources_of_a_corpus_are_made_plain_and_counted_and_targets_are_not(tmp_path: Path) -> None:
    write_corpus(tmp_path, [("it’s “one”", "c’est «une»"), ("it's two", "c’est deux"), ("Übung", "l’exercice")] * 20)
    words = ["data=text", f"data.root={tmp_path}", "data.train.src=train.src", "data.train.tgt=train.tgt"]
    for setting, sources in (
        ("true", {'it\'s "one"', "it's two", "Übung"}),
        ("false", {"it’s “one”", "it's two", "Übung"}),
    ):
        run = command_of("train", [*words, "recipe=null", "name=run", f"data.plain_source={setting}"]).run
        corpus = read_corpus(run.data, tmp_path / "cache")
        rows = corpus.train[:]
        assert set(rows["src"]) == sources
        assert set(rows["tgt"]) == {"c’est «une»", "c’est deux", "l’exercice"}
        counted = [line for line in corpus.report if "become plain ones (data.plain_source)" in line]
        wanted = (
            "train: 20 sources with typographic or invisible characters, which become plain ones (data.plain_source)"
        )
        assert counted == [wanted] * (setting == "true")
