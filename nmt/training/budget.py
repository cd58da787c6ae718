"""`budget=30m`: what is learned best in this time on this machine, decided once, before the first update.

A run of the recipe's smallest size is begun in a temporary folder and timed for some seconds; so is one of a larger
size, where that would learn enough in this time. What follows are plain values of the configuration: from then on
nothing depends on the clock.
"""

import importlib
import io
import math
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.config.run import RunConfig
from nmt.config.times import seconds_of
from nmt.config.verbs import TrainCommand
from nmt.data.corpus import read_corpus
from nmt.data.prepare import Prepared
from nmt.errors import ConfigError
from nmt.machine.launch import since_start_s
from nmt.machine.peers import Peers
from nmt.model.seq2seq import Seq2Seq
from nmt.training.first_weights import random_model
from nmt.training.progress import Progress
from nmt.training.recipe import (
    MOST_TIMES_AS_LONG,
    MOST_VALIDATIONS,
    Choice,
    Effort,
    Facts,
    Size,
    applies,
    epochs_of,
    facts_of,
    filled,
    is_recurrent,
    sizes,
    with_choices,
)
from nmt.training.trainer import Trainer

FILLED = 0.94  # of the budget: a timed run was up to 7 % faster than the whole one
FIRST_UPDATES = 4  # of a timed run: kernels are made, memory is fetched
LEAST_TIMED, MOST_TIMED = 6, 400  # updates
TIMED_SHARE, LEAST_TIMED_S, MOST_TIMED_S = 0.02, 4.0, 20.0  # of the budget, for one timed run
MANY = 10**9  # updates: more than any run takes
LEAST_UPDATES = 20  # that a training is worth
VALIDATIONS_SHARE = 0.1  # of the time, at most
LEAST_VALIDATIONS = 2
AFTERWARDS = 2.5  # validations' time after the last one: the average's scores, and the judgement


