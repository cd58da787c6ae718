"""`nmt shortlist`: learns which pieces a model may write."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from nmt.config.check import read_section
from nmt.config.plain import overlay
from nmt.config.sections import DataConfig, TokenizerConfig
from nmt.data.prepare import prepare
from nmt.errors import ConfigError
from nmt.runs.lock import refuse_unwritable
from nmt.runs.shortlist_file import write_shortlist
from nmt.translation.learn_shortlist import (
    chosen,
    coverage,
    learn,
)
from nmt.translation.open import open_scorer


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Learns a shortlist and puts it into the run folder."""
    check(config)
    start = perf_counter()
    translator = open_scorer(config, typed)
    if not translator.has_attention:
        raise ConfigError(
            f"the model has no attention to learn a shortlist from, model={config['model']}; name one with attention"
        )
    run = Path(config["model"]).expanduser()
    refuse_unwritable(run)
    data = read_section(DataConfig, overlay(translator.config, typed, ["data"])["data"], "data")
    tokenizer = read_section(TokenizerConfig, translator.config["tokenizer"], "tokenizer")
    prepared = prepare(data, tokenizer, Path(config["cache_dir"]), translator.tokenizers)
    train, dev = chosen(prepared.train, config["sentences"]), chosen(prepared.dev, None)
    shortlist = learn(translator, train, config["best"], config["frequent"]).to(translator.device)
    vocab = translator.tokenizers.tgt.vocab_size
    candidates, held = coverage(shortlist, train, vocab)
    shown = f"{held:.2%} of the pieces of the training targets"
    if len(dev.rows):
        candidates, held = coverage(shortlist, dev, vocab)  # of sentences that it has not been learned from
        shown += f", {held:.2%} of the dev targets"
    path = write_shortlist(run, replace(shortlist, candidates=candidates), translator.checksum)
    about = f"a sentence may use about {candidates:,.0f} of {vocab:,} pieces"
    read = f"{len(train.rows):,} pairs read in {perf_counter() - start:,.0f} s"
    print(f"{about}; they hold {shown}; {read}; it is in {path}", file=sys.stderr)
    return 0


def check(config: Mapping[str, Any]) -> None:
    """Refuses sizes that no shortlist can have."""
    for key, least in {"best": 1, "frequent": 0, "sentences": 1}.items():
        if config[key] is not None and config[key] < least:
            raise ConfigError(f"{key}={config[key]} is not possible; give {least} or more")
