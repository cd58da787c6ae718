"""Everything that a comparison found, as plain data: the content of results.json, page, table and figures."""

import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from nmt.compare.runs import Job, Sweep
from nmt.compare.scores import RULE, History, Scores, TestSet
from nmt.config.identity import essence
from nmt.machine.device import choose_device, choose_dtype, versions
from nmt.machine.launch import cores
from nmt.machine.threads import workers_on
from nmt.scoring.aer import diagonal_scores
from nmt.scoring.alignment import source_length
from nmt.scoring.metrics import bleu_by_length
from nmt.scoring.significance import counts, intervals

Record = dict[str, Any]

BUCKETS = 8  # buckets of source length
SMALLEST_BUCKET = 50  # sentences per bucket on average; a smaller test set has fewer buckets
DECIDE_ORDER = (
    "data.",
    "tokenizer.",
    "train.batch_tokens",
    "train.accumulate",
)  # the keys that decide the order of the data


def results_of(sweep: Sweep, test: TestSet, scores: Sequence[Scores], histories: Sequence[History]) -> Record:
    """The results of the comparison; `scores` and `histories` are in the order of the jobs."""
    runs = [run_of(*found) for found in zip(sweep.jobs, scores, histories, strict=True)]
    outputs = {
        name: [s for job, s in zip(sweep.jobs, scores, strict=True) if job.variant == name] for name in sweep.variants
    }
    systems = [[counts(s.hypotheses, test.references, test.word_rule) for s in found] for found in outputs.values()]
    luck = dict(zip(outputs, intervals(systems), strict=True))
    first = sweep.jobs[0]
    variants = []
    for name, found in outputs.items():
        own = [run for run in runs if run["variant"] == name]
        summary = {key: mean_of([run[key] for run in own]) for key in MEANS}
        by_length = [asdict(bucket) for bucket in pooled_by_length(found, test)]
        variants.append({"variant": name, **summary, **asdict(luck[name]), "bleu_by_source_length": by_length})
    return {
        "command": sweep.command,
        "axes": sweep.axes,
        "seeds": list(dict.fromkeys(job.seed for job in sweep.jobs)),
        "test": {
            "split": test.split,
            "sentences": len(test.sources),
            "src_lang": first.config.data.src_lang,
            "tgt_lang": first.config.data.tgt_lang,
            "diagonal_aer": diagonal_aer(test),
        },
        "cautions": cautions_of(sweep, scores),
        "search": asdict(first.config.search),
        **configurations(sweep),
        "signatures": scores[0].signatures,
        "machine": machine_record(first, scores[0]),
        "versions": versions(),
        "shown": shown_sentences(sweep, test, outputs),
        "variants": variants,
        "runs": runs,
    }


def cautions_of(sweep: Sweep, scores: Sequence[Scores]) -> list[str]:
    """The cautions about the scores, each once; a caution about some of the runs names them."""
    runs: dict[str, list[str]] = {}
    for job, found in zip(sweep.jobs, scores, strict=True):
        for line in found.cautions:
            runs.setdefault(line, []).append(job.config.name)
    return [line if len(own) == len(sweep.jobs) else f"{line} ({', '.join(own)})" for line, own in runs.items()]


def diagonal_aer(test: TestSet) -> float | None:
    """AER, in percent, of links between words at the same place in both sentences; None without gold."""
    if test.gold is None:
        return None
    return 100 * diagonal_scores(test.sources, test.references, test.gold, test.gold_units).aer


# Values of a run; a variant has the mean and deviation of each over its seeds.
MEANS = (
    "bleu", "chrf", "perplexity", "aer", "precision", "recall", "parameters", "tokens_per_s", "sentences_per_s",
    "updates", "best_update", "best_seconds",
)  # fmt: skip


def run_of(job: Job, scores: Scores, history: History) -> Record:
    """The numbers of one run."""
    found = scores.alignment
    return {
        "variant": job.variant,
        "seed": job.seed,
        "run": job.config.name,
        "bleu": scores.bleu,
        "chrf": scores.chrf,
        "perplexity": scores.perplexity,
        "aer": None if found is None else 100 * found.aer,
        "precision": None if found is None else 100 * found.precision,
        "recall": None if found is None else 100 * found.recall,
        "parameters": scores.parameters,
        "tokens_per_s": history.tokens_per_s,
        "sentences_per_s": scores.sentences_per_s,
        "updates": history.updates,
        "best_update": history.best_update,
        "best_seconds": history.best_seconds,
        "dev": history.dev,
    }


def mean_of(values: Sequence[float | int | None]) -> dict[str, float | None] | None:
    """Mean and sample standard deviation over seeds (deviation None for one seed); None if a seed has no value."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return {"mean": statistics.fmean(known), "sd": statistics.stdev(known) if len(known) > 1 else None}


def pooled_by_length(found: Sequence[Scores], test: TestSet) -> Sequence[Any]:
    """BLEU in quantiles of the source length, over the outputs of all seeds together."""
    buckets = max(1, min(BUCKETS, len(test.sources) // SMALLEST_BUCKET))
    lengths = [source_length(sentence) for sentence in test.sources] * len(found)
    hypotheses = [text for scores in found for text in scores.hypotheses]
    return bleu_by_length(lengths, hypotheses, [test.references * len(found)], test.word_rule, buckets)


def configurations(sweep: Sweep) -> Record:
    """The settings that all variants share, the settings that differ, and whether all read the data in one order."""
    own = {name: essence(jobs[0].config) for name, jobs in sweep.variants.items()}
    keys = list(dict.fromkeys(key for config in own.values() for key in config if key != "seed"))
    every = list(own.values())
    common = [key for key in keys if all(key in config and config[key] == every[0].get(key) for config in every)]
    different = [key for key in keys if key not in common]
    return {
        "same_data_order": not any(key.startswith(DECIDE_ORDER) for key in different),
        "differences": {name: {k: v for k, v in config.items() if k in different} for name, config in own.items()},
        "common": {key: every[0][key] for key in common},
    }


def shown_sentences(sweep: Sweep, test: TestSet, outputs: dict[str, list[Scores]]) -> Record:
    """The sentences whose attention is drawn, with the matrices of each variant's first seed."""
    sentences = []
    for number, row in enumerate(test.shown):
        matrices = {name: asdict(found[0].matrices[number]) for name, found in outputs.items() if found[0].matrices}
        sentence = {"line": row + 1, "source": test.sources[row], "reference": test.references[row]}
        sentences.append({**sentence, "attention": matrices})
    return {"rule": RULE, "seed": sweep.jobs[0].seed, "sentences": sentences}


def machine_record(job: Job, scores: Scores) -> Record:
    """The machine that ran this command, and the device, workers and precision that it used."""
    settings = job.config.train
    device = choose_device(settings.device)
    trained = str(choose_dtype(settings.precision, device)).removeprefix("torch.")
    return {
        "processor": processor(),
        "cores": cores(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "workers": workers_on(device, settings.workers).count,
        "precision_of_training": trained,
        "precision_of_evaluation": scores.precision,
    }


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text("utf-8", "replace").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
