"""`nmt <verb> --help`: the groups with their choices, and every key with its value and meaning."""

import json
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from nmt.cli.run import parsed
from nmt.config.compose import (
    CONFIGS,
    MISTAKES,
    choices,
    composed,
    dotted_keys,
    explain,
    loader,
    without_hydra,
)
from nmt.config.keys import allowed_types, hints_of, meaning
from nmt.config.overrides import readable
from nmt.config.run import RunConfig
from nmt.config.verbs import COMMANDS

PART_GROUPS = ("encoder", "decoder", "attention", "optimizer", "schedule")
COMMENTED_LINE = re.compile(r"^(\w+): [^#]*# *(.*)$")  # key: value  # comment


def describe(verb: str, words: list[str]) -> str:
    """The help text of a verb; `words` may choose other parts or data, whose keys are then listed."""
    args, _ = parsed(verb, words)
    words = [readable(word, sweep=True) for word in args.overrides]
    with loader(args.config_dir) as available:
        try:
            words = [single for word in words if (single := _single(word, available)) is not None]
        except MISTAKES as error:
            raise explain(verb, words, error) from error
        config = composed(verb, words)
        chosen = choices(config.hydra)
        listed = {key: available.get_group_options(key) for key in chosen}
    settings = without_hydra(config)
    return "\n".join(
        [
            *_top(CONFIGS / f"{verb}.yaml"),
            "",
            *(["Groups: word=choice"] if chosen else []),
            *_table([(f"{key}={chosen[key] or 'null'}", ", ".join(listed[key])) for key in sorted(chosen)]),
            *([""] if chosen else []),
            "Keys, with their values for these choices",
            *_table(_keys(verb, settings, chosen)),
            "",
        ]
    )


def _single(word: str, available: ConfigLoader) -> str | None:
    """The override with the first value of its sweep only; None for a range without steps."""
    override = OverridesParser.create(config_loader=available).parse_override(word)
    if not override.is_sweep_override():
        return word
    if not override.is_discrete_sweep():
        return None
    return f"{override.get_key_element()}={next(override.sweep_string_iterator())}"


def meanings(cls: type, prefix: str = "") -> dict[str, str]:
    """Dotted key -> its meaning, for the fields of a dataclass and of the sections in it."""
    found: dict[str, str] = {}
    for name, hint in hints_of(cls).items():
        inner = next((option for option in allowed_types(hint) if is_dataclass(option)), None)
        if inner is None:
            found[f"{prefix}{name}"] = meaning(hint)
        else:
            found |= meanings(inner, "" if inner is RunConfig else f"{prefix}{name}.")  # type: ignore[arg-type]
    return found


def comments(path: Path, prefix: str) -> dict[str, str]:
    """Dotted key -> the comment beside it in the YAML file of a part: it gives the meaning of the key."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := COMMENTED_LINE.match(line):
            found[f"{prefix}.{match[1]}"] = match[2]
    return found


def _keys(verb: str, config: DictConfig, chosen: dict[str, str | None]) -> list[tuple[str, str]]:
    """(key=value, meaning) for every key."""
    meant = meanings(RunConfig) | meanings(COMMANDS[verb])
    for group, choice in chosen.items():
        path = CONFIGS / group.replace("@attention.", "/").partition("/")[0] / f"{choice}.yaml"
        if path.is_file() and group.partition("@")[0] in PART_GROUPS:
            meant |= comments(path, group.partition("@")[2] or group.replace("/", "."))
    rows = []
    for key in dotted_keys(config):
        value = OmegaConf.select(config, key) if not _missing(config, key) else "???"
        rows.append((f"{key}={_text(value)}", meant.get(key, "")))
    return rows


def _missing(config: DictConfig, key: str) -> bool:
    parent, _, last = key.rpartition(".")
    return OmegaConf.is_missing(OmegaConf.select(config, parent) if parent else config, last)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(OmegaConf.to_container(value) if OmegaConf.is_config(value) else value, ensure_ascii=False)


def _top(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# ") for line in lines if line.startswith("#") and "@package" not in line]


def _table(rows: list[tuple[str, str]]) -> list[str]:
    width = min(44, max((len(left) for left, _ in rows), default=0))
    return [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]
