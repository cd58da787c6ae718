"""Files whose lines do not belong together are recognised by their lengths, and parallel ones are let be."""

import random
import re

import numpy as np
import pytest

from nmt.data.parallel import BLOCK, LengthAgreement, correlation, is_term, measured, of_block, worst_stretch


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences of 3 to 60 characters, and translations of 0.8 to 1.3 times their length."""
    rng = random.Random(seed)
    lengths = [rng.randint(3, 60) for _ in range(count)]
    return [("s" * length, "t" * max(1, round(length * rng.uniform(0.8, 1.3)))) for length in lengths]


def judged(rows: list[tuple[str, str]], chunk: int = 777) -> str | None:
    agreement = LengthAgreement()
    for start in range(0, len(rows), chunk):
        agreement.add(*map(list, zip(*rows[start : start + chunk], strict=True)))
    return agreement.caution("train")


def shifted(rows: list[tuple[str, str]], first: int) -> list[tuple[str, str]]:
    """One target line is missing: from there on every source has the next sentence's translation."""
    targets = [tgt for _, tgt in rows]
    moved = targets[:first] + targets[first + 1 :] + targets[first : first + 1]
    return [(src, tgt) for (src, _), tgt in zip(rows, moved, strict=True)]


@pytest.mark.parametrize("count", [1, 10, 49, 60, 400, 5000])
def test_parallel_text_has_no_caution(count: int) -> None:
    assert judged(pairs(count)) is None


@pytest.mark.parametrize("count", [60, 150, 400, 5000])
def test_shifted_text_is_recognised(count: int) -> None:
    said = judged(shifted(pairs(count), 0))
    assert said is not None
    assert said.startswith("caution: train does not look parallel: lengths of the two sides do not go together")


@pytest.mark.parametrize("first", [1000, 3000])
def test_the_place_of_the_missing_line_is_named(first: int) -> None:
    said = judged(shifted(pairs(5000), first))
    assert said is not None
    assert f"from about pair {first + 1:,} on, " in said


def parts(*good: bool) -> list[tuple[str, str]]:
    """Parts of 2,000 pairs each, parallel or shifted by a line."""
    found = []
    for number, is_good in enumerate(good):
        own = pairs(2000, seed=number)
        found += own if is_good else shifted(own, 0)
    return found


@pytest.mark.parametrize(
    ("good", "where"),
    [
        ((False, True, True), ": up to about pair 2,000, lengths"),
        ((True, False, True), ": from about pair 2,001 to 4,000, lengths"),
        ((True, True, True, False), ": from about pair 6,001 on, lengths"),
        ((False, False), ": lengths"),
        ((False, *[True] * 11), ": up to about pair 2,000, lengths"),
    ],
)
def test_one_of_several_files_may_be_wrong(good: tuple[bool, ...], where: str) -> None:
    said = judged(parts(*good))
    assert said is not None
    assert where in said
    found = re.search(r"\(correlation (-?[\d.]+);", said)
    assert found is not None
    assert abs(float(found[1])) < 0.15  # of the wrong part alone


def test_the_worst_stretch_is_that_with_the_greatest_surplus() -> None:
    rng = random.Random(3)
    for _ in range(300):
        bad = [rng.random() < 0.4 for _ in range(rng.randint(1, 14))]
        surpluses = {
            (first, last): sum(1 if each else -1 for each in bad[first : last + 1])
            for first in range(len(bad))
            for last in range(first, len(bad))
        }
        first, last, surplus = worst_stretch(bad)
        assert surplus == max(0, *surpluses.values())
        assert surplus == 0 or surpluses[first, last] == surplus


def test_a_large_corpus_may_have_noisy_places() -> None:
    rng = random.Random(2)
    agreement = LengthAgreement(correlations=[0.1 if rng.random() < 0.2 else 0.8 for _ in range(50_000)])
    assert agreement.caution("train") is None


def test_a_file_that_is_wrong_all_along_is_not_said_to_be_wrong_in_one_place() -> None:
    """In a list in alphabetical order, neighbours are alike: shifted by one line, its blocks have 0.2 to 0.5."""
    shifted_list = LengthAgreement([0.35] * 40 + [0.15] * 9 + [0.4] * 40)
    said = shifted_list.caution("train")
    assert said is not None
    assert "about pair" not in said
    assert "(correlation 0.35; translations have 0.5 to 1)" in said
    worse = LengthAgreement([0.46] * 100 + [0.0] * 20).caution("train")
    assert worse is not None
    assert "from about pair 20,001 on, " in worse
    within = LengthAgreement([0.8] * 40 + [0.15] * 9 + [0.8] * 40).caution("train")
    assert within is not None
    assert "from about pair 8,001 to 9,800, " in within


def test_a_part_of_a_mixed_file_may_be_wrong() -> None:
    short = [("s" * 5, "t" * 5)] * 6000  # lengths that say nothing
    assert judged([*short, *pairs(4000)]) is None
    said = judged([*short, *shifted(pairs(4000), 0)])
    assert said is not None
    assert "does not look parallel" in said


