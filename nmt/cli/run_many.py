"""Verbs that are called once with all their jobs: `nmt compare` and `nmt tune`."""

import importlib
from typing import Any

from nmt.cli.run import parsed, run
from nmt.compare.sweep import composed_sweep
from nmt.config.overrides import readable
from nmt.errors import ConfigError
from nmt.tune.plan import planned
from nmt.tune.study import trial_name

TRAIN = "nmt.compare.runs:train_job"


def run_comparison(verb: str, entry: str, words: list[str]) -> int:
    """Calls `entry` with the sweep and a function that trains its runs as a Hydra multirun; returns the exit code."""
    args, _ = parsed(verb, words)
    if args.cfg or args.info or args.shell_completion:
        return run(verb, entry, words)
    sweep = composed_sweep(verb, words, [readable(word, sweep=True) for word in args.overrides], args.config_dir)
    multirun = ["-m", *(word for word in words if word not in ("-m", "--multirun"))]
    return called(entry, sweep, lambda: run(verb, TRAIN, multirun))


def run_study(verb: str, entry: str, words: list[str]) -> int:
    """Calls `entry` with the plan and the first trial's configuration; returns the exit code."""
    args, _ = parsed(verb, words)
    if args.cfg or args.info or args.shell_completion:
        return run(verb, entry, words)
    if args.multirun:
        raise ConfigError("nmt tune is a sweep itself, and -m starts another one; leave -m out")
    plan = planned(verb, [readable(each, sweep=False) for each in args.overrides], args.config_dir)
    return called(entry, plan, plan.config(plan.first, trial_name(0)))


def called(entry: str, *arguments: Any) -> int:
    """Calls `entry` (module:function) with the arguments; returns its exit code."""
    module, _, function = entry.partition(":")
    return getattr(importlib.import_module(module), function)(*arguments) or 0
