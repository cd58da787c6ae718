"""Every configuration file composes, names every key of its schema, and explains itself."""

import functools
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hydra import compose

from nmt.cli.main import VERBS
from nmt.config.check import check_values, read_section
from nmt.config.compose import CONFIGS, choices, loader, untouched
from nmt.config.parts import find_class
from nmt.config.plain import plain
from nmt.config.sections import DataConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainConfig
from nmt.config.verbs import ROOTS

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
PARTS = ["encoder", "decoder", "attention", "optimizer", "schedule"]
CHOICES = [
    f"{group}={path.relative_to(CONFIGS / group).with_suffix('')}"
    for group in GROUPS
    for path in sorted((CONFIGS / group).rglob("*.yaml"))
]


@functools.cache
def composed(verb: str, *words: str) -> dict[str, Any]:
    with loader():
        return plain(compose(verb, list(words)))


def check(config: dict[str, Any]) -> None:
    read_section(DataConfig, config["data"], "data")
    read_section(TokenizerConfig, config["tokenizer"], "tokenizer")
    read_section(ModelConfig, config["model"], "model")
    read_section(TrainConfig, config["train"], "train")
    read_section(SearchConfig, config["search"], "search")
    for part in PARTS:
        if config[part]["class"] is not None:  # attention=none
            find_class(config[part]["class"], f"{part}.class", [])


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_composes_and_checks(choice: str) -> None:
    config = composed("train", choice)
    check(config)
    if not choice.startswith("experiment="):
        assert set(config) == set(composed("train"))
        assert composed("prepare", choice) == config


@pytest.mark.parametrize("choice", CHOICES)
def test_every_file_says_what_it_is(choice: str) -> None:
    group, _, name = choice.partition("=")
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
        of = {verb: set(choices(untouched(verb))) for verb in ("train", "tune")}
        assert of["tune"] == folders == {*of["train"], "space"} == {*GROUPS, "space"}


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_has_a_schema_for_its_root(verb: str) -> None:
    required = [
        key for key in ("model", "src", "tgt") if get_type_hints(ROOTS[verb]).get(key) in (str, str | list[str])
    ]
    words = [f"{key}=m" for key in required]
    config = composed(verb, *words)
    check_values(ROOTS[verb], config)
    sections = {key for key, value in config.items() if isinstance(value, dict)}
    assert set(config) - sections == set(ROOTS[verb].__dataclass_fields__)


@pytest.mark.parametrize("verb", ["evaluate", "translate", "interactive"])
def test_verbs_that_use_a_model_leave_its_search_alone(verb: str) -> None:
    config = composed(verb, "model=m")
    fields = set(SearchConfig.__dataclass_fields__)
    assert config["search"] == dict.fromkeys(fields)
    assert set(composed(verb, "model=m", "search=greedy")["search"]) == fields