@pytest.mark.parametrize("chunk", [100, 777, 20_000])
def test_a_file_that_is_sorted_by_length_is_judged_as_a_whole(chunk: int) -> None:
    rows = sorted(pairs(20_000), key=lambda pair: len(pair[0]))
    assert judged(rows, chunk) is None
    targets = [tgt for _, tgt in rows]
    random.Random(1).shuffle(targets)
    said = judged([(src, tgt) for (src, _), tgt in zip(rows, targets, strict=True)], chunk)
    assert said is not None
    assert said.startswith("caution: train does not look parallel: lengths of the two sides do not go together")


def test_a_few_shifted_pairs_are_no_reason() -> None:
    rows = pairs(5000)
    rows[1000 : 1000 + 2 * BLOCK] = shifted(rows[1000 : 1000 + 2 * BLOCK], 0)
    assert judged(rows) is None


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_pairs_that_are_wrong_all_over_the_corpus_are_recognised(share: float) -> None:
    rng = random.Random(4)
    rows = pairs(5000)
    targets = [rng.choice(rows)[1] if rng.random() < share else tgt for _, tgt in rows]
    said = judged([(src, tgt) for (src, _), tgt in zip(rows, targets, strict=True)])
    assert said is not None
    if share == 0.6:
        assert said.startswith("caution: many pairs of train are most likely no translations: lengths of the two ")
    few = [rng.choice(rows)[1] if rng.random() < 0.1 else tgt for _, tgt in rows]
    assert judged([(src, tgt) for (src, _), tgt in zip(rows, few, strict=True)]) is None


def test_one_noisy_block_among_many_that_say_nothing_is_no_noise() -> None:
    assert LengthAgreement(correlations=[None] * 900 + [0.45]).caution("train") is None


def test_a_line_that_is_missing_near_the_end_is_recognised() -> None:
    said = judged(shifted(pairs(5000), 4600))
    assert said is not None
    assert ": from about pair 4,601 on, lengths" in said
    earlier = [0.8] * 1000 + [0.2] * 3 + [0.8] * 1000 + [0.2] * 2  # a noisier place before
    said = LengthAgreement(correlations=earlier).caution("train")
    assert said is not None
    assert f": from about pair {2003 * BLOCK + 1:,} on, lengths" in said


def test_the_end_of_a_noisy_corpus_may_be_noisy() -> None:
    rng = random.Random(5)
    noisy = [0.2 if rng.random() < 0.2 else 0.8 for _ in range(1000)]
    assert LengthAgreement(correlations=[*noisy, 0.8, 0.2, 0.2]).caution("train") is None


def test_lengths_that_are_all_alike_say_nothing() -> None:
    assert judged([("word", "Wort")] * 1000) is None
    rng = random.Random(1)
    assert judged([("w" * rng.randint(5, 6), "t" * rng.randint(5, 6)) for _ in range(1000)]) is None


def test_empty_sides_say_nothing() -> None:
    assert judged([row for pair in pairs(1000) for row in (pair, ("", ""))]) is None
    assert judged([("a", "")] * 1000) is None


def test_a_list_of_words_says_nothing() -> None:
    """German and English words of one meaning: the correlation of their lengths is below that of sentences."""
    rng = random.Random(1)
    words = []
    for _ in range(2000):
        common, own = rng.randint(1, 8), (rng.randint(1, 8), rng.randint(1, 8))
        words.append((f"to {'s' * (common + own[0])}", "t" * (common + own[1])))
    lengths = [(len(src), len(tgt)) for src, tgt in words]
    assert 0.3 < (correlation(np.array(lengths)) or 0) < 0.5  # if they were sentences
    assert judged(words) is None
    assert judged(shifted(words, 0)) is None
    chosen = [rng.sample(words, rng.randint(2, 9)) for _ in range(1000)]
    sentences = [(" ".join(src for src, _ in each), " ".join(tgt for _, tgt in each)) for each in chosen]
    assert judged(words[:1000] + sentences) is None
    said = judged(words[:1000] + shifted(sentences, 0))
    assert said is not None
    assert said.startswith("caution: train does not look parallel")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Haus", True), ("to run", True), ("достопримечательность", False), ("дом", True), ("学校", True),
        ("我们明天去学校。", True), ("我们明天早上去学校。", False), ("I see it.", False),
        ("a" * 24, True), ("a" * 25, False),
    ],
)  # fmt: skip
def test_terms_are_a_word_or_two(text: str, is_one: bool) -> None:
    assert is_term(text) == is_one
    assert measured([(text, text), ("one two three", text)]).tolist() == [
        [len(text), len(text), is_one],
        [13, len(text), 0],
    ]


def test_the_correlation_is_that_of_the_logarithms() -> None:
    lengths = np.random.default_rng(1).integers(1, 80, (300, 2))
    a, b = np.log1p(lengths).T
    expected = ((a - a.mean()) * (b - b.mean())).mean() / (a.std() * b.std())
    assert correlation(lengths) == pytest.approx(expected)


@pytest.mark.parametrize("terms", [0, 150, 151, 300])
def test_a_block_of_mostly_terms_is_not_judged(terms: int) -> None:
    rows = np.random.default_rng(1).integers(1, 80, (300, 3))
    rows[:, 2] = np.arange(300) < terms
    assert of_block(rows) == (correlation(rows[:, :2]) if terms <= 150 else None)
