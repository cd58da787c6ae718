"""Every filter against a reference that is written in another way, on random text; and what the sieve makes of them."""

import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.small_corpora import data_config, text_data
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.sections import DataConfig
from nmt.data import filters, language_filter
from nmt.data.corpus import read_corpus
from nmt.data.filters import Sieve, Sifted, cache_key, pair_tests
from nmt.data.text import clean
from nmt.errors import ConfigError

ALPHABET = 'abcZÄßé019.,:/-@<>&;" \u3000狗한ไकि٣\u200b\ufffd\x07Ãâ€¼'
TEXTS = st.one_of(
    st.text(ALPHABET, max_size=30),
    st.text(max_size=20),
    st.lists(
        st.sampled_from(
            ["www.a.de", "http://b.c/d?e=1.", "me@x.org,", "<b>", "</b>", "&amp;", "&#x41;", "12", "3,5", "狗狗",
             "Haus", "@", "a@b", "<", "> 3", "x.", "Ã¼"]
        ),
        max_size=6,
    ).map(" ".join),
)  # fmt: skip
OFF: dict[str, object] = {"empty": False, "max_tokens": None, "dev_size": 0, "test_size": 0}


def judged(data: DataConfig, *blocks: list[tuple[str, str]]) -> Sifted:
    """What the sieve makes of the pairs, which come in blocks."""
    sieve = Sieve(data)
    for block in blocks:
        sieve.add([src for src, _ in block], [tgt for _, tgt in block])
    return sieve.result()


def config(**changes: object) -> DataConfig:
    """A corpus with these filters, all others off."""
    return data_config("text", **(OFF | changes))


def shown(text: str) -> list[str]:
    """Characters that are no white space."""
    return [character for character in text if not character.isspace()]


def category(character: str) -> str:
    """Of a character, one letter."""
    return unicodedata.category(character)[0]


def plain_addresses(text: str) -> list[str]:
    """Word by word of ASCII."""
    found = []
    for word in re.findall("[!-~]+", text):
        starts = [word.lower().find(start) for start in ("http://", "https://", "www.")]
        begin = min((start for start in starts if start >= 0), default=None)
        if begin is not None:
            found.append(word[begin:].rstrip(".,;:!?)]}>'\"*").lower())
        elif re.search(r"[\w.+-]@[\w-]+\.[\w-]", word):
            found += [
                each.rstrip(".,;:!?)]}>'\"*").lower() for each in re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", word)
            ]
    return sorted(found)


def plain_loose(src: str, tgt: str) -> tuple[str, ...]:
    """What loose duplicates have in common."""
    kept = ["".join(c for c in side.casefold() if category(c) in "LM") for side in (src, tgt)]
    return tuple(kept) if all(kept) else (src, tgt, "exact")


def few_letters(side: str) -> bool:
    """Are fewer than half of the visible characters letters?"""
    return sum(category(c) in "LM" for c in side) < 0.5 * len(shown(side))


def width(side: str) -> int:
    """Length by the properties of Unicode."""
    return sum(3 if unicodedata.east_asian_width(character) in "WF" else 1 for character in side)


REFERENCES: dict[str, tuple[object, Callable[[str, str], bool]]] = {
    "empty": (True, lambda src, tgt: not all(any(c.isprintable() and not c.isspace() for c in s) for s in (src, tgt))),
    "identical": (True, lambda src, tgt: src == tgt),
    "max_characters": (9, lambda src, tgt: len(src) > 9 or len(tgt) > 9),
    "numbers": (
        True,
        lambda src, tgt: (
            sorted(unicodedata.decimal(c) for c in src if c.isdecimal())
            != sorted(unicodedata.decimal(c) for c in tgt if c.isdecimal())
        ),
    ),
    "min_letters": (0.5, lambda src, tgt: few_letters(src) or few_letters(tgt)),
    "max_length_ratio": (
        1.5,
        lambda src, tgt: max(width(src) + 10, width(tgt) + 10) > 1.5 * min(width(src) + 10, width(tgt) + 10),
    ),
    "addresses": (True, lambda src, tgt: plain_addresses(src) != plain_addresses(tgt)),
}
SIMPLE = st.one_of(st.text("abcZ狗한019.,: -\u3000ä", max_size=30), TEXTS.filter(lambda text: text.isascii()))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_filter_drops_what_its_reference_does(name: str) -> None:
    value, reference = REFERENCES[name]
    [test] = pair_tests(config(**{name: value})).values()

    @given(*[SIMPLE if name in ("addresses", "max_length_ratio", "empty") else TEXTS] * 2)
    def holds(src: str, tgt: str) -> None:
        src, tgt = clean(src, True), clean(tgt, True)
        assert test(src, tgt) == reference(src, tgt)

    holds()


