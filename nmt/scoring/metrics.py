"""Translation scores by sacreBLEU, each with the signature that makes it reproducible."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.errors import DataError, counted
from nmt.scoring.word_rules import WordRule, bleu_tokenizer, language_of

# The lines of each reference. None marks a missing line: sacreBLEU takes it, but does not annotate it.
Given = list[list[Any]]

BOOTSTRAP_SAMPLES = 1000  # sacreBLEU's own choice
RESAMPLING_SEED = 12345  # of the resamples, as sacreBLEU's, unless SACREBLEU_SEED says otherwise


@dataclass(frozen=True)
class Metric:
    """A corpus score in percent; 95 % of its bootstrap samples lie from low to high (None when not asked for)."""

    name: str
    score: float
    low: float | None
    high: float | None
    signature: str

    def cells(self) -> dict[str, str]:
        """Column name to text."""
        between = "" if self.low is None or self.high is None else f"{self.low:.2f} to {self.high:.2f}"
        interval = {"95 % interval": between} if between else {}
        return {"metric": self.name, "score": f"{self.score:.2f}"} | interval | {"signature": self.signature}


@dataclass(frozen=True)
class LengthBucket:
    """BLEU of the sentences whose source has `low` to `high` words (see `source_length`), both included."""

    low: int
    high: int
    sentences: int
    bleu: float

    def cells(self) -> dict[str, str]:
        """Column name to text."""
        return {
            "source length": f"{self.low} to {self.high}",
            "sentences": f"{self.sentences:,}",
            "BLEU": f"{self.bleu:.2f}",
        }


@dataclass(frozen=True)
class Comparison:
    """A second system (b) against a first (a), with delta = b - a and its p (see `p_value`)."""

    name: str
    score_a: float
    score_b: float
    delta: float
    p_value: float
    signature: str

    def cells(self) -> dict[str, str]:
        """Column name to text."""
        return {
            "metric": self.name,
            "first": f"{self.score_a:.2f}",
            "second": f"{self.score_b:.2f}",
            "difference": f"{self.delta:+.2f}",
            "p": f"{self.p_value:.4f}",
            "signature": self.signature,
        }


def score_corpus(
    hyps: Sequence[str],
    refs: Sequence[Sequence[str]],
    word_rule: WordRule,
    intervals: bool,
    samples: int = BOOTSTRAP_SAMPLES,
) -> list[Metric]:
    """BLEU, chrF and TER of a corpus; `refs` has one list per reference, with '' for each line that it lacks."""
    given = _given(hyps, refs)
    return [_score(scorer, hyps, given, samples if intervals else 1) for scorer in _scorers(word_rule).values()]


def bleu(hyps: Sequence[str], refs: Sequence[Sequence[str]], word_rule: WordRule) -> float:
    """Corpus BLEU in percent."""
    given = _given(hyps, refs)
    return float(BLEU(tokenize=bleu_tokenizer(word_rule), force=True).corpus_score(hyps, given).score)


def bleu_of_others(references: Sequence[str], word_rule: WordRule) -> float:
    """Corpus BLEU in percent that the references have in place of one another, each in that of the next longer one."""
    by_length = sorted(references, key=len)
    return bleu(by_length[1:] + by_length[:1], [by_length], word_rule)


def bleu_by_length(
    src_lengths: Sequence[int],
    hyps: Sequence[str],
    refs: Sequence[Sequence[str]],
    word_rule: WordRule,
    buckets: int = 4,
) -> list[LengthBucket]:
    """Corpus BLEU in quantiles of the source length, shortest first.

    Sentences of one length stay together, so that ranges do not overlap; few different lengths give fewer buckets.
    """
    given = _given(hyps, refs)
    if len(src_lengths) != len(hyps):
        raise DataError(
            f"{counted(len(src_lengths), 'source sentence')} but {counted(len(hyps), 'translation')}, BLEU by length; "
            "give the source that was translated"
        )
    scorer = BLEU(tokenize=bleu_tokenizer(word_rule), force=True)
    result = []
    for rows in _quantiles(src_lengths, buckets):
        score = scorer.corpus_score([hyps[row] for row in rows], [[ref[row] for row in rows] for ref in given]).score
        lengths = [src_lengths[row] for row in rows]
        result.append(LengthBucket(min(lengths), max(lengths), len(rows), float(score)))
    return result


def paired_bootstrap(
    hyps_a: Sequence[str],
    hyps_b: Sequence[str],
    refs: Sequence[Sequence[str]],
    word_rule: WordRule,
    samples: int = BOOTSTRAP_SAMPLES,
) -> list[Comparison]:
    """System b against system a in every metric, by paired bootstrap resampling (Koehn 2004)."""
    _given(hyps_a, refs)
    given = _given(hyps_b, refs)
    comparisons = []
    for scorer in _scorers(word_rule).values():
        systems = [scorer._extract_corpus_statistics(hyps, given) for hyps in (hyps_a, hyps_b)]
        a, b = map(scorer._aggregate_and_compute, systems)
        seed, (drawn_a, drawn_b) = _resampled(scorer, systems, samples)
        signature = scorer.get_signature()
        signature.update("seed", seed)
        signature.update("bs", samples)
        delta = float(b.score - a.score)
        p = p_value(drawn_b - drawn_a, delta)
        comparisons.append(Comparison(a.name, float(a.score), float(b.score), delta, p, signature.format()))
    return comparisons


def _scorers(word_rule: WordRule) -> dict[str, Scorer]:
    # TER's Asian support has an effect only together with its normalisation
    asian = language_of(word_rule) in ("zh", "ja")
    return {
        "BLEU": BLEU(tokenize=bleu_tokenizer(word_rule), force=True),  # force: no warning about tokenised text
        "CHRF": CHRF(),
        "TER": TER(normalized=asian, asian_support=asian),
    }


def _score(scorer: Scorer, hyps: Sequence[str], refs: Given, samples: int) -> Metric:
    statistics = scorer._extract_corpus_statistics(hyps, refs)
    score = scorer._aggregate_and_compute(statistics)
    low: float | None = None
    high: float | None = None
    if samples > 1:
        # sacreBLEU can draw samples, but it shows only their mean and half their width, and fails if one scores 0
        scorer.n_bootstrap = samples  # the signature shows it and the seed
        scorer.seed, [drawn] = _resampled(scorer, [statistics], samples)
        low, high = interval_of(drawn)
    return Metric(score.name, float(score.score), low, high, scorer.get_signature().format())


def _resampled(scorer: Scorer, systems: Sequence[Any], samples: int) -> tuple[str, NDArray[np.float64]]:
    """sacreBLEU's seed, and the scores [systems, samples] of its resamples, given the statistics of each sentence."""
    seed = os.environ.get("SACREBLEU_SEED", str(RESAMPLING_SEED)).lower()
    given = [np.array(statistics, np.float32) for statistics in systems]  # sacreBLEU adds in float32, too
    rows = resamples(len(systems[0]), samples, None if seed == "none" else int(seed))
    scores = [[scorer._compute_score_from_stats(own[row].sum(0)).score for own in given] for row in rows]
    return seed, np.array(scores, np.float64).T  # TER's are float32


