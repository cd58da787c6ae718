"""Limits of values, and of values together."""

import math
from math import inf

from nmt.config.sections import SearchConfig, TokenizerConfig, TrainConfig
from nmt.errors import ConfigError


def check_tokenizer(cfg: TokenizerConfig) -> None:
    """Refuse values that no corpus could make work."""
    smallest = 4 + 256 * cfg.byte_fallback + 1
    if cfg.vocab_size < smallest:
        raise ConfigError(
            f"tokenizer.vocab_size={cfg.vocab_size} is too small: special pieces"
            f"{' and bytes' if cfg.byte_fallback else ''} alone need {smallest - 1}; set at least {smallest}"
        )
    if not 0 < cfg.character_coverage <= 1:
        raise ConfigError(
            f"tokenizer.character_coverage={cfg.character_coverage} is not a share; set it above 0, at most 1"
        )
    if cfg.max_sentences < 1:
        raise ConfigError(f"tokenizer.max_sentences={cfg.max_sentences} leaves nothing to train on; set at least 1")
    if cfg.sampling_alpha is None:
        return
    if cfg.model in ("char", "word"):
        raise ConfigError(
            f"tokenizer.sampling_alpha={cfg.sampling_alpha} is set, but tokenizer.model={cfg.model} has one"
            " segmentation only; set it to null"
        )
    if cfg.sampling_alpha <= 0 or (cfg.model == "bpe" and cfg.sampling_alpha >= 1):
        raise ConfigError(
            f"tokenizer.sampling_alpha={cfg.sampling_alpha} is out of range; set null (off) or above 0"
            f"{' and below 1' if cfg.model == 'bpe' else ''}"
        )


MOST_HYPOTHESES = 10_000  # hypotheses of a sentence


def check_search(cfg: SearchConfig) -> None:
    """Raise ConfigError, with key, value and remedy, for values that no search can use."""
    more = "give 1 or more"
    rules = [
        ("beam", cfg.beam >= 1, f"{more} (1 = greedy)"),
        ("beam", cfg.beam <= MOST_HYPOTHESES, f"give {MOST_HYPOTHESES:,} or less"),
        ("n_best", cfg.n_best <= 10 * MOST_HYPOTHESES, f"give {10 * MOST_HYPOTHESES:,} or less"),  # draws
        ("n_best", cfg.n_best >= 1, more),
        ("n_best", cfg.sample or cfg.n_best <= cfg.beam, f"give search.beam={cfg.n_best} with it, or sample"),
        ("alpha", 0 <= cfg.alpha <= 5, "give 0 (no length penalty) to 5"),
        ("coverage_penalty", 0 <= cfg.coverage_penalty < inf, "give 0 (off) or more"),
        ("max_length_a", 0 <= cfg.max_length_a <= 100_000, "give 0 to 100,000 tokens"),
        ("max_length_b", 0 <= cfg.max_length_b <= 100, "give 0 to 100 tokens per source token"),
        (
            "max_length_a",
            cfg.max_length_a + cfg.max_length_b > 0,
            "give more, here or in search.max_length_b",
        ),
        (
            "no_repeat_ngram",
            cfg.no_repeat_ngram is None or cfg.no_repeat_ngram >= 1,
            f"{more}, or null (off)",
        ),
        ("temperature", 1e-6 <= cfg.temperature <= 1e6, "give 1e-6 to 1e6 (1 = the model's own probabilities)"),
        ("top_k", cfg.top_k is None or cfg.top_k >= 1, f"{more}, or null (all tokens)"),
        (
            "top_p",
            cfg.top_p is None or 0 < cfg.top_p <= 1,
            "give more than 0, at most 1, or null (all tokens)",
        ),
        ("batch_sentences", cfg.batch_sentences >= 1, more),
    ]
    for key, good, remedy in rules:
        if not good:
            raise ConfigError(f"search.{key}={getattr(cfg, key)} cannot be used in a search; {remedy}")


def check_seed(seed: int) -> None:
    """Random generators take whole numbers of limited size, and there is one for each update."""
    if not 0 <= seed < 2**32:
        raise ConfigError(f"seed is {seed}; it must lie between 0 and {2**32 - 1}")


LARGEST_COUNT = 10**12  # that a setting may ask for


def check_settings(settings: TrainConfig) -> None:
    """Refuses values that no run can have."""
    lowest = {"batch_tokens": 1, "accumulate": 1, "keep_best": 1, "log_every": 1, "examples": 0}
    ends = {"max_updates": 1, "max_epochs": 1, "patience": 1}
    optional = ends | {"validate_every": 1, "threads": 1, "bleu_sentences": 0}
    for key, least in (lowest | optional).items():
        value = getattr(settings, key)
        if value is not None and value < least:
            raise ConfigError(f"train.{key} is {value}; it must be at least {least}")
        most = 10_000 if key == "threads" else LARGEST_COUNT
        if value is not None and value > most:
            raise ConfigError(f"train.{key} is {value}; it must be at most {most:,}")
    if settings.clip_norm is not None and not settings.clip_norm > 0:
        raise ConfigError(f"train.clip_norm is {settings.clip_norm}; it must be above 0, or null (off)")
    if settings.init_range is not None and not settings.init_range > 0:
        raise ConfigError(f"train.init_range is {settings.init_range}; it must be above 0, or null (off)")
    if not 0 <= settings.label_smoothing < 1:
        raise ConfigError(f"train.label_smoothing is {settings.label_smoothing}; it must lie in [0, 1)")
    if not 0 <= settings.consistency < math.inf:
        raise ConfigError(f"train.consistency is {settings.consistency}; it must be at least 0")
    if settings.max_updates is None and settings.max_epochs is None and settings.patience is None:
        raise ConfigError("train.max_updates, train.max_epochs and train.patience are all null; set one to end the run")
    if settings.metric == "bleu" and settings.bleu_sentences == 0:
        raise ConfigError("train.metric is bleu, but train.bleu_sentences is 0; set train.metric=loss")