@pytest.mark.parametrize(
    ("name", "value", "src", "tgt", "drops"),
    [
        ("max_word", 5, "abcdef gh", "x", True),
        ("max_word", 5, "abcde gh", "狗狗狗狗狗狗 ไปไหนมาครับ", False),
        ("max_word", 5, "www.example.com/long me@example.com", "x", False),
        ("max_length_ratio", 2.0, "我们今天去学校看书。", "Today we go to school to read.", False),
        ("max_length_ratio", 2.0, "x" * 11, "x" * 31, False),
        ("max_length_ratio", 2.0, "x" * 10, "x" * 31, True),
        ("min_letters", 0.5, "नमस्ते", "hello", False),
        ("min_letters", 0.5, "", "hello", False),
        ("min_letters", 1.0, "hello", "hello.", True),
        ("numbers", True, "1,000.50 on 5/7", "1.000,50 am 7.5.", False),
        ("numbers", True, "٣ dogs", "3 Hunde", False),
        ("numbers", True, "two dogs", "2 Hunde", True),
        ("addresses", True, "see http://A.de/x.", "siehe http://a.de/x", False),
        ("addresses", True, "see www.a.de", "siehe www.b.de", True),
        ("addresses", True, "a@b 10 @ 5", "x", False),
        ("addresses", True, "mail me@a.org", "schreib mir", True),
        ("markup", True, '<a href="x">b</a>', "<a>b</a>", False),
        ("markup", True, "<b>x</b>", "<i>x</i>", True),
        ("markup", True, "R&amp;D", "R&D", True),
        ("markup", True, "1 < 2 > 0 & <3", "x", False),
        ("broken", True, "über Straße É ç “x” … SÃO NÃO Â", "x", False),
        *(
            ("broken", True, "x", text, False)
            for text in ("IRMÃ…", "AMANHÃ”", "CAFÉ»", "NESTLÉ®", "BEYONCÉ’s", "groß»")
        ),
        *(("broken", True, "x", text, False) for text in ("à\u00a0« bientôt »", "né»…", "Spaß”", "ESPAÑA")),
        *(("broken", True, "x", text, True) for text in ("ZrobiÄ™ to", "iÅ›Ä‡", "SzkoÅ‚a", "ÄŒesko", "ÅŸey", "SCHÃ–N")),
        *(("broken", True, "x", text, True) for text in ("Î³ÎµÎ¹Î¬", "Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "è¿™æ˜¯", "ï»¿Hello")),
        *(("broken", True, "x", text, True) for text in ("schÃ¶n", "â€™", "Ã„", "a\ufffd", "a\x07", "\ue000", "Â»")),
    ],
)
def test_cases(name: str, value: object, src: str, tgt: str, drops: bool) -> None:
    [test] = pair_tests(config(**{name: value})).values()
    assert test(src, tgt) == test(tgt, src) == drops


@given(TEXTS)
def test_equal_sides_differ_in_nothing(text: str) -> None:
    tests = pair_tests(config(numbers=True, addresses=True, markup=True, max_length_ratio=1.0))
    assert not any(test(text, text) for test in tests.values())


@given(st.text("äöüßéÄÖÜ–„“’ abc", min_size=1))
def test_text_read_as_latin_1_or_windows_1252_is_broken(text: str) -> None:
    """Wherever a letter of several bytes was."""
    for encoding in ("latin-1", "cp1252"):
        misread = text.encode().decode(encoding, "replace")
        assert filters.is_broken(misread, "x") == (not text.isascii())


@pytest.mark.parametrize("value", [True, "loose"])
@given(st.lists(st.tuples(st.sampled_from(["a", "A.", "a 1", "", "1", "2"]), st.sampled_from(["b", "B!", "3"]))))
def test_of_equal_pairs_the_first_stays(value: object, pairs: list[tuple[str, str]]) -> None:
    seen, expected = set(), []
    for src, tgt in pairs:
        key = plain_loose(src, tgt) if value == "loose" else (src, tgt)
        expected.append(bool(src) and key not in seen)
        seen |= {key} if src else set()
    result = judged(config(empty=True, duplicates=value), pairs[:3], pairs[3:])
    assert result.keep.tolist() == expected
    assert sum(result.counts.values()) == len(pairs) - sum(expected)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=20))
