"""Runs a verb through Hydra, so that multirun, launchers and completion work."""

import importlib
import os
import re
from argparse import ArgumentParser, Namespace
from typing import NoReturn

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from nmt.config.compose import (
    CONFIGS,
    MISTAKES,
    choices,
    composed,
    dotted_keys,
    explain,
    loader,
    refuse_no_choices,
    settled,
    with_corpus,
    without_hydra,
)
from nmt.config.habits import files_meant, option_meant
from nmt.config.hydra_private import hydra_options, run_jobs
from nmt.config.overrides import readable
from nmt.errors import ConfigError, nearest
from nmt.machine.launch import begin_anew, refuse_several
from nmt.machine.signals import SAVED

NOT_OURS = {  # Hydra's options that nmt refuses -> the remedy
    "config_path": "name a folder of your own configurations, --config-dir",
    "config_name": "the verb is the name of the configuration",
    "package": "--cfg job shows all of the configuration",
    "experimental_rerun": "nmt train resume=RUN goes on with a run",
}


def run(verb: str, entry: str, words: list[str]) -> int:
    """Calls `entry` with the composed configuration, or with each one of a sweep; returns the exit code."""
    args, parser = parsed(verb, words)
    if sum(map(bool, (args.run, args.multirun, args.cfg, args.info, args.shell_completion))) > 1:
        raise ConfigError(
            "--run, --multirun, --cfg, --info and --shell-completion exclude each other; type one of them"
        )
    args.multirun = sweep = args.multirun or "hydra.mode=MULTIRUN" in args.overrides
    if sweep:
        refuse_several("a sweep")
    if not args.shell_completion:
        args.overrides = [readable(word, sweep) for word in args.overrides]
    if not args.shell_completion:
        with loader(args.config_dir):
            refuse_no_choices(verb, args.overrides)
            args.overrides = with_corpus(verb, args.overrides)
    typed = list(args.overrides)
    failures: list[Exception] = []
    codes = [0]

    def job(config: DictConfig) -> None:
        if sweep:
            begin_anew()
        try:
            codes.append(call_verb(verb, entry, config))
        except Exception as error:
            if sweep:  # a job may run in another process: its launcher raises the error again here
                raise
            failures.append(error)
        if sweep and codes[-1] == SAVED:
            raise KeyboardInterrupt

    try:
        run_jobs(args, parser, job, CONFIGS, verb)
    except MISTAKES as error:
        with loader(args.config_dir):
            raise explain(verb, typed, error) from error
    except KeyboardInterrupt:
        if codes[-1] != SAVED:
            raise
    if failures:
        raise failures[0]
    return codes[-1]


def parsed(verb: str, words: list[str]) -> tuple[Namespace, ArgumentParser]:
    """The words parsed into Hydra's options and overrides, and the parser that did it."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises errors instead of printing them
    parser = hydra_options()
    parser.error = _refuse  # type: ignore[method-assign]
    args, unknown = parser.parse_known_intermixed_args(words)
    if unknown:
        flags = [flag for action in parser._actions for flag in action.option_strings]
        remedy = option_meant(unknown[0], words, all_keys(verb)) or nearest(unknown[0], flags)
        raise ConfigError(f"unknown option '{unknown[0]}'; {remedy}")
    bare = [word for word in args.overrides if "=" not in word]
    if bare and (typed := files_meant(verb, bare)) is not None:
        raise ConfigError(f"'{' '.join(bare)}' sets nothing; {typed}")
    for option, remedy in NOT_OURS.items():
        if getattr(args, option) is not None:
            raise ConfigError(f"--{option.replace('_', '-')} is not an option of nmt; {remedy}")
    if args.cfg is None and args.resolve:
        raise ConfigError("--resolve needs a configuration to show; add --cfg job")
    task = " ".join(args.overrides)
    if args.shell_completion and not re.fullmatch("(install|uninstall|query)=(bash|fish|zsh)", task):
        raise ConfigError("--shell-completion stands alone with install=bash, uninstall=bash, fish or zsh")
    return args, parser


def all_keys(verb: str) -> list[str]:
    """Every key and every group of the verb's configuration."""
    with loader():
        config = composed(verb, [])
    return list(dict.fromkeys([*dotted_keys(without_hydra(config)), *choices(config.hydra)]))


def call_verb(verb: str, entry: str, config: DictConfig) -> int:
    """Calls the verb's function with the checked command; returns its exit code."""
    command = settled(verb, config, HydraConfig.get())
    module, _, function = entry.partition(":")
    return getattr(importlib.import_module(module), function)(command) or 0


def _refuse(message: str) -> NoReturn:
    raise ConfigError(f"{message}; nmt --help shows what can be typed")
