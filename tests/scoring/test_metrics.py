"""Scores equal sacreBLEU's own command line; buckets partition the corpus; bad input is refused."""

import json
import random
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.small_corpora import data_config

from nmt.errors import ConfigError, DataError
from nmt.scoring.metrics import (
    Comparison,
    LengthBucket,
    Metric,
    bleu,
    bleu_by_length,
    interval_of,
    p_value,
    paired_bootstrap,
    score_corpus,
)
from nmt.scoring.word_rules import bleu_tokenizer, word_rule_of

ENGLISH = [
    "a",
    "the",
    "cat",
    "dog",
    "runs,",
    "sees.",
    "isn't",
    "1,200",
    "(well)",
    "old-fashioned",
    "House",
    "green",
    '"quoted"',
    "3.5",
    "&",
    "<b>",
]
CHINESE = [*"我们喜欢音乐你好，。？（）", "3.5", "GPU"]
SAMPLES = 50


def corpus(seed: int, zh: bool, sentences: int = 40, systems: int = 1) -> tuple[list[list[str]], list[list[str]]]:
    """Random hypotheses of `systems` systems, and two references."""
    rng = random.Random(seed)
    units, space = (CHINESE, "") if zh else (ENGLISH, " ")
    first = [rng.choices(units, k=rng.randint(1, 25)) for _ in range(sentences)]

    def noisy(share: float) -> list[str]:
        return [space.join(rng.choice(units) if rng.random() < share else u for u in line) for line in first]

    return [noisy(0.2 + 0.02 * n) for n in range(systems)], [noisy(0.0), noisy(0.3)]


def sacrebleu(folder: Path, hyps: list[list[str]], refs: list[list[str]], zh: bool, *extra: str) -> str:
    """What sacreBLEU's command line says of the files."""
    names = []
    for number, lines in enumerate([*refs, *hyps]):
        names.append(str(folder / f"{number}.txt"))
        Path(names[-1]).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *names[: len(refs)], "-i", *names[len(refs) :]]
    command += ["-m", "bleu", "chrf", "ter", "--quiet", "--no-color", "--width", "8", *extra]
    if zh:
        command += ["--language-pair", "en-zh", "--ter-asian-support", "--ter-normalized"]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


@pytest.mark.parametrize("zh", [False, True])
@pytest.mark.parametrize("n_refs", [1, 2])
def test_scores_equal_sacrebleus_command_line(tmp_path: Path, zh: bool, n_refs: int) -> None:
    (hyps,), refs = corpus(n_refs, zh)
    refs = refs[:n_refs]
    output = sacrebleu(tmp_path, [hyps], refs, zh, "--format=json", "--confidence", f"--confidence-n={SAMPLES}")
    theirs = json.loads(output)
    ours = score_corpus(hyps, refs, "zh-CN" if zh else "de", intervals=True, samples=SAMPLES)
    assert [m.name for m in ours] == [m["name"] for m in theirs] == ["BLEU", "chrF2", "TER"]
    for mine, their in zip(ours, theirs, strict=True):
        assert mine.signature == their["signature"]
        assert mine.score == pytest.approx(their["score"], abs=1e-7)
        assert mine.low is not None
        assert mine.high is not None
        assert mine.low <= their["confidence_mean"] <= mine.high
        assert (mine.high - mine.low) / 2 == pytest.approx(their["confidence_var"], abs=1e-7)
    assert bleu(hyps, refs, "zh" if zh else None) == ours[0].score


@pytest.mark.parametrize("zh", [False, True])
def test_paired_bootstrap_equals_sacrebleus_command_line(tmp_path: Path, zh: bool) -> None:
    (a, b), refs = corpus(7, zh, systems=2)
    output = sacrebleu(tmp_path, [a, b], refs[:1], zh, "--format=latex", "--paired-bs", f"--paired-bs-n={SAMPLES}")
    first, second = re.findall(r"[12]\.txt & (.*)\\\\", output)  # one line per system, one cell per metric
    ours = paired_bootstrap(a, b, refs[:1], "zh" if zh else None, samples=SAMPLES)
    for mine, cell_a, cell_b in zip(ours, first.split("&"), second.split("&"), strict=True):
        score_a, score_b = (float(cell.split()[0]) for cell in (cell_a, cell_b))
        assert (mine.score_a, mine.score_b) == pytest.approx((score_a, score_b), abs=1e-7)
        assert mine.delta == pytest.approx(score_b - score_a, abs=1e-7)
        assert f"(p = {mine.p_value:.4f})" in cell_b
        assert mine.signature in output


