"""Bootstrap over sentences with several seeds, against sacreBLEU's for one."""

import random

import numpy as np
import pytest

from nmt.scoring.metrics import bleu, paired_bootstrap
from nmt.scoring.significance import bleu_of, counts, intervals

WORDS = "der die ein Hund Haus sieht schläft heute".split()


def corpus(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(count)]


def noisy(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with some words replaced."""
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) if rng.random() < share else word for word in line.split()) for line in lines]


REFERENCE = corpus(0)


def test_counts_add_up_to_corpus_bleu() -> None:
    hyps = noisy(REFERENCE, 0.3, 1)
    assert bleu_of(counts(hyps, REFERENCE, "de").sum(0)) == pytest.approx(bleu(hyps, [REFERENCE], "de"))
    assert bleu_of(counts([""] * 60, REFERENCE, "de").sum(0)) == 0.0


@pytest.mark.parametrize("shares", [(0.3, 0.32), (0.3, 0.2), (0.3, 0.305)])
def test_with_one_seed_p_is_that_of_sacrebleu(shares: tuple[float, float]) -> None:
    first, second = (noisy(REFERENCE, share, number) for number, share in enumerate(shares))
    found = intervals([[counts(hyps, REFERENCE, "de")] for hyps in (first, second)], samples=200)
    theirs = next(c for c in paired_bootstrap(first, second, [REFERENCE], "de", samples=200) if c.name == "BLEU")
    assert found[0].p is None
    assert found[1].p == pytest.approx(theirs.p_value, abs=0.006)  # theirs adds in float32: a tie may fall otherwise


def test_with_several_seeds_it_is_the_mean_of_the_same_resamples() -> None:
    outputs = [counts(noisy(REFERENCE, 0.3, seed), REFERENCE, "de") for seed in range(3)]
    [found] = intervals([outputs], samples=100)
    rows = np.random.default_rng(12345).choice(60, size=(100, 60), replace=True)
    means = [np.mean([bleu_of(seed[row].sum(0)) for seed in outputs]) for row in rows]
    assert (found.low, found.high) == pytest.approx((sorted(means)[2], sorted(means)[97]))


def test_equal_outputs_differ_by_luck_alone() -> None:
    own = counts(noisy(REFERENCE, 0.3, 1), REFERENCE, "de")
    assert intervals([[own], [own]], samples=20)[1].p == 1.0
