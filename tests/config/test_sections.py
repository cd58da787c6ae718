"""Every configuration file composes, names every key of its schema, and explains itself."""

import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
import yaml
from hydra import compose
from omegaconf import OmegaConf

from nmt.cli.help import comments, meanings
from nmt.cli.main import VERBS
from nmt.config.check import convert
from nmt.config.compose import CONFIGS, command_of, groups_of, loader
from nmt.config.defaults import with_chosen
from nmt.config.keys import Limits, Section, allowed_types, hints_of, notes
from nmt.config.parts import SCHEDULES, read_part
from nmt.config.plain import leaves, plain
from nmt.config.run import RunConfig
from nmt.config.sections import DataConfig, FilterConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainConfig
from nmt.config.verbs import COMMANDS
from nmt.errors import ConfigError

GROUPS = [
    "data",
    "tokenizer",
    "encoder",
    "decoder",
    "attention",
    "optimizer",
    "schedule",
    "search",
    "experiment",
]
CHOICES = [
    f"{group}={path.relative_to(CONFIGS / group).with_suffix('')}"
    for group in GROUPS
    for path in sorted((CONFIGS / group).rglob("*.yaml"))
]


@functools.cache
def composed(verb: str, *words: str) -> dict[str, Any]:
    with loader():
        return plain(compose(verb, list(words)))


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_composes_and_checks(choice: str) -> None:
    config = composed("train", choice)
    assert command_of("train", [choice]).run.plain().items() <= (with_chosen(config) | {"name": ANY}).items()
    if not choice.startswith("experiment="):
        assert set(config) == set(composed("train"))


def test_prepare_takes_what_train_takes() -> None:
    of_each_group = {choice.partition("=")[0]: choice for choice in CHOICES}.values()
    assert composed("prepare", *of_each_group) == composed("train", *of_each_group)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_file_says_what_it_is(choice: str) -> None:
    group, _, name = choice.partition("=")
    if group == "attention":  # whose formula and source are in the docstring of the class
        part = command_of("train", [choice]).run.attention.part
        assert name == "none" or "(" in part.made_by.__doc__.splitlines()[0]
        return
    lines = (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if "@package" not in line)
    assert first.startswith("# ")
    if group == "experiment" and "/" not in name:
        assert f"experiment={name}" in first


def test_the_chain_of_techniques_ends_in_the_recipe() -> None:
    last = composed("train", "experiment=ablation/12_wider_and_longer")
    assert last == composed("train", "experiment=multi30k_en_de_tok")


def test_the_groups_are_the_folders() -> None:
    folders = {path.name for path in Path(CONFIGS).iterdir() if path.is_dir()} - {"base"}
    with loader():
        of = {verb: set(groups_of(verb)) for verb in ("train", "tune")}
        assert of["tune"] == folders == {*of["train"], "space"} == {*GROUPS, "space"}


REQUIRED = {"model", "src", "tgt", "output"}  # keys without a value, of some verbs
MORE = {  # words without which the verb refuses
    "clean": ["data.src_lang=en", "data.tgt_lang=de"],
    "serve": ["model=m"],
    "average": ["model=[a,b]", "name=m"],
}


def needed(verb: str) -> list[str]:
    """Words without which the verb's configuration is not whole."""
    with loader():
        missing = sorted(OmegaConf.missing_keys(compose(verb)) & REQUIRED)
    more = MORE.get(verb, [])
    typed = {word.partition("=")[0] for word in more}
    return [f"{key}=m" for key in missing if key not in typed] + more


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_key_of_a_verb_is_a_field_and_has_a_meaning(verb: str) -> None:
    command = command_of(verb, needed(verb))
    assert type(command) is COMMANDS[verb]
    found = meanings(RunConfig) | meanings(COMMANDS[verb])
    parts = ("encoder", "decoder", "attention", "optimizer", "schedule")
    for key in leaves(composed(verb, *needed(verb))):
        if key.split(".")[0] not in (*parts, "space"):
            assert found.get(key) or found.get(f"run.{key}"), key


