"""`nmt shortlist`: learns which pieces a model may write."""

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from nmt.config.unread import refuse_unread
from nmt.config.verbs import ShortlistCommand
from nmt.data.prepare import prepare
from nmt.errors import ConfigError, counted
from nmt.machine.home import expanded
from nmt.machine.safe_files import refuse_unwritable
from nmt.runs.shortlist_file import write_shortlist
from nmt.translation.learn_shortlist import (
    coverage,
    drawn_pairs,
    learn,
)
from nmt.translation.open import open_scorer


def main(command: ShortlistCommand) -> int:
    """Learns a shortlist and puts it into the run folder."""
    start = perf_counter()
    translator = open_scorer(command)
    if not translator.has_attention:
        raise ConfigError(
            f"the model has no attention to learn a shortlist from, model={command.model}; name one with attention"
        )
    run = expanded(command.model)
    refuse_unwritable(run, "model")
    data = command.changes.of(translator.config.data)
    refuse_unread(data, command.changes)
    prepared = prepare(data, translator.config.tokenizer, Path(command.cache_dir), translator.tokenizers)
    train, dev = (
        drawn_pairs(prepared.train, command.sentences, command.seed),
        drawn_pairs(prepared.dev, None, command.seed),
    )
    shortlist = learn(translator, train, command.best, command.frequent).to(translator.device)
    vocab = translator.tokenizers.tgt.vocab_size
    candidates, held = coverage(shortlist, train, vocab)
    shown = f"{held:.2%} of the pieces of the training targets"
    if len(dev.rows):
        candidates, held = coverage(shortlist, dev, vocab)  # on sentences that it was not learned from
        shown += f", {held:.2%} of the dev targets"
    path = write_shortlist(run, replace(shortlist, candidates=candidates), translator.checksum)
    about = f"a sentence may use about {candidates:,.0f} of {vocab:,} pieces"
    read = f"{counted(len(train.rows), 'pair')} read in {perf_counter() - start:,.0f} s"
    print(f"{about}; they hold {shown}; {read}; it is in {path}", file=sys.stderr)
    return 0
