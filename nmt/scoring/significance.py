"""What the choice of test sentences does to the mean BLEU over seeds: intervals and p by bootstrap (Koehn 2004).

With one seed, interval and p are the same as sacreBLEU's: same resamples, same formulae.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from nmt.scoring.metrics import BOOTSTRAP_SAMPLES, RESAMPLING_SEED, interval_of, p_value, resamples
from nmt.scoring.word_rules import WordRule, bleu_tokenizer

ORDERS = 4

BleuCounts = NDArray[np.int64]  # [sentences, 10]: matching and all n-grams of each order, output and reference length


@dataclass(frozen=True)
class BleuInterval:
    """The 95 % interval of the mean BLEU over seeds, and the p of its gap to the first system."""

    low: float
    high: float
    p: float | None  # see `p_value`; None for the first system


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
    rows = resamples(len(systems[0][0]), samples, RESAMPLING_SEED)
    resampled = np.array(
        [[np.mean([bleu_of(seed[row].sum(0)) for seed in seeds]) for seeds in systems] for row in rows]
    )  # [samples, systems]
    means = [float(np.mean([bleu_of(seed.sum(0)) for seed in seeds])) for seeds in systems]
    found = []
    for number, (scores, mean) in enumerate(zip(resampled.T, means, strict=True)):
        p = None if number == 0 else p_value(scores - resampled[:, 0], mean - means[0])
        found.append(BleuInterval(*interval_of(scores), p))
    return found
