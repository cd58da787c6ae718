"""A command line of `nmt tune`: the search space, the overrides of every trial, and each trial's configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from nmt.config.compose import command_of
from nmt.config.overrides import parse, readable
from nmt.config.plain import leaves
from nmt.config.run import RunConfig
from nmt.config.times import seconds_of
from nmt.config.verbs import TrainCommand, TuneCommand
from nmt.errors import ConfigError
from nmt.machine.home import expanded
from nmt.training.recipe import filled
from nmt.tune.search_space import Choices, Range, Value, read_space, word

OWN = ("trials", "time_limit", "startup", "space", "name", "runs_dir")  # keys of the study, which trials do not get


@dataclass(frozen=True)
class Plan:
    """The parsed command line of a study."""

    folder: Path
    space: list[Choices | Range]
    first: Mapping[str, Value]  # the space's settings that are nearest to those of the words alone: the first trial's
    words: list[str]  # overrides that every trial gets
    config_dir: str | None
    trials: int
    time_limit_s: float | None
    startup: int
    seed: int
    metric: Literal["bleu", "loss"]  # train.metric
    trust: list[str]

    def config(self, chosen: Mapping[str, Value], name: str) -> RunConfig:
        """The configuration of a trial's run."""
        own = [word(key, value) for key, value in chosen.items()]
        words = [*self.words, *own, f"name={name}", readable(f"runs_dir={self.folder}", sweep=False)]
        command: TrainCommand = command_of("train", words, self.config_dir)
        return filled(command, say=False).run


def planned(verb: str, typed: list[str], config_dir: str | None) -> Plan:
    """The plan of a command line, checked as far as possible without a study."""
    command: TuneCommand = command_of(verb, typed, config_dir)
    own = {override.key_or_group: each for each in typed for override in [parse(each)]}
    whole = read_space(command.space)
    space = [each for each in whole if each.key not in own]
    if not space:
        raise ConfigError(
            f"every key of the space is typed ({', '.join(each.key for each in whole)}), so no trial would differ from "
            "another; leave one out"
        )
    words = [each for key, each in own.items() if key.split(".")[0] not in OWN]
    run = command.run
    folder = expanded(run.runs_dir) / "studies" / run.name
    plan = Plan(
        folder=folder,
        space=space,
        first={},
        words=words,
        config_dir=config_dir,
        trials=command.trials,
        time_limit_s=None if command.time_limit is None else seconds_of("time_limit", command.time_limit),
        startup=command.startup,
        seed=run.seed,
        metric=run.train.metric,
        trust=command.trust,
    )
    alone = leaves(plan.config({}, run.name).plain())
    return replace(plan, first={each.key: each.nearest(alone.get(each.key)) for each in space})
