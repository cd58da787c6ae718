"""Composes every job of a command line whose values have commas, for `nmt compare`."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from nmt.compare.runs import Job, Sweep
from nmt.config.compose import (
    MISTAKES,
    base_name,
    explain,
    loader,
    refuse_no_choices,
    settled,
    without_hydra,
)
from nmt.config.hydra_private import jobs_of
from nmt.config.overrides import NOT_IN_NAME, changed_key, folder_name, parse, text_of
from nmt.config.verbs import CompareCommand
from nmt.errors import ConfigError, NmtError
from nmt.machine.home import expanded
from nmt.training.recipe import filled

NOT_HERE = ("name", "budget", "resume", "resume_with", "init_from")  # keys of nmt train for a single run


def composed_sweep(verb: str, words: list[str], typed: list[str], config_dir: str | None) -> Sweep:
    """The sweep that the words describe; its jobs are in the order in which Hydra's multirun trains them."""
    with loader(config_dir) as available:
        refuse_no_choices(verb, typed)
        try:
            parser = OverridesParser.create(config_loader=available)
            overrides = {o.get_key_element(): o for o in parser.parse_overrides(typed)}
            own = [o for o in overrides.values() if not o.key_or_group.startswith("hydra")]
            refuse_other(own)
            jobs = jobs_of(own)
            axes = {changed_key(o): list(values(o)) for o in own if o.is_sweep_override()}
            composed_jobs = [compose(verb, job, return_hydra_config=True) for job in jobs]
        except MISTAKES as error:
            raise explain(verb, typed, error) from error
    found = []
    for job, config in zip(jobs, composed_jobs, strict=True):
        try:
            command: CompareCommand = filled(settled(verb, without_hydra(config), config.hydra), say=False)
        except NmtError as error:
            raise type(error)(f"{variant(job, axes)} seed={config.seed}: {error}") from error
        found.append(Job(variant(job, axes), command.run.seed, command.run))
    name = sweep_name(base_name(composed_jobs[0].hydra.runtime.choices), own, axes, found)
    output = expanded(command.output or Path(command.run.runs_dir) / "comparisons" / name)
    return Sweep(shlex.join(["nmt", verb, *words]), name, axes, found, command.split, output, command.trust)


def refuse_other(overrides: list[Override]) -> None:
    """Refuses words that are for a single run, and ranges without steps."""
    for override in overrides:
        if override.key_or_group in NOT_HERE:
            remedies = {"name": "runs are named by what is typed", "budget": "all runs are as long"}
            remedy = remedies.get(override.key_or_group, "every run is a new one")
            raise ConfigError(f"{override.input_line} is for nmt train; leave it out: {remedy}")
        if override.is_sweep_override() and not override.is_discrete_sweep():
            raise ConfigError(
                f"{override.input_line} is a range, and a comparison needs a list; write one: "
                f"{override.key_or_group}=A,B"
            )


def values(override: Override) -> Iterator[str]:
    """The values of an axis, without quotes."""
    for value in override.sweep_string_iterator():
        yield text_of(parse(f"{override.get_key_element()}={value}"))


def variant(words: list[str], axes: dict[str, Any]) -> str:
    """The words that tell the job from the others, except for the seed."""
    overrides = [parse(word) for word in words]
    own = [o for o in overrides if changed_key(o) in axes and changed_key(o) != "seed"]
    return " ".join(f"{changed_key(o)}={text_of(o)}" for o in own)


def sweep_name(base: str, overrides: list[Override], axes: dict[str, list[str]], jobs: list[Job]) -> str:
    """A folder name that tells comparisons apart, made like the names of runs."""
    kept = {*axes, "split"} - {"seed"}
    changed = [o for o in overrides if changed_key(o) in kept or changed_key(o) not in NOT_IN_NAME]
    changed = [o for o in changed if (changed_key(o), text_of(o)) != ("data", base)]
    seeds = dict.fromkeys(str(job.seed) for job in jobs)
    parts = [(key, axes.get(key, [text_of(o)])) for o in changed for key in [changed_key(o)]]
    raw = "_".join([base, *(f"{key}-{'-'.join(listed)}" for key, listed in parts), f"seed{'-'.join(seeds)}"])
    return folder_name(raw)
