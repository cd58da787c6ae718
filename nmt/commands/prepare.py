"""`nmt prepare`: makes the tokenizer and the encoded corpus, and caches them."""

from pathlib import Path

from nmt.config.verbs import TrainCommand
from nmt.data.prepare import prepare
from nmt.machine.home import expanded
from nmt.training.recipe import filled


def main(command: TrainCommand) -> int:
    """Fills the cache and prints what was read, dropped and made."""
    command = filled(command)
    cache_dir = Path(command.run.cache_dir)
    report = prepare(command.run.data, command.run.tokenizer, cache_dir).report
    print(*report, f"cached in {expanded(cache_dir)}", sep="\n")
    return 0
