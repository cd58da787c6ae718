"""From words and YAML files to the command of a verb; explains mistakes in nmt's own words."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from nmt.config.changes import Changes
from nmt.config.defaults import with_chosen
from nmt.config.habits import key_meant
from nmt.config.hydra_private import opened_hydra, options_of
from nmt.config.overrides import parse, run_name, text_of
from nmt.config.plain import plain
from nmt.config.sections import SPLITS
from nmt.config.verbs import keys_of, read_command
from nmt.errors import ConfigError, nearest

MISTAKES = (HydraException, OmegaConfBaseException)  # what Hydra raises for wrong words
CONFIGS = next(
    package / "configs" for package in Path(__file__).parents[1:3] if (package / "configs").is_dir()
)  # in a wheel, in a checkout


def settled(verb: str, config: DictConfig, hydra: Any) -> Any:
    """The checked command of a job, with its run named: see nmt.config.verbs; `hydra` is the job's Hydra section."""
    settings = plain(config)
    if "experiment" in settings:
        raise ConfigError(
            f"experiment={hydra.runtime.choices['experiment']} sets nothing, because its file does not begin with the "
            "line '# @package _global_'; add it"
        )
    known = [*keys_of(verb), *choices(hydra)]
    for key in settings:
        if key not in known:
            raise ConfigError(f"unknown key '{key}'; {nearest(key, known)}")
    overrides = [parse(word) for word in hydra.overrides.task]
    changes = Changes(typed_values(overrides, config))
    if "resume" in settings and settings["resume"] is not None and "experiment" in changes.values:
        raise ConfigError(
            "experiment and resume are both given, and a resumed run keeps its experiment; type single keys"
        )
    if "name" in settings and settings["name"] is None:
        settings["name"] = run_name(base_name(hydra.runtime.choices), overrides, settings["seed"])
    return read_command(verb, with_chosen(settings), changes)


def with_corpus(verb: str, words: list[str]) -> list[str]:
    """The words, with data=auto added if files are typed but no corpus; `loader` must be open.

    Training files count for any verb: the default corpus comes with nmt, and its dev and test files would not fit them.
    For a verb without a default corpus, such as evaluate, files of every split count.
    """
    keys = [parse(word).key_or_group for word in words]
    splits = {split for split in SPLITS if any(key.startswith(f"data.{split}.") for key in keys)}
    if not splits or {"data", "experiment", "resume"} & set(keys):
        return words
    groups = groups_of(verb)
    has_default = groups.get("data") is not None
    counts = "data" in groups and (not has_default or ("train" in splits and "data.root" not in keys))
    return [*words, "data=auto"] if counts else words


def command_of(verb: str, words: list[str], config_dir: str | None = None) -> Any:
    """The command of a verb with these words, which have passed `readable`; nothing is run."""
    with loader(config_dir):
        config = composed(verb, with_corpus(verb, words))
        return settled(verb, without_hydra(config), config.hydra)


def base_name(chosen: Mapping[str, Any]) -> str:
    """The beginning of a run's name: the experiment or the corpus, as one word."""
    return str(chosen["experiment"] or chosen["data"]).replace("/", "_")


def typed_values(overrides: list[Override], config: DictConfig) -> dict[str, Any]:
    """Dotted key -> typed value: for the choice of a group its whole section, for `experiment` its name."""
    values: dict[str, Any] = {}
    for override in overrides:
        key = override.key_or_group.replace("/", ".")
        value = override.value() if key == "experiment" else OmegaConf.select(config, key)
        values[key] = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    return values


@contextmanager
def loader(config_dir: str | None = None) -> Iterator[ConfigLoader]:
    """Hydra's config loader over nmt's configs (and the user's own folder), outside of a run."""
    if config_dir is not None and not Path(config_dir).is_dir():
        raise ConfigError(f"--config-dir {config_dir} is not a folder; name one with your configs")
    with opened_hydra(CONFIGS, config_dir) as hydra:
        yield hydra.config_loader


def groups_of(verb: str) -> dict[str, str | None]:
    """The groups that the verb's configuration is made of, each with its default choice; `loader` must be open."""
    return choices(compose(verb, return_hydra_config=True).hydra)


def choices(hydra: Any) -> dict[str, str | None]:
    """Group -> its choice in a composed configuration; `hydra` is the Hydra section of that configuration."""
    chosen: dict[str, str | None] = dict(hydra.runtime.choices)
    return {key: choice for key, choice in chosen.items() if not key.startswith(("hydra", "base"))}


def composed(verb: str, words: list[str]) -> DictConfig:
    """The verb's configuration for a command line, with Hydra's own section; `loader` must be open."""
    refuse_no_choices(verb, words)
    try:
        return compose(verb, words, return_hydra_config=True)
    except MISTAKES as error:
        raise explain(verb, words, error) from error


