"""`nmt train` and `nmt translate` with the counter and the clock that the peers get.

python -m bench.peers.run_nmt train SECONDS WARM_UP WORD …     (words for nmt train)
python -m bench.peers.run_nmt translate WORD …                 (words for nmt translate)
"""

import sys
from collections.abc import Sequence

import torch

from bench.peers.meter import Clock, Enough, Meter, report
from nmt.cli.main import main
from nmt.config.sections import SearchConfig
from nmt.training.trainer import Trainer
from nmt.translation.translations import Translation
from nmt.translation.translator import Translator


def train(meter: Meter, words: list[str]) -> int:
    """Trains until the meter has enough; the exit code."""
    original = Trainer.update

    def update(trainer: Trainer) -> None:
        meter.update(trainer.progress.tokens)
        original(trainer)

    Trainer.update = update  # type: ignore[assignment, method-assign]
    try:
        return main(["train", *words])
    except Enough:
        report(meter.figures, torch.get_num_threads())
        return 0


def translate(words: list[str]) -> int:
    """Translates a file that is searched at one go; the exit code."""
    original, clock, found = Translator.translate, Clock(), list[Translation]()

    def timed(
        translator: Translator,
        sentences: Sequence[str],
        attention: bool = False,
        settings: SearchConfig | None = None,
        prefixes: None = None,
    ) -> list[Translation]:
        assert not found, "the file is longer than what is translated at one go"
        with clock:
            found.extend(original(translator, sentences, attention, settings, prefixes))
        return found

    Translator.translate = timed  # type: ignore[assignment, method-assign]
    code = main(["translate", *words])
    if code == 0:
        pieces = {f"{side}_pieces": sum(len(getattr(t, f"{side}_pieces")) for t in found) for side in ("src", "tgt")}
        report({**clock.figures, **pieces}, torch.get_num_threads())
    return code


if __name__ == "__main__":
    task, *rest = sys.argv[1:]
    if task == "train":
        sys.exit(train(Meter(float(rest[0]), int(rest[1])), rest[2:]))
    sys.exit(translate(rest))
