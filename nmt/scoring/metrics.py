"""Translation scores by sacreBLEU, each with the signature that makes it reproducible."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result, _bootstrap_resample

from nmt.errors import DataError, counted
from nmt.scoring.word_rules import WordRule, bleu_tokenizer, language_of

# The lines of each reference. None marks a missing line: sacreBLEU takes it, but does not annotate it.
Given = list[list[Any]]

BOOTSTRAP_SAMPLES = 1000  # sacreBLEU's own choice; its seed is 12345 unless SACREBLEU_SEED says otherwise


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
    """A second system (b) against a first (a); p is the chance that a gap as large as delta = b - a is luck."""

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
    test = PairedTest([("a", hyps_a), ("b", hyps_b)], _scorers(word_rule), given, test_type="bs", n_samples=samples)
    signatures, results = test()
    comparisons = []
    for name, signature in signatures.items():
        a, b = results[name]
        assert isinstance(a, Result)
        assert isinstance(b, Result)
        assert b.p_value is not None
        delta = float(b.score - a.score)
        p_value = 1.0 if delta == 0 else float(b.p_value)  # without a gap sacreBLEU may give the smallest p
        comparisons.append(Comparison(name, float(a.score), float(b.score), delta, p_value, signature.format()))
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
    score = scorer.corpus_score(hyps, refs)
    low: float | None = None
    high: float | None = None
    if samples > 1:
        # sacreBLEU can draw samples, but it shows only their mean and half their width, and fails if one scores 0
        statistics = scorer._extract_corpus_statistics(hyps, refs)
        scorer.n_bootstrap = samples  # the signature shows it and the seed
        scorer.seed, drawn = _bootstrap_resample(statistics, scorer, samples)
        low, high = interval_of([float(sample.score) for sample in drawn])
    return Metric(score.name, float(score.score), low, high, scorer.get_signature().format())


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
