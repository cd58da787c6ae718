"""Everything that nmt uses of Hydra's private modules (hydra-core 1.3), and why the public ones do not suffice.

`hydra.main` reads sys.argv, prints errors and ends the process, but nmt has a verb before the words, and its own
errors. `initialize_config_dir` takes one folder, but a user's `--config-dir` is a second one. Only the sweeper knows
the jobs of a multirun, and `nmt compare` must know them before it trains the first. Hydra's reader of files lets the
errors of YAML through, most of them without the name of the file.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.sources_registry import SourcesRegistry
from hydra._internal.utils import _run_hydra, create_config_search_path, get_args_parser
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

Load = Callable[[ConfigSource, str], ConfigResult]


def _naming(load: Load) -> Load:
    """Reads a file by `load`; if it does not hold keys in YAML, the error is one of Hydra's and names the file."""

    def load_config(source: ConfigSource, config_path: str) -> ConfigResult:
        path = Path(source.path, source._normalize_file_name(config_path))
        try:
            result = load(source, config_path)
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = "" if mark is None else f", line {mark.line + 1},"
            reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
            raise ConfigCompositionException(f"{path}{line} is no YAML: {reason}") from error
        except UnicodeDecodeError as error:
            raise ConfigCompositionException(f"{path} is not UTF-8: {error.reason}") from error
        if not OmegaConf.is_dict(result.config):
            raise ConfigCompositionException(f"{path} holds no keys")
        if "defaults" in result.config and not OmegaConf.is_list(result.config["defaults"]):
            raise ConfigCompositionException(f"{path} has defaults that are no list")
        return result

    return load_config


def _name_files_in_errors() -> None:
    """Changes Hydra's reader of files.

    A class of our own in its place would keep launchers from working: they send the registry to other processes, where
    Hydra registers its own class again.
    """
    Plugins.instance()  # registers the reader: Hydra loads it anew, so no import gives this class
    reader: type[Any] = SourcesRegistry.instance().types["file"]
    if reader.load_config.__module__ != __name__:
        reader.load_config = _naming(reader.load_config)


def hydra_options() -> ArgumentParser:
    """Hydra's own options, such as --multirun and --cfg."""
    parser: ArgumentParser = get_args_parser()
    return parser


def run_jobs(
    args: Namespace, parser: ArgumentParser, job: Callable[[DictConfig], None], configs: Path, verb: str
) -> None:
    """Calls `job` with the configuration that the arguments compose, or with each configuration of a multirun."""
    if args.cfg or args.info or args.shell_completion:
        _run_hydra(args, parser, job, str(configs), verb)
        return
    mode = "MULTIRUN" if args.multirun else "RUN"  # without it Hydra would compose once more to find the mode
    with opened_hydra(configs, args.config_dir) as hydra:
        run = hydra.multirun if args.multirun else hydra.run
        run(verb, job, [*args.overrides, f"hydra.mode={mode}"])


@contextmanager
def opened_hydra(configs: Path, own: str | None) -> Iterator[Hydra]:
    """Opens Hydra on the folder `configs`; the user's `own` folder takes precedence."""
    path = create_config_search_path(str(configs))
    if own is not None:
        path.prepend("command-line", f"file://{Path(own).absolute()}", SearchPathQuery(provider="schema"))
    _name_files_in_errors()
    version.setbase("1.3")
    GlobalHydra.instance().clear()
    try:
        yield Hydra.create_main_hydra2("nmt", path)
    finally:
        GlobalHydra.instance().clear()


def options_of(group: str) -> list[str]:
    """The files of a group, without the files in its subfolders; Hydra must be open."""
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    options: list[str] = hydra.config_loader.repository.get_group_options(group)  # type: ignore[attr-defined]
    return options


def jobs_of(overrides: Sequence[Override]) -> list[list[str]]:
    """The words of every job of a multirun, in the order in which the jobs run."""
    [jobs] = BasicSweeper.split_arguments(list(overrides), None)
    found: list[list[str]] = jobs
    return found
