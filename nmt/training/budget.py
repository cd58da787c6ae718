"""`budget=30m`: decides once, before the first update, which training learns most in this time on this machine.

A run of the recipe's smallest size is started in a temporary folder and timed for some seconds. If a larger size would
learn enough in the budget, a run of that size is timed as well. The decision is stored as plain values of the
configuration: from then on, nothing depends on the clock.
"""

import importlib
import io
import math
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.config.plain import overlay
from nmt.config.run import RunConfig, read_run_config
from nmt.config.times import seconds_of
from nmt.config.verbs import TrainCommand
from nmt.data.prepare import Prepared
from nmt.errors import ConfigError
from nmt.machine.launch import since_start_s
from nmt.machine.peers import Peers
from nmt.machine.signals import unwinding
from nmt.model.build import build_outline
from nmt.model.seq2seq import Seq2Seq
from nmt.training.agreement import agreed
from nmt.training.first_weights import random_model
from nmt.training.progress import Progress
from nmt.training.recipe import (
    MOST_TIMES_AS_LONG,
    MOST_VALIDATIONS,
    QUICK_SENTENCES,
    SECTIONS,
    Choice,
    Effort,
    Recipe,
    Training,
    budget_choices,
    by_hand,
    passes_of,
    readings_of,
    trainings,
)
from nmt.training.trainer import Trainer

FILLED = 0.94  # share of the budget to plan for: a timed run was up to 7 % faster than the whole run
FIRST_UPDATES = 4  # updates before the timing, while kernels are made and memory is fetched
LEAST_TIMED, MOST_TIMED = 6, 400  # updates that are timed
TIMED_SHARE, LEAST_TIMED_S, MOST_TIMED_S = 0.02, 4.0, 20.0  # share of the budget for one timed run, and its limits
MANY = 10**9  # updates: more than any run takes
LEAST_UPDATES = 20  # a training with fewer is not worth its time
VALIDATIONS_SHARE = 0.1  # share of the time that validations may take
LEAST_VALIDATIONS = 2
QUICK_S = 0.6  # seconds of budget for each dev sentence: with fewer, validations are quick
LITTLE, ENOUGH = 0.1, 1 / 3  # shares of the recommended training: below the first, a caution names time for the second
AFTERWARDS = 2.5  # time after the last validation, in validations: scores of the average, and the judgement
AFTER_ONE = 1.0  # the same where there is one validation, so no average