def test_no_intervals_unless_asked_and_a_signature_without_bootstrap() -> None:
    (hyps,), refs = corpus(1, zh=False)
    for metric in score_corpus(hyps, refs, None, intervals=False):
        assert metric.low is None
        assert metric.high is None
        assert "bs:" not in metric.signature


def test_a_perfect_system_has_an_interval_of_no_width() -> None:
    _, refs = corpus(1, zh=False)
    scores = score_corpus(refs[0], refs[:1], None, intervals=True, samples=SAMPLES)
    assert [m.score for m in scores] == pytest.approx([100, 100, 0])
    assert [m.low for m in scores] == pytest.approx([m.score for m in scores])
    assert [m.high for m in scores] == pytest.approx([m.score for m in scores])


def test_intervals_are_samples_whatever_the_samples_are() -> None:
    for hyps, ref in (
        (["Hello", "Yes"], ["Hallo", "Ja"]),  # BLEU 0 in some samples or in all, as whole numbers and not
        (["", ""], ["Hallo", "Ja"]),
        (["der Hund sieht heute ein Haus", "Ja"], ["der Hund sieht heute ein Haus", "Nein"]),
        (["ein Hund sieht spät"] * 9 + ["b"], ["ein Hund sieht spät"] * 9 + ["der Mann"]),
    ):
        for metric in score_corpus(hyps, [ref], "de", intervals=True):
            assert metric.low is not None
            assert metric.high is not None
            assert 0 <= metric.low <= metric.score <= metric.high
            assert metric.high <= 100 + 1e-9


@pytest.mark.slow
def test_intervals_and_p_take_little_memory() -> None:
    words = random.Random(1).choices(ENGLISH, k=800)
    tracemalloc.start()
    score_corpus(words[:400], [words[400:]], None, intervals=True, samples=300)
    paired_bootstrap(words[:400], words[400:], [words[:400]], None, samples=300)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        peak < 4_000_000
    )  # the statistics of chrF in all resamples together have 300 * 400 * 18 * 4 bytes, twice this


def test_p_below_0_05_comes_by_chance_on_one_test_set_in_nine() -> None:
    rng = np.random.default_rng(1)
    gaps = rng.normal(size=3000)  # of equally good systems, in standard deviations
    drawn = rng.normal(size=1000)
    found = np.array([p_value(gap + drawn, gap) for gap in gaps])
    assert np.mean(found < 0.05) == pytest.approx(1 / 9, abs=0.02)
    assert np.mean(found < 0.025) == pytest.approx(1 / 20, abs=0.015)
    assert p_value(drawn, 0.0) == 1.0