@pytest.mark.parametrize("group", ["encoder", "decoder", "attention", "optimizer", "schedule"])
def test_every_key_of_a_part_has_a_meaning(group: str) -> None:
    for path in (CONFIGS / group).glob("*.yaml"):
        keys = {key for key in yaml.safe_load(path.read_text("utf-8")) if key not in ("class", "defaults")}
        assert set(comments(path, group)) >= {f"{group}.{key}" for key in keys}, path


SECTIONS = (
    DataConfig, FilterConfig, TokenizerConfig, ModelConfig, TrainConfig, SearchConfig, RunConfig, *COMMANDS.values()
)  # fmt: skip


def numbers() -> Iterator[tuple[type, str, Any]]:
    for cls in SECTIONS:
        for name, hint in hints_of(cls).items():
            if any(isinstance(note, Limits) for note in notes(hint)):
                yield cls, name, hint


@pytest.mark.parametrize(("cls", "name", "hint"), numbers(), ids=lambda each: each if isinstance(each, str) else "")
def test_a_number_is_within_its_limits(cls: type[Section], name: str, hint: Any) -> None:
    [limits] = [note for note in notes(hint) if isinstance(note, Limits)]
    where = f"{cls.WHERE}.{name}" if cls.WHERE else name
    wrong: list[Any] = [-(10**30)]
    if float in allowed_types(hint):
        wrong += [math.nan, math.inf, -math.inf]
    wrong += [] if limits.least is None else [limits.least - 1]
    wrong += [] if limits.above is None else [limits.above]
    wrong += [] if limits.below is None else [limits.below]
    wrong += [] if limits.most == math.inf else [limits.most + 1]
    for value in wrong:
        with pytest.raises(ConfigError, match=rf"^{re.escape(where)} is .*; it must be "):
            convert(float(value) if allowed_types(hint)[0] is float else value, hint, where)
    for value in (limits.least, limits.most if limits.below is None else None):
        if value is not None and value != math.inf:
            assert convert(value, hint, where) == value


def test_every_number_has_limits() -> None:
    # A column is where the file has it, and a time needs a unit.
    free = {"data.src_column", "data.tgt_column", ".budget", ".time_limit"}
    for cls in SECTIONS:
        for name, hint in hints_of(cls).items():
            limited = any(isinstance(note, Limits) for note in notes(hint))
            assert limited or not {int, float} & set(allowed_types(hint)) or f"{cls.WHERE}.{name}" in free, name


@pytest.mark.parametrize("end", [-5, 7, math.nan, math.inf])
def test_a_schedule_ends_with_a_share_of_its_rate(end: float) -> None:
    with pytest.raises(ConfigError, match=r"^schedule\.end is .*; it must be at .*most 1"):
        read_part({"class": "Linear", "warmup": 0, "hold": 0.5, "end": end}, "schedule", SCHEDULES, [])


def test_coverage_of_a_model_without_attention_is_refused() -> None:
    message = r"^search\.coverage_penalty=0\.2 is about attention, and the model has none, attention=none; set"
    with pytest.raises(ConfigError, match=message):
        command_of("train", ["attention=none", "search.coverage_penalty=0.2"])


@pytest.mark.parametrize(
    "site", ["https://example.org/", "https://example.org/page", "example.org", "https://Example.org"]
)
def test_a_site_that_no_browser_names_so_is_refused(site: str) -> None:
    right = ["http://localhost:8080", "https://example.org", "moz-extension://0a1b-2c", "null"]
    command_of("serve", ["model=m", f"origins=[{','.join(map(repr, right))}]"])
    with pytest.raises(ConfigError, match=rf"^origins={site} is not as browsers write a site: scheme, host and port"):
        command_of("serve", ["model=m", f"origins=['{site}']"])


@pytest.mark.parametrize("verb", ["evaluate", "translate", "interactive"])
def test_verbs_that_use_a_model_leave_its_search_alone(verb: str) -> None:
    config = composed(verb, "model=m")
    fields = set(hints_of(SearchConfig))
    assert config["search"] == dict.fromkeys(fields)
    assert set(composed(verb, "model=m", "search=greedy")["search"]) == fields