def without_hydra(config: DictConfig) -> DictConfig:
    """A composed configuration without Hydra's own section."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def refuse_no_choices(verb: str, words: list[str]) -> None:
    """Refuses a choice that is not a file of its group; for null, numbers and lists Hydra has no error that helps."""
    for word, override in zip(words, map(parse, words), strict=True):
        group = override.key_or_group
        if not group:
            raise ConfigError(f"'{word}' is not of the form key=value; nmt {verb} --help shows every key")
        options = options_of(group)
        if options and override.is_add():
            refuse_other_groups(verb, group)
        text = text_of(override)
        for choice in text.split(",") if options and "(" not in text else []:  # choice(a,b), glob(*): Hydra's syntax
            if choice == "null":
                refuse_other_groups(verb, group)
                remedy = f"leave it out, or choose from: {', '.join(options)}"
                raise ConfigError(f"{group}=null chooses nothing; {remedy}")
            folder, slash, name = choice.rpartition("/")
            if name not in (inside := options_of(f"{group}/{folder}") if slash else options):
                refuse_other_groups(verb, group)
                known_ones = [folder + slash + option for option in inside] or options
                raise ConfigError(f"{group}={choice} does not exist; {nearest(choice, known_ones)}")


def refuse_other_groups(verb: str, group: str) -> None:
    """Refuses a group that the verb does not have."""
    if group not in groups_of(verb) and not group.startswith("hydra/"):
        raise ConfigError(unknown_key(group, compose(verb)) or f"{group} is not a group of nmt {verb}; leave it out")


def explain(verb: str, words: list[str], error: Exception) -> ConfigError:
    """The mistake on the command line that caused Hydra's error, with the nearest right word."""
    overrides = [o for o in map(parse, words) if not o.key_or_group.startswith("hydra")]
    known_groups = choices(compose(verb, return_hydra_config=True).hydra)
    for override in overrides:
        if override.key_or_group not in known_groups and options_of(override.key_or_group):
            refuse_other_groups(verb, override.key_or_group)
        if override.package is not None and (lacking := without_inner(override, overrides, known_groups)) is not None:
            return ConfigError(lacking)
    chosen = [o for o in overrides if o.key_or_group in known_groups]
    try:
        config = compose(verb, [o.input_line or "" for o in chosen if not o.is_sweep_override()])
    except MISTAKES as deeper:
        return ConfigError(f"the configuration cannot be composed: {_first_line(deeper)}; correct that file")
    for override in overrides:
        settled = override in chosen or override.is_add()
        if not settled and (unknown := unknown_key(override.key_or_group, config)) is not None:
            return ConfigError(unknown)
    return ConfigError(f"{_first_line(error)}; nmt {verb} --help shows every key")


def without_inner(override: Override, others: list[Override], known: Mapping[str, str | None]) -> str | None:
    """The mistake, if a word sets an inner part (attention@attention.score=…) that the chosen part does not have."""
    group, inner = override.key_or_group, str(override.package).rpartition(".")[2]
    files = {path.stem: path.read_text("utf-8") for path in sorted((CONFIGS / group).glob("*.yaml"))}
    inside = re.findall(rf"/({group})@(\w+):", "".join(files.values()))
    if (group, inner) not in inside:
        return f"unknown key '{group}@{override.package}'; {nearest(inner, (name for _, name in inside))}"
    having = [name for name, text in files.items() if f"/{group}@{inner}:" in text]
    chosen = {o.key_or_group: text_of(o) for o in others if o.package is None}.get(group, known.get(group))
    if chosen in having:
        return None
    return f"{override.input_line} is for what {group}={chosen} does not have; add {group}={' or '.join(having)}"


def unknown_key(key: str, config: DictConfig) -> str | None:
    """The error message for a dotted key that does not exist; None if it exists."""
    node: Any = config
    words = key.replace("/", ".").split(".")
    for depth, word in enumerate(words):
        if not isinstance(node, DictConfig):
            return f"unknown key '{key}'; '{'.'.join(words[:depth])}' is a single value"
        if word not in node.keys():  # noqa: SIM118 - `in` alone is false for a missing value
            if depth == 1 and (remedy := options_with(words[0], word)) is not None:
                return f"unknown key '{key}' here; {remedy}"
            siblings = [".".join([*words[:depth], str(known)]) for known in node]
            return f"unknown key '{key}'; {key_meant('.'.join(words), dotted_keys(config), siblings)}"
        node = node._get_node(word) if OmegaConf.is_missing(node, word) else node[word]
    return None


def options_with(group: str, key: str) -> str | None:
    """A remedy that names the options of a group, such as schedule=linear, that have this key; None: none has it."""
    files = {path.stem: path for path in sorted((CONFIGS / group).glob("*.yaml"))}
    having = [name for name, path in files.items() if key in OmegaConf.load(path)]
    return f"add {group}={' or '.join(having)}, which {'has' if len(having) == 1 else 'have'} it" if having else None


def dotted_keys(config: DictConfig, prefix: str = "") -> list[str]:
    """Every dotted key that holds a value."""
    found: list[str] = []
    for key in config:
        node = None if OmegaConf.is_missing(config, key) else config[key]
        name = f"{prefix}{key!s}"
        found += dotted_keys(node, f"{name}.") if isinstance(node, DictConfig) else [name]
    return found


def _first_line(error: BaseException) -> str:
    """What went wrong. If Hydra says nothing, it is what the cause says, with its key; after a colon, the next line."""
    lines = str(error).strip().splitlines()
    if lines:
        return " ".join(lines[: 2 if lines[0].endswith(":") else 1]).rstrip(".")
    key = getattr(error.__cause__, "full_key", None)
    where = f"{key}: " if key else ""
    return where + (_first_line(error.__cause__) if error.__cause__ is not None else type(error).__name__)
