"""`nmt prepare`: makes the tokenizer and the encoded corpus, and caches them."""

import sys
from pathlib import Path

from nmt.config.languages import shown_languages
from nmt.config.verbs import TrainCommand
from nmt.data.prepare import prepare
from nmt.machine.home import expanded
from nmt.training.first_weights import config_from
from nmt.training.recipe import filled


def main(command: TrainCommand) -> int:
    """Fills the cache and prints what was read, dropped and made."""
    command = filled(command)
    run, given = command.run, None
    if run.init_from is not None:  # a model that is trained further keeps its tokenizers
        run, _, given = config_from(expanded(run.init_from), run, command.changes, command.trust)
    print(shown_languages(run.data), file=sys.stderr)
    cache_dir = Path(run.cache_dir)
    report = prepare(run.data, run.tokenizer, cache_dir, given).report
    print(*report, f"cached in {expanded(cache_dir)}", sep="\n")
    return 0