@dataclass(frozen=True)
class Pace:
    """Of a run."""

    update_s: float
    validation_s: float
    updates_per_epoch: int
    weights: int  # numbers that a token is multiplied with

    def updates_in(self, seconds: float) -> tuple[int, int]:
        """So many updates fit with their validations, and every how many a validation."""
        seconds -= AFTERWARDS * self.validation_s
        validations = int(VALIDATIONS_SHARE * seconds / self.validation_s)
        validations = max(LEAST_VALIDATIONS, min(MOST_VALIDATIONS, validations))
        updates = int((seconds - validations * self.validation_s) / self.update_s)
        return updates, max(1, -(-updates // validations))


def within_budget(
    command: TrainCommand, config: RunConfig, prepared: Prepared, peers: Peers
) -> tuple[RunConfig, float]:
    """The configuration of a run that ends within `command.budget`, counted from the start of the command.

    And the seconds that a validation takes. `config` is that without a budget. All processes get the same.
    """
    assert command.budget is not None
    budget = seconds_of(command.budget)
    timed_s = min(MOST_TIMED_S, max(LEAST_TIMED_S, TIMED_SHARE * budget))
    left = partial(seconds_left, budget, peers)
    if not applies(command):
        pace = timed(config, prepared, timed_s, peers)
        updates, every = fitting(command.budget, pace, left())
        print(told(command.budget, pace), file=sys.stderr)
        return with_length(config, updates, every, command), pace.validation_s
    facts = facts_of(read_corpus(config.data, Path(config.cache_dir).expanduser()).path("train"))
    epochs = epochs_of(facts)
    size = sizes(facts)[0] if is_recurrent(config) else None
    chosen = filled(command, say=False, effort=Effort(MANY, MANY, 1.0, size))
    pace = timed(chosen.run, prepared, timed_s, peers)
    larger = None if size is None else largest(command, prepared, facts, pace, left() - timed_s)
    if larger not in (None, size):
        size, chosen = larger, filled(command, say=False, effort=Effort(MANY, MANY, 1.0, larger))
        pace = timed(chosen.run, prepared, timed_s, peers)
    updates, every = fitting(command.budget, pace, left())
    most = round(MOST_TIMES_AS_LONG * epochs * pace.updates_per_epoch)
    print(told(command.budget, pace), file=sys.stderr)
    if updates > most:
        takes = (most * pace.update_s + (most / every) * pace.validation_s) / 60
        print(
            f"  it will not take all of it, but about {takes:.0f} min: a longer training no longer pays",
            file=sys.stderr,
        )
        updates = most
    share = updates / pace.updates_per_epoch / epochs
    return filled(command, effort=Effort(updates, min(every, updates), share, size)).run, pace.validation_s


def seconds_left(budget: float, peers: Peers) -> float:
    """Of the budget, by the clock of the first process."""
    first: float = peers.gathered(FILLED * budget - since_start_s())[0]
    return first


def timed(config: RunConfig, prepared: Prepared, seconds: float, peers: Peers) -> Pace:
    """The pace of a run that is begun in a temporary folder for about so long, and one validation."""
    with TemporaryDirectory(prefix="nmt-budget-") as folder:
        model = random_model(config, prepared.tokenizers)
        trainer = Trainer(Path(folder), config, prepared, model, Progress(), None, peers)
        trainer.reporter = type(trainer.reporter)(Path(folder), None, Progress(), MANY, io.StringIO())
        if trainer.validator is not None:  # a model that has learned nothing does not know where to end
            trainer.validator.greedy = replace(trainer.validator.greedy, max_length_a=0.0, max_length_b=1.0)
        first_s = seconds_for(trainer, FIRST_UPDATES, peers) / FIRST_UPDATES
        updates = min(MOST_TIMED, max(LEAST_TIMED, int(seconds / first_s)))
        update_s = seconds_for(trainer, updates, peers) / updates
        importlib.import_module("nmt.figures.attention")  # a run does it once
        start = time.perf_counter()
        trainer.validate()
        validation_s: float = peers.gathered(time.perf_counter() - start)[0]
        trainer.reporter.close()
        return Pace(update_s, validation_s, trainer.data.updates_in_first_epoch, weights_of(model))


def seconds_for(trainer: Trainer, updates: int, peers: Peers) -> float:
    """Of the first process, for so many updates."""
    start = time.perf_counter()
    for _ in range(updates):
        trainer.update()
    first: float = peers.gathered(time.perf_counter() - start)[0]
    return first


def weights_of(model: Seq2Seq) -> int:
    """Numbers that a token is multiplied with: those of all matrices, but for the source's embeddings."""
    parts = ("encoder", "decoder", "output")
    matrices = {p for name, p in model.named_parameters() if name.split(".")[0] in parts and p.dim() > 1}
    return sum(each.numel() for each in matrices)


def largest(command: TrainCommand, prepared: Prepared, facts: Facts, pace: Pace, seconds: float) -> Size:
    """The largest size of the recipe that reads the text often enough in this time, by the pace of the smallest."""
    smallest, *larger = sizes(facts)
    for size in reversed(larger):
        config = filled(command, say=False, effort=Effort(MANY, MANY, 1.0, size)).run
        weights = weights_of(random_model(config, prepared.tokenizers))
        passes = 2 if config.train.consistency else 1
        slower = replace(pace, update_s=pace.update_s * passes * weights / pace.weights)
        updates, _ = slower.updates_in(seconds)
        if updates / pace.updates_per_epoch >= size.least * epochs_of(facts):
            return size
    return smallest


def fitting(budget: str, pace: Pace, seconds: float) -> tuple[int, int]:
    """Updates in this time, and every how many a validation; refuses a budget that is too small for any."""
    updates, every = pace.updates_in(seconds)
    if updates < LEAST_UPDATES:
        gone = FILLED * seconds_of(budget) - seconds
        needed = LEAST_UPDATES * pace.update_s + (LEAST_VALIDATIONS + AFTERWARDS) * pace.validation_s
        raise ConfigError(
            f"budget={budget} leaves no time to train: {gone:.0f} s have gone already, an update takes "
            f"{pace.update_s:.2g} s and a validation {pace.validation_s:.2g} s; give at least "
            f"budget={math.ceil(1.2 * (gone + needed) / FILLED)}s"
        )
    return updates, every


def told(budget: str, pace: Pace) -> str:
    """What was measured."""
    return (
        f"budget={budget}: after {since_start_s():.0f} s of preparation; measured {pace.update_s:.3g} s an update and "
        f"{pace.validation_s:.2g} s a validation"
    )


def with_length(config: RunConfig, updates: int, every: int, command: TrainCommand) -> RunConfig:
    """The configuration of a run that takes so many updates."""
    why = "so many fit into the budget"
    choices = [
        Choice("train.max_updates", updates, why),
        Choice("train.max_epochs", None, why),
        Choice("train.validate_every", every, why),
    ]
    if config.schedule.arguments["warmup"] > updates / 4:
        choices.append(Choice("schedule.warmup", updates // 4, why))
    choices = [each for each in choices if each.key not in command.changes.values]
    print(f"  the same by hand: {' '.join(each.word for each in choices)}", file=sys.stderr)
    return with_choices(config, choices, command.changes, command.trust)