def test_an_interval_is_the_middle_95_percent_of_the_samples() -> None:
    samples = random.Random(1).sample(range(1000), 1000)
    assert interval_of(samples) == (25, 974)
    assert interval_of([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_systems_of_equal_score_differ_by_luck() -> None:
    found = paired_bootstrap(["Hello", "Yes"], ["Hi", "No"], [["Hallo", "Ja"]], "de", samples=SAMPLES)
    assert {each.name: each.p_value for each in found if each.delta == 0} == {"BLEU": 1.0, "TER": 1.0}


@pytest.mark.parametrize("seed", range(20))
def test_length_buckets_partition_the_corpus_in_order(seed: int) -> None:
    rng = random.Random(seed)
    (hyps,), refs = corpus(seed, zh=False, sentences=rng.randint(1, 40))
    longest = rng.choice([1, 3, 10, 1000])
    lengths = [rng.randint(0, longest) for _ in hyps]
    buckets = rng.randint(1, 6)
    found = bleu_by_length(lengths, hyps, refs, None, buckets)
    assert 1 <= len(found) <= buckets
    assert sum(bucket.sentences for bucket in found) == len(hyps)
    assert all(a.high < b.low for a, b in pairwise(found))
    for bucket in found:
        rows = [row for row, length in enumerate(lengths) if bucket.low <= length <= bucket.high]
        assert len(rows) == bucket.sentences
        score = bleu([hyps[row] for row in rows], [[ref[row] for row in rows] for ref in refs], None)
        assert bucket.bleu == score


def test_length_buckets_are_even_when_lengths_differ() -> None:
    (hyps,), refs = corpus(3, zh=False, sentences=42)
    lengths = random.Random(0).sample(range(1000), 42)
    sizes = [bucket.sentences for bucket in bleu_by_length(lengths, hyps, refs, None, 4)]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) <= 1


def test_unequal_counts_are_refused_with_both_counts() -> None:
    for call in (
        lambda: score_corpus(["a"] * 1234, [["a"] * 1233], None, intervals=False),
        lambda: bleu(["a"] * 1234, [["a"] * 1234, ["a"] * 1233], None),
        lambda: paired_bootstrap(["a"] * 1233, ["a"] * 1234, [["a"] * 1233], None),
    ):
        with pytest.raises(DataError, match=r"1,234 translations but 1,233 lines in reference [12]"):
            call()
    with pytest.raises(DataError, match="2 source sentences but 1 translation,"):
        bleu_by_length([1, 2], ["a"], [["a"]], None)
    with pytest.raises(DataError, match="0 translations"):
        bleu([], [[]], None)
    with pytest.raises(DataError, match="no reference"):
        bleu(["a"], [], None)


@pytest.mark.parametrize(("lang", "name", "extra"), [("ja", "ja-mecab", "ja"), ("kor", "ko-mecab", "ko")])
def test_a_missing_tokeniser_names_the_extra(monkeypatch: pytest.MonkeyPatch, lang: str, name: str, extra: str) -> None:
    module = f"sacrebleu.tokenizers.tokenizer_{name.replace('-', '_')}"
    monkeypatch.setattr(__import__(module, fromlist=["x"]), "MeCab", None, raising=False)
    monkeypatch.setattr(__import__(module, fromlist=["x"]), "mecab_ko", None, raising=False)
    with pytest.raises(ConfigError, match=rf"'{name}'.*pip install 'sacrebleu\[{extra}\]'") as caught:
        bleu(["a"], [["a"]], lang)
    assert "\n" not in str(caught.value)


def test_tokenised_text_is_counted_as_it_stands() -> None:
    data = data_config("text", tgt_lang="zh", tokenized=True)
    assert word_rule_of(replace(data, tokenized=False)) == "zh"
    assert bleu_tokenizer(word_rule_of(data)) == "none"
    hyps, refs = ["a b c.d e-f"], ["a b c.d e-f"]
    found = score_corpus(hyps, [refs], word_rule_of(data), intervals=False)
    assert ["tok:none" in metric.signature for metric in found] == [True, False, False]
    assert bleu(["a b c.d e"], [["a b c . d e"]], word_rule_of(data)) < bleu(["a b c.d e"], [["a b c . d e"]], None)


def test_cells_say_what_the_rows_hold() -> None:
    metric = Metric("BLEU", 12.346, 11.0, 13.5, "nrefs:1").cells()
    assert metric == {"metric": "BLEU", "score": "12.35", "95 % interval": "11.00 to 13.50", "signature": "nrefs:1"}
    assert "95 % interval" not in Metric("BLEU", 12.0, None, None, "nrefs:1").cells()
    bucket = LengthBucket(3, 12, 1234, 5.678).cells()
    assert bucket == {"source length": "3 to 12", "sentences": "1,234", "BLEU": "5.68"}
    compared = Comparison("TER", 50.0, 49.25, -0.75, 0.0123, "nrefs:1").cells()
    assert list(compared.values()) == ["TER", "50.00", "49.25", "-0.75", "0.0123", "nrefs:1"]