def test_a_pair_counts_for_the_first_filter_that_drops_it(pairs: list[tuple[str, str]]) -> None:
    data = config(empty=True, identical=True, numbers=True, min_letters=0.5, max_characters=12)
    tests, result = pair_tests(data), judged(data, pairs)
    for (src, tgt), number in zip(pairs, result.dropped_by, strict=True):
        fired = [name for name, test in tests.items() if test(src, tgt)]
        assert (result.names[number - 1] if number else None) == (fired[0] if fired else None)
    assert result.dropped_by.dtype == np.uint8


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a" * 10**6, "<a " * 10**5, "a@" * 10**5, "http://" * 10**5, "&a" * 10**5, "狗" * 10**6, ".a" * 10**6]
)
def test_time_grows_with_the_text_alone(text: str) -> None:
    data = config(
        numbers=True, addresses=True, markup=True, broken=True, min_letters=0.5, max_word=50, max_length_ratio=2.0,
        max_characters=10**9, duplicates="loose",
    )  # fmt: skip
    start = time.perf_counter()
    for test in pair_tests(data).values():
        test(text, text)
    filters.loose(text, text)
    assert time.perf_counter() - start < 20


def test_filters_act_in_training_and_are_part_of_the_key(tmp_path: Path) -> None:
    pairs = [("a dog", "ein Hund"), ("2 dogs", "zwei Hunde"), ("A dog!", "Ein Hund!")]
    plain = read_corpus(text_data(tmp_path, pairs, **OFF), tmp_path)
    strict = read_corpus(text_data(tmp_path, pairs, **OFF, numbers=True, duplicates="loose"), tmp_path)
    assert len(plain.train) == 3
    assert strict.train["src"][:] == ["a dog"]
    assert strict.report[0] == "train: 3 pairs read, dropped: 1 numbers, 1 duplicates"
    assert plain.fingerprint != strict.fingerprint


def test_filters_that_are_off_are_not_part_of_the_key() -> None:
    """Corpora that were cached before these filters were there stay."""
    assert cache_key(config()) == {"empty": False, "identical": False, "duplicates": False}
    assert cache_key(config(max_word=9, max_tokens=5)) == cache_key(config()) | {"max_word": 9}


# Languages


class Identifier:
    """Knows English by "the", German by "der"."""

    labels = ("en", "de", "fr")

    def rank(self, text: str) -> list[tuple[str, float]]:
        """The likeliest language first."""
        found = {"en": 0.3, "de": 0.3, "fr": 0.1}
        found["en"] += 3 * ("the" in text)
        found["de"] += 3 * ("der" in text)
        return sorted(found.items(), key=lambda each: -each[1])


def test_a_side_in_another_language_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_filter, "identifier", Identifier)
    [test] = pair_tests(config(min_language=0.2, src_lang="en-GB", tgt_lang="de")).values()
    assert not test("the dog", "der Hund")
    assert not test("dog", "Hund")
    assert test("der Hund", "der Hund")
    assert test("the dog", "the dog")
    [mild] = pair_tests(config(min_language=0.05, src_lang="en", tgt_lang="de")).values()
    assert not mild("der Hund", "der Hund")


def test_the_package_finds_the_languages_of_sentences() -> None:
    [test] = pair_tests(config(min_language=0.2, src_lang="en", tgt_lang="de")).values()
    good = ("The weather is beautiful today.", "Das Wetter ist heute sehr schön.")
    assert not test(*good)
    assert test(good[0], "Le temps est très beau aujourd'hui.")
    assert test(good[1], good[1])
    assert cache_key(config(min_language=0.2, src_lang="en", tgt_lang="de"))["languages"][:2] == ["en", "de"]


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "said"),
    [
        (None, "de", "data.filters.min_language=0.2 needs the language of both sides; give data.src_lang, such as"),
        ("en", None, "give data.tgt_lang, such as"),
        ("en", "tlh", "data.tgt_lang=tlh is not a language that py3langid knows; set data.filters.min_language=null"),
    ],
)
def test_languages_that_cannot_be_told_are_refused(
    src_lang: str | None, tgt_lang: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_filter, "identifier", Identifier)
    with pytest.raises(ConfigError, match=re.escape(said)):
        pair_tests(replace(config(min_language=0.2), src_lang=src_lang, tgt_lang=tgt_lang))
