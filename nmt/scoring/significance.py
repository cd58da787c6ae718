"""How much of the mean BLEU over seeds is luck: intervals and p by bootstrap over test sentences (Koehn 2004).

With one seed, interval and p are the same as sacreBLEU's: same resamples, same formulae.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from nmt.scoring.metrics import BOOTSTRAP_SAMPLES, interval_of
from nmt.scoring.word_rules import WordRule, bleu_tokenizer

RESAMPLING_SEED = 12345  # seed of the resamples, the same as sacreBLEU's
ORDERS = 4

BleuCounts = NDArray[np.int64]  # [sentences, 10]: matching and all n-grams of each order, output and reference length


@dataclass(frozen=True)
class BleuInterval:
    """The 95 % interval of the mean BLEU over seeds; p: the chance that a gap as large to the first system is luck."""

    low: float
    high: float
    p: float | None  # None for the first system


def counts(hyps: Sequence[str], refs: Sequence[str], word_rule: WordRule) -> BleuCounts:
    """The counts of each sentence that BLEU adds up over a corpus."""
    scorer = BLEU(tokenize=bleu_tokenizer(word_rule), force=True, effective_order=True)
    scores = [scorer.sentence_score(hyp, [ref]) for hyp, ref in zip(hyps, refs, strict=True)]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in scores], np.int64)


def bleu_of(total: NDArray[np.int64]) -> float:
    """Corpus BLEU, in percent, from the sum of the counts."""
    numbers = [int(number) for number in total]
    correct, every, (sys_len, ref_len) = numbers[:ORDERS], numbers[ORDERS : 2 * ORDERS], numbers[2 * ORDERS :]
    return float(BLEU.compute_bleu(correct, every, sys_len, ref_len, smooth_method="exp").score)


def intervals(systems: Sequence[Sequence[BleuCounts]], samples: int = BOOTSTRAP_SAMPLES) -> list[BleuInterval]:
    """The interval of every system, given the counts of each of its seeds; p compares with the first system."""
    sentences = len(systems[0][0])
    rows = np.random.default_rng(RESAMPLING_SEED).choice(sentences, size=(samples, sentences), replace=True)
    drawn = np.stack([np.bincount(row, minlength=sentences) for row in rows])  # [samples, sentences]
    resampled = [np.mean([[bleu_of(total) for total in drawn @ seed] for seed in seeds], axis=0) for seeds in systems]
    means = [float(np.mean([bleu_of(seed.sum(0)) for seed in seeds])) for seeds in systems]
    found = []
    for number, (scores, mean) in enumerate(zip(resampled, means, strict=True)):
        p = None if number == 0 else p_value(scores - resampled[0], mean - means[0])
        found.append(BleuInterval(*interval_of(scores), p))
    return found


def p_value(differences: NDArray[np.float64], difference: float) -> float:
    """Two-sided p: how often resampling alone moves the difference by more than its size; 1 without a difference."""
    if difference == 0:
        return 1.0
    sizes = np.abs(differences)
    beyond = int((sizes - sizes.mean() > abs(difference)).sum())
    return (beyond + 1) / (len(differences) + 1)
