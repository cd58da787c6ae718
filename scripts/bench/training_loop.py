"""The training loop of `nmt train` as it is, with a clock: data, logging and gradient clipping included."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench import machine
from bench.usage import Usage
from nmt.config.compose import command_of
from nmt.config.run import RunConfig
from nmt.config.verbs import TrainCommand
from nmt.data.prepare import Prepared
from nmt.machine.peers import ALONE, Peers
from nmt.model.seq2seq import Seq2Seq
from nmt.training.progress import Progress
from nmt.training.run import new_model, read_data
from nmt.training.trainer import Trainer
from nmt.training.untrainable import refuse_untrainable


@dataclass(frozen=True)
class Loop:
    """Some time of training."""

    updates: int
    tokens: int  # real target tokens
    seconds: float
    waited_s: float  # for batches
    others: float  # share of the machine that other processes used meanwhile

    @property
    def tokens_per_s(self) -> float:
        """Real target tokens per second."""
        return self.tokens / self.seconds


def configuration(words: Sequence[str]) -> RunConfig:
    """Of `nmt train` with these words."""
    command: TrainCommand = command_of("train", ["name=bench", "train.examples=0", *words])
    return command.run


@contextmanager
def ready_to_train(words: Sequence[str], peers: Peers = ALONE) -> Iterator[Trainer]:
    """A trainer at its first update, as `nmt train` with these words makes it; its folder goes with the block."""
    config = configuration(words)
    prepared = read_data(config, None, peers)
    with tempfile.TemporaryDirectory() as folder:
        trainer = new_trainer(config, prepared, new_model(config, prepared.tokenizers), Path(folder), peers)
        yield trainer
        trainer.reporter.close()


def new_trainer(config: RunConfig, prepared: Prepared, model: Seq2Seq, folder: Path, peers: Peers = ALONE) -> Trainer:
    """At its first update."""
    refuse_untrainable(config)
    return Trainer(folder, config, prepared, model, Progress(), peers=peers)


def trained_for(
    seconds: float, trainer: Trainer, warm_up: int, after_update: Callable[[], None] = lambda: None
) -> Loop:
    """Trains for so long; the clock starts after so many updates."""
    for _ in range(warm_up):
        trainer.update()
    machine.wait(trainer.device)
    first, tokens, waited_s = trainer.progress.update, trainer.progress.tokens, 0.0
    until = perf_counter() + seconds
    with Usage() as usage:
        while perf_counter() < until:
            trainer.update()
            waited_s += trainer.data.waited_s
            after_update()
        machine.wait(trainer.device)
    updates, tokens = trainer.progress.update - first, trainer.progress.tokens - tokens
    return Loop(updates, tokens, usage.wall_s, waited_s, usage.others)