def resamples(sentences: int, samples: int, seed: int | None) -> Iterator[NDArray[np.int64]]:
    """The rows of each resample, one after another: all together would take gigabytes for large test sets."""
    generator = np.random.default_rng(seed)
    for _ in range(samples):
        yield generator.choice(sentences, size=sentences, replace=True)


def p_value(differences: NDArray[np.float64], difference: float) -> float:
    """p of a difference by sacreBLEU's formula, given the differences in the resamples; 1 without a difference.

    It is about the p of one side: two equally good systems have p < 0.05 on one test set in nine, and p < 0.025 on one
    in 20.
    """
    if difference == 0:
        return 1.0
    sizes = np.abs(differences)
    beyond = int((sizes - sizes.mean() > abs(difference)).sum())
    return (beyond + 1) / (len(differences) + 1)


def interval_of(samples: ArrayLike) -> tuple[float, float]:
    """The lowest and highest of the middle 95 % of bootstrap samples, as sacreBLEU counts them."""
    in_order = np.sort(samples)
    outside = len(in_order) // 40
    return float(in_order[outside]), float(in_order[-1 - outside])


def _given(hyps: Sequence[str], refs: Sequence[Sequence[str]]) -> Given:
    """The references as sacreBLEU takes them, checked; None replaces an empty line that another reference has."""
    if not refs:
        raise DataError("no reference translations, scoring; give at least one reference file")
    for number, ref in enumerate(refs, 1):
        if len(ref) != len(hyps):
            raise DataError(
                f"{counted(len(hyps), 'translation')} but {counted(len(ref), 'line')} in reference {number}, scoring; "
                "both must have one line per sentence"
            )
    if not hyps:
        raise DataError("0 translations, scoring; give at least one sentence")
    somewhere = [any(line.strip() for line in lines) for lines in zip(*refs, strict=True)]
    return [
        [line if line.strip() or not there else None for line, there in zip(ref, somewhere, strict=True)]
        for ref in refs
    ]


def _quantiles(lengths: Sequence[int], buckets: int) -> list[list[int]]:
    """Row numbers in at most `buckets` groups of growing length and about equal size; equal lengths stay together."""
    counts = Counter(lengths)
    group_of: dict[int, int] = {}
    shorter = 0
    for length in sorted(counts):
        middle = shorter + counts[length] / 2  # the middle rank of this length decides
        group_of[length] = int(middle * buckets / len(lengths))
        shorter += counts[length]
    groups: list[list[int]] = [[] for _ in range(buckets)]
    for row, length in enumerate(lengths):
        groups[group_of[length]].append(row)
    return [group for group in groups if group]
