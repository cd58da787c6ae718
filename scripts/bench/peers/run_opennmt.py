"""OpenNMT-py's own command lines, with a counter around each update or a clock around its translation.

    python -m bench.peers.run_opennmt count CONFIG SENTENCES
    python -m bench.peers.run_opennmt train CONFIG SECONDS WARM_UP
    python -m bench.peers.run_opennmt translate WORD …             (words for onmt_translate)

Runs in OpenNMT-py's environment, where nmt is not installed.
"""

import sys
from typing import Any

import torch
from onmt.bin import train as onmt_train  # type: ignore[import-not-found]
from onmt.bin import translate as onmt_translate
from onmt.inputters import dynamic_iterator  # type: ignore[import-not-found]
from onmt.trainer import Trainer  # type: ignore[import-not-found]
from onmt.translate.translator import Inference  # type: ignore[import-not-found]

from bench.peers.meter import Census, Clock, Enough, Meter, report

UNKNOWN = 0  # its number of the unknown piece


def count(config: str, sentences: int) -> None:
    """Reads one epoch as for training, and trains nothing.

    Counted before batches are cut: those leave out a pair whose source is in the batch already.
    """
    census, original = Census(sentences), dynamic_iterator.numericalize

    def numericalize(vocabularies: Any, example: Any) -> Any:
        read = original(vocabularies, example)
        numbers = list(read["tgt"]["tgt_ids"])[1:]  # the first begins the sentence
        census.batch(1, len(numbers), numbers.count(UNKNOWN))
        return read

    dynamic_iterator.numericalize = numericalize
    try:
        train_as(config)
    except Enough:
        report(dict(census.figures), torch.get_num_threads())


def train(config: str, meter: Meter) -> None:
    """Trains until the meter has enough."""
    original, tokens = Trainer._gradient_accumulation, 0

    def step(trainer: Any, batches: Any, *rest: Any) -> None:
        nonlocal tokens
        meter.update(tokens)
        tokens += sum(target_tokens(trainer, batch).numel() for batch in batches)
        original(trainer, batches, *rest)

    Trainer._gradient_accumulation = step
    try:
        train_as(config)
    except Enough:
        report(meter.figures, torch.get_num_threads())


def target_tokens(trainer: Any, batch: Any) -> torch.Tensor:
    """The predicted target tokens of a batch: without padding, and without the first, which begins the sentence."""
    predicted = batch["tgt"][:, 1:, 0]
    real: torch.Tensor = predicted[predicted != trainer.train_loss.padding_idx]
    return real


def train_as(config: str) -> None:
    """`onmt_train` with this configuration."""
    sys.argv = ["onmt_train", "-config", config]
    onmt_train.main()


def translate(words: list[str]) -> None:
    """`onmt_translate` with these words."""
    original, clock = Inference._translate, Clock()

    def timed(inference: Any, *given: Any, **named: Any) -> Any:  # whichever way its engine calls it
        with clock:
            return original(inference, *given, **named)

    Inference._translate = timed
    sys.argv = ["onmt_translate", *words]
    onmt_translate.main()
    report(clock.figures, torch.get_num_threads())


if __name__ == "__main__":
    task, *rest = sys.argv[1:]
    if task == "count":
        count(rest[0], int(rest[1]))
    elif task == "train":
        train(rest[0], Meter(float(rest[1]), int(rest[2])))
    elif task == "translate":
        translate(rest)
    else:
        sys.exit(f"unknown task {task}")