@dataclass(frozen=True)
class Pace:
    """The speed of a run, as measured."""

    update_s: float
    validation_s: float
    updates_per_epoch: int
    passes: int  # of each batch, in an update
    weights: int  # how many each token is multiplied by (`weights_of`)
    quick: bool = False  # are validations quick, because time is short? Then one is enough

    def readings(self, updates: int) -> float:
        """How often so many updates read the text."""
        return self.passes * updates / self.updates_per_epoch

    def updates_in(self, seconds: float, every: int | None = None) -> tuple[int, int]:
        """How many updates fit into this time with their validations, and how many updates lie between validations.

        `every`: the user chose how many lie between them.
        """
        before_end = seconds - AFTERWARDS * self.validation_s
        if every is not None and (alone := int((seconds - self.validations_s(1)) / self.update_s)) <= every:
            return alone, every
        if every is not None:
            before_last = before_end - self.validation_s
            return max(every, int(before_last / (self.update_s + self.validation_s / every))), every
        validations = int(VALIDATIONS_SHARE * before_end / self.validation_s)
        validations = max(self.least_validations, min(MOST_VALIDATIONS, validations))
        updates = int((seconds - self.validations_s(validations)) / self.update_s)
        return updates, max(1, -(-updates // validations))

    @property
    def least_validations(self) -> int:
        """How many validations a run has at least."""
        return 1 if self.quick else LEAST_VALIDATIONS

    def validations_s(self, validations: int) -> float:
        """The time that so many validations take, and what comes after the last one."""
        return (validations + (AFTER_ONE if validations == 1 else AFTERWARDS)) * self.validation_s


def within_budget(
    command: TrainCommand, recipe: Recipe | None, config: RunConfig, prepared: Prepared, peers: Peers
) -> tuple[RunConfig, float]:
    """The configuration of a run that ends within `command.budget`, and the seconds that a validation takes.

    The budget counts from the start of the command. `config` is the configuration without a budget. All processes get
    the same result.
    """
    assert command.budget is not None
    budget = seconds_of("budget", command.budget)
    timed_s = min(MOST_TIMED_S, max(LEAST_TIMED_S, TIMED_SHARE * budget))
    quick = len(prepared.dev) > QUICK_SENTENCES and budget < QUICK_S * len(prepared.dev)
    left = partial(seconds_left, budget, peers)
    further = config.init_from is not None
    if recipe is None:
        pace = timed(config, prepared, timed_s, peers)
        updates, every = affordable(command, pace, left())
        return with_length(command, config, updates, every), pace.validation_s

    def filled(effort: Effort) -> RunConfig:
        """All processes get the parts of the first one: machines may have different numbers of cores."""
        return agreed(recipe.filled(effort), command.trust, peers)

    def pace_of(training: Training | None) -> Pace:
        unlimited = Effort(MANY, MANY, 1.0, training, quick)
        return replace(timed(filled(unlimited), prepared, timed_s, peers), quick=quick)

    training = None if further else trainings(recipe.facts, config)[0]
    pace = pace_of(training)
    if training is not None:
        found = longest(recipe, prepared, pace, left() - timed_s)
        if found != training:
            training, pace = found, pace_of(found)
    updates, every = affordable(command, pace, left())
    recommended = readings_of(recipe.facts, further)
    most = round((1 if further else MOST_TIMES_AS_LONG) * recommended * pace.updates_per_epoch / pace.passes)
    if updates > most:
        if typed_interval(command, pace) is None:
            every = math.ceil(most / math.ceil(updates / every))  # as many validations as in the whole budget
        minutes = (most * pace.update_s + (most / every) * pace.validation_s) / 60
        what = f"about {minutes:.0f} min: longer would not pay"
        print(f"  the training takes only {what}", file=sys.stderr)
        updates = most
    share = pace.readings(updates) / recommended
    effort = Effort(updates, min(every, updates), share, training, quick)
    if effort.share < LITTLE:
        print(f"caution: {too_short(command, effort, pace)}", file=sys.stderr)
    recipe.say(effort)
    return filled(effort), pace.validation_s


def seconds_left(budget: float, peers: Peers) -> float:
    """Seconds of the budget that are left to plan with, by the clock of the first process."""
    first: float = peers.gathered(FILLED * budget - since_start_s())[0]
    return first


def timed(config: RunConfig, prepared: Prepared, seconds: float, peers: Peers) -> Pace:
    """The pace of a run that is started in a temporary folder, trained for about `seconds` and validated once."""
    with unwinding(), TemporaryDirectory(prefix="nmt-budget-") as folder:
        model = random_model(config, prepared.tokenizers)
        trainer = Trainer(Path(folder), config, prepared, model, Progress(), None, peers)
        trainer.reporter.stream = io.StringIO()
        if trainer.validator is not None:  # an untrained model does not know where to end a translation
            trainer.validator.greedy = replace(trainer.validator.greedy, max_length_a=0.0, max_length_b=1.0)
        first_s = seconds_for(trainer, FIRST_UPDATES, peers) / FIRST_UPDATES
        updates = min(MOST_TIMED, max(LEAST_TIMED, int(seconds / first_s)))
        before_s = seconds_for(trainer, updates // 2, peers)
        importlib.import_module("nmt.figures.attention")  # a run imports it once, so a validation's time leaves it out
        start = time.perf_counter()
        trainer.validate()
        validation_s: float = peers.gathered(time.perf_counter() - start)[0]
        after_s = seconds_for(trainer, updates - updates // 2, peers)  # some seconds later, a machine may be slower
        trainer.reporter.close()
        of_epoch = trainer.data.updates_in_first_epoch
        update_s = (before_s + after_s) / updates
        return Pace(update_s, validation_s, of_epoch, passes_of(config.train.consistency), weights_of(model))


def seconds_for(trainer: Trainer, updates: int, peers: Peers) -> float:
    """Seconds that the first process takes for this many updates."""
    start = time.perf_counter()
    for _ in range(updates):
        trainer.update()
    first: float = peers.gathered(time.perf_counter() - start)[0]
    return first


def weights_of(model: Seq2Seq) -> int:
    """How many weights each token is multiplied by: those in all matrices except the source embeddings."""
    parts = ("encoder", "decoder", "output")
    matrices = {p for name, p in model.named_parameters() if name.split(".")[0] in parts and p.dim() > 1}
    return sum(each.numel() for each in matrices)


def longest(recipe: Recipe, prepared: Prepared, pace: Pace, seconds: float) -> Training:
    """The recipe's longest training that can read the text often enough in this time, given the shortest one's pace."""
    shortest, *longer = trainings(recipe.facts, recipe.command.run)
    vocabularies = prepared.tokenizers.src.vocab_size, prepared.tokenizers.tgt.vocab_size
    for training in reversed(longer):
        config = recipe.filled(Effort(MANY, MANY, 1.0, training))
        passes = passes_of(config.train.consistency)
        times = passes * weights_of(build_outline(config, *vocabularies)) / (pace.passes * pace.weights)
        its = replace(pace, update_s=times * pace.update_s, passes=passes)
        updates, _ = its.updates_in(seconds, typed_interval(recipe.command, its))
        if its.readings(updates) >= training.least * readings_of(recipe.facts):
            return training
    return shortest


def typed_interval(command: TrainCommand, pace: Pace) -> int | None:
    """How many updates the user wants between validations; None if that is not typed."""
    if "train.validate_every" not in command.changes.values:
        return None
    return command.run.train.validate_every or pace.updates_per_epoch


def affordable(command: TrainCommand, pace: Pace, seconds: float) -> tuple[int, int]:
    """Updates in this time, and updates between validations; prints the pace, and refuses too small a budget."""
    budget, typed = command.budget, typed_interval(command, pace)
    updates, every = updates_in(seconds, command, pace)
    gone = since_start_s()
    measured = f"{pace.update_s:.3g} s an update and {pace.validation_s:.2g} s a validation"
    if updates < LEAST_UPDATES:
        validations_s = pace.validations_s(pace.least_validations)
        if typed is not None:
            validations_s = (1 + LEAST_UPDATES / typed + AFTERWARDS) * pace.validation_s
        needed = first_validation_s(command, pace) + LEAST_UPDATES * pace.update_s + validations_s
        mostly_validations = validations_s > (gone + needed) / 2
        shorter = ", or make validations short: train.bleu_sentences=50" if mostly_validations else ""
        raise ConfigError(
            f"budget={budget} leaves no time to train: {gone:.0f} s have gone already, measured {measured}; give at "
            f"least budget={math.ceil(1.2 * (gone + needed) / FILLED)}s{shorter}"
        )
    print(f"budget={budget}: after {gone:.0f} s of preparation; measured {measured}", file=sys.stderr)
    return updates, every


def updates_in(seconds: float, command: TrainCommand, pace: Pace) -> tuple[int, int]:
    """How many updates of the command's run fit into this time, and how many lie between validations."""
    return pace.updates_in(seconds - first_validation_s(command, pace), typed_interval(command, pace))


def first_validation_s(command: TrainCommand, pace: Pace) -> float:
    """The time before the first update: a trained model is validated first."""
    return 0.0 if command.run.init_from is None else pace.validation_s


def too_short(command: TrainCommand, effort: Effort, pace: Pace) -> str:
    """What to expect of a budget that holds little of the recommended training, and which budget holds enough."""
    gone, enough = since_start_s(), ENOUGH / effort.share * effort.updates
    minutes = next(m for m in count(1) if updates_in(60 * m * FILLED - gone, command, pace)[0] >= enough)
    return (
        f"budget={command.budget} holds {effort.share:.0%} of the training that the recipe recommends, so the model "
        f"will be weak; budget={minutes}m would hold a third"
    )


def with_length(command: TrainCommand, config: RunConfig, updates: int, every: int) -> RunConfig:
    """The configuration of a run of this many updates; keeps the keys that the user typed."""
    choices = list(budget_choices(updates, every))
    if config.schedule.arguments.get("warmup", 0) > updates / 4:
        choices.append(Choice("schedule.warmup", updates // 4, "a quarter of the run at most"))
    choices = [each for each in choices if each.key not in command.changes.values]
    print(by_hand(choices), file=sys.stderr)
    values = {each.key: each.value for each in choices}
    return read_run_config(overlay(config.plain(), values, SECTIONS), command.trust)
