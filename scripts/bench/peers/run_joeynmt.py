"""JoeyNMT's own command line, with a counter around each update or a clock around its prediction.

    python -m bench.peers.run_joeynmt count CONFIG SENTENCES
    python -m bench.peers.run_joeynmt train CONFIG SECONDS WARM_UP
    python -m bench.peers.run_joeynmt translate CONFIG OUTPUT      (writes OUTPUT.test)

Runs in JoeyNMT's environment, where nmt is not installed.
"""

import sys
from typing import Any

import torch
from joeynmt import __main__ as command_line  # type: ignore[import-not-found]
from joeynmt import prediction
from joeynmt.training import TrainManager  # type: ignore[import-not-found]

from bench.peers.meter import Census, Clock, Enough, Meter, report


def run(*words: str) -> None:
    """`joeynmt` with these words."""
    sys.argv = ["joeynmt", *words]
    command_line.main()


def count(config: str, sentences: int) -> None:
    """Reads one epoch as for training, and trains nothing."""
    census = Census(sentences)

    def step(manager: Any, batch: Any) -> tuple[float, int]:
        real = batch.trg[batch.trg != manager.model.pad_index]
        unknown = int((real == manager.model.unk_index).sum())
        census.batch(batch.trg.size(0), real.numel(), unknown)
        return 0.0, 0

    TrainManager._train_step = step
    try:
        run("train", config, "--skip-test")
    except Enough:
        report(dict(census.figures), torch.get_num_threads())


def train(config: str, meter: Meter) -> None:
    """Trains until the meter has enough."""
    original, tokens = TrainManager._train_step, 0

    def step(manager: Any, batch: Any) -> Any:
        nonlocal tokens
        meter.update(tokens)
        tokens += int((batch.trg != manager.model.pad_index).sum())
        return original(manager, batch)

    TrainManager._train_step = step
    try:
        run("train", config, "--skip-test")
    except Enough:
        report(meter.figures, torch.get_num_threads())


def translate(config: str, output: str) -> None:
    """Translates the test split."""
    original, clock = prediction.predict, Clock()

    def predict(**settings: Any) -> Any:  # as `joeynmt test` calls it
        with clock:
            return original(**settings)

    prediction.predict = predict
    run("test", config, "-o", output)
    report(clock.figures, torch.get_num_threads())


if __name__ == "__main__":
    task, config, *rest = sys.argv[1:]
    if task == "count":
        count(config, int(rest[0]))
    elif task == "train":
        train(config, Meter(float(rest[0]), int(rest[1])))
    elif task == "translate":
        translate(config, rest[0])
    else:
        sys.exit(f"unknown task {task}")
