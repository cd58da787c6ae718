"""`nmt <verb> --help`: the groups with their choices, and every key with its value and meaning."""

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any, get_type_hints

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from nmt.cli.run import parsed
from nmt.config.compose import CONFIGS, MISTAKES, choices, composed, explain, leaves, loader, untouched, without_hydra
from nmt.config.overrides import readable
from nmt.config.sections import DataConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainConfig

LINE = re.compile(r"^( *)([\w.]+): *([^#]*?) *(?:# *(.*))?$")
SECTIONS = {
    "data": DataConfig,
    "tokenizer": TokenizerConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "search": SearchConfig,
}


def describe(verb: str, words: list[str]) -> str:
    """The help of a verb; `words` are its own, so that the keys of other choices can be seen."""
    args, _ = parsed(words)
    words = [readable(word, sweep=True) for word in args.overrides]
    with loader(args.config_dir) as available:
        try:
            words = [single for word in words if (single := _single(word, available)) is not None]
        except MISTAKES as error:
            raise explain(verb, words, error) from error
        config = composed(verb, words, untouched(verb))
        chosen = choices(config)
        options = {key: available.get_group_options(key) for key in chosen}
    settings = without_hydra(config)
    return "\n".join(
        [
            *_top(CONFIGS / f"{verb}.yaml"),
            "",
            *(["Groups: word=choice"] if chosen else []),
            *_table([(f"{key}={chosen[key] or 'null'}", ", ".join(options[key])) for key in sorted(chosen)]),
            *([""] if chosen else []),
            "Keys, with their values for these choices",
            *_table(_keys(verb, settings, chosen)),
            "",
        ]
    )


def _single(word: str, available: ConfigLoader) -> str | None:
    """The word with the first of its values; None for a range without steps."""
    override = OverridesParser.create(config_loader=available).parse_override(word)
    if not override.is_sweep_override():
        return word
    if not override.is_discrete_sweep():
        return None
    return f"{override.get_key_element()}={next(override.sweep_string_iterator())}"


def comments(path: Path, prefix: str = "") -> dict[str, str]:
    """Dotted key -> the comment beside it in a YAML file of ours; keys from included files too."""
    found: dict[str, str] = {}
    stack: list[tuple[int, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match:
            indent, key, _, comment = match.groups()
            stack = [entry for entry in stack if entry[0] < len(indent)] + [(len(indent), key)]
            found[".".join([*filter(None, [prefix]), *(name for _, name in stack)])] = comment or ""
        elif (included := re.match(r"^ *- ([\w/]+)$", line)) and stack and stack[0][1] == "defaults":
            inner = path.parent / f"{included[1]}.yaml"
            found = comments(inner, prefix) | found if inner.is_file() else found
    return found


def schema_comments(cls: type, prefix: str) -> dict[str, str]:
    """Dotted key -> the comment beside the field in the schema."""
    written = dict(re.findall(r"^    (\w+): [^#\n]*?# *(.*)$", inspect.getsource(cls), re.MULTILINE))
    found = {f"{prefix}.{name}": comment for name, comment in written.items()}
    for name, hint in get_type_hints(cls).items():
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            found |= schema_comments(hint, f"{prefix}.{name}")
    return found


def _keys(verb: str, config: DictConfig, chosen: dict[str, str | None]) -> list[tuple[str, str]]:
    """(key=value, meaning) for every key."""
    written = comments(CONFIGS / f"{verb}.yaml")
    for group, choice in chosen.items():
        path = CONFIGS / group / f"{choice}.yaml"
        if path.is_file() and group != "experiment":
            written |= comments(path, group)
    meaning: dict[str, str] = {}
    for section, cls in SECTIONS.items():
        meaning |= schema_comments(cls, section)
    meaning |= {key: comment for key, comment in written.items() if comment}
    rows = []
    for key in leaves(config):
        value = OmegaConf.select(config, key) if not _missing(config, key) else "???"
        rows.append((f"{key}={_text(value)}", meaning.get(key, "")))
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
