"""The scores of one run of a comparison on a split, kept in its folder, and the record of its training."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import sacrebleu
import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from nmt.compare.runs import Job, SplitName
from nmt.config.sections import Unit
from nmt.machine.device import TranslationPrecision, choose_device, choose_dtype
from nmt.machine.digests import digest, file_digest
from nmt.machine.safe_files import write_atomically
from nmt.runs.folder import seen_file
from nmt.runs.learned import caution_of
from nmt.scoring import cautions
from nmt.scoring.aer import AlignmentScores, Gold
from nmt.scoring.word_rules import WordRule, bleu_tokenizer
from nmt.training.history import read_points
from nmt.training.report import METRICS_FILE
from nmt.translation.align import gold_scores
from nmt.translation.translator import Translator, translate_all

SCORES_VERSION = 4  # version of the kept scores; raise it whenever their content changes

SHARES = (0.2, 0.4, 0.6, 0.8)
LONGEST_SHOWN = 20  # words of the longest sentence that may be shown
RULE = (
    f"Of the sentences of at most {LONGEST_SHOWN} words (source and reference), those whose source length is at the "
    "20, 40, 60 and 80 % quantile: the first such in the file that is not taken yet."
)


@dataclass(frozen=True)
class TestSet:
    """The sentences on which every variant is scored."""

    split: SplitName
    sources: list[str]
    references: list[str]
    word_rule: WordRule
    gold: list[Gold] | None
    gold_units: Unit
    shown: list[int]  # rows of the sentences whose attention is drawn
    cautions: list[str]  # reasons why any scores on this test set may mislead


@dataclass(frozen=True)
class Matrix:
    """Attention over the words of a sentence and its reference, [T, S]."""

    weights: list[list[float]]
    src_words: list[str]
    tgt_words: list[str]


@dataclass(frozen=True)
class Scores:
    """The scores of one run; BLEU and chrF are in percent."""

    bleu: float
    chrf: float
    perplexity: float  # of the references, per piece, ends of sentences included
    alignment: AlignmentScores | None  # None: no attention, or no gold
    parameters: int
    sentences_per_s: float
    precision: str  # of the arithmetic in the evaluation
    signatures: list[str]
    matrices: list[Matrix]  # attention of the sentences shown; empty without attention
    hypotheses: list[str]
    cautions: list[str]  # reasons why these scores may mislead


@dataclass(frozen=True)
class History:
    """The record of a training in metrics.jsonl."""

    dev: list[dict[str, Any]]  # the validations
    updates: int  # number of all updates
    tokens_per_s: float | None  # median over the log intervals
    best_update: int | None
    best_seconds: float | None  # of training up to the best update, without validations


def scores_of(job: Job, test: TestSet, trust: Sequence[str]) -> Scores:
    """The scores kept in the run folder, if they are of this model, test set and way of decoding; else new ones."""
    kept = kept_scores(job.run, test.split)
    key = key_of(job, test)
    try:
        content = json.loads(kept.read_bytes())
        if content["key"] == key:
            return from_json(content["scores"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    made = measured(job, test, trust)
    kept.parent.mkdir(exist_ok=True)
    text = json.dumps({"key": key, "scores": asdict(made)}, ensure_ascii=False, indent=1)
    write_atomically(kept, text.encode(errors="backslashreplace"))
    return from_json(json.loads(text)["scores"])


def kept_scores(run: Path, split: SplitName) -> Path:
    """The file that keeps the scores."""
    return run / "evaluations" / f"compare.{split}.json"


def from_json(plain: Mapping[str, Any]) -> Scores:
    """The scores from plain data, as kept in the file."""
    alignment = None if plain["alignment"] is None else AlignmentScores(**plain["alignment"])
    matrices = [Matrix(**matrix) for matrix in plain["matrices"]]
    return Scores(**{**plain, "alignment": alignment, "matrices": matrices})


def key_of(job: Job, test: TestSet) -> str:
    """Digest of everything that the scores depend on."""
    settings = job.config.train
    device = choose_device(settings.device)
    gold = [[sorted(links.sure), sorted(links.possible)] for links in test.gold or []]
    return digest(
        [
            SCORES_VERSION, file_digest(job.run / "model.safetensors"), file_digest(job.run / "manifest.json"),
            asdict(job.config.search), test.sources, test.references, test.word_rule, gold, test.gold_units, test.shown,
            str(device), str(choose_dtype(settings.precision, device)),
            torch.__version__, sacrebleu.__version__,
        ]
    )  # fmt: skip


def measured(job: Job, test: TestSet, trust: Sequence[str]) -> Scores:
    """Translates the test set, and scores the translations."""
    settings = job.config.train
    precision: TranslationPrecision = "float" if settings.precision == "auto" else settings.precision
    translator = Translator.load(
        job.run, None, trust, settings.device, precision, False, sentences="keep", workers=settings.workers
    )
    texts = test.sources, [test.references]
    learned = caution_of(job.run)
    said = [*test.cautions, *([] if learned is None else [learned])]
    said += cautions.of_training(seen_file(job.run), "the model", *texts)
    said += cautions.of_test_set(translator.tokenizers, *texts)
    start = perf_counter()
    hypotheses = translate_all(translator, test.sources, said.append)
    seconds = perf_counter() - start
    said += cautions.of_translations(hypotheses, *texts)
    bleu = BLEU(tokenize=bleu_tokenizer(test.word_rule), force=True)
    chrf = CHRF()
    return Scores(
        bleu=float(bleu.corpus_score(hypotheses, [test.references]).score),
        chrf=float(chrf.corpus_score(hypotheses, [test.references]).score),
        perplexity=perplexity(translator, test),
        alignment=reference_alignment(translator, test),
        parameters=sum(parameter.numel() for parameter in translator.model.parameters()),
        sentences_per_s=len(hypotheses) / seconds,
        precision=translator.precision,
        signatures=[f"BLEU {bleu.get_signature().format()}", f"chrF {chrf.get_signature().format()}"],
        matrices=matrices(translator, test),
        hypotheses=hypotheses,
        cautions=said,
    )


def perplexity(translator: Translator, test: TestSet) -> float:
    """exp of the negative log-likelihood of the references per piece, ends of sentences included."""
    return float(np.exp(translator.cross_entropy(test.sources, test.references)))


def reference_alignment(translator: Translator, test: TestSet) -> AlignmentScores | None:
    """Scores of the attention over the references against the gold links; None without gold or attention."""
    if test.gold is None:
        return None
    return gold_scores(translator, test.sources, test.references, test.gold, test.gold_units)


def matrices(translator: Translator, test: TestSet) -> list[Matrix]:
    """Attention over the references of the sentences shown."""
    if not translator.has_attention:
        return []
    sources, references = ([side[row] for row in test.shown] for side in (test.sources, test.references))
    found = [translation.word_attention for translation in translator.force(sources, references)]
    return [Matrix(np.round(weights.astype(float), 4).tolist(), src, tgt) for weights, src, tgt in found]


def history(run: Path) -> History:
    """Reads the record that training left in the run folder."""
    records = [point for _, point in read_points(run / METRICS_FILE) if point]
    dev = [record for record in records if record["kind"] == "dev"]
    train = [record for record in records if record["kind"] == "train"]
    speeds = [record["tokens_per_s"] for record in train if record.get("tokens_per_s")]
    speed = statistics.median(speeds) if speeds else None
    best = max((record["update"] for record in dev if record["best"]), default=None)
    return History(
        dev,
        max((record["update"] for record in records), default=0),
        speed,
        best,
        None if speed is None or best is None else seconds_until(best, train, speed),
    )


def seconds_until(update: int, train: Sequence[Mapping[str, Any]], speed: float) -> float:
    """Training time of the log intervals up to the update; an interval without a recorded speed gets `speed`."""
    seconds, start = 0.0, 0
    for record in train:
        share = (update - start) / (record["update"] - start) if record["update"] > update else 1.0
        if share <= 0:
            break
        seconds += share * record["tokens"] / (record.get("tokens_per_s") or speed)
        start = record["update"]
    return seconds


def rows_by_rule(
    sources: Sequence[str], references: Sequence[str], lengths: Sequence[int], words: Sequence[int]
) -> list[int]:
    """The rows of at most four sentences, chosen by RULE; `lengths` counts source words, `words` reference words."""
    fit = [row for row in range(len(sources)) if 0 < lengths[row] <= LONGEST_SHOWN and 0 < words[row] <= LONGEST_SHOWN]
    if not fit:
        return []
    ordered = sorted(lengths[row] for row in fit)
    wanted = [ordered[int(share * (len(ordered) - 1))] for share in SHARES]
    rows: list[int] = []
    for length in wanted:
        rows += [row for row in fit if lengths[row] == length and row not in rows][:1]
    return rows
