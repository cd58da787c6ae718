"""Configurations as the YAML files give them, and corpora of a few lines, for tests."""

import random
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from nmt.config.sections import DataConfig, FilterConfig, SplitConfig, TokenizerConfig

CONFIGS = Path(__file__).parents[2] / "configs"
NONE = SplitConfig(None, None, None)


def load_yaml(group: str, name: str) -> DictConfig:
    """configs/GROUP/NAME.yaml with the file of the same group that it builds on."""
    own = OmegaConf.load(CONFIGS / group / f"{name}.yaml")
    bases = [base for base in own.pop("defaults", []) if base != "_self_"]
    merged = OmegaConf.merge(*(load_yaml(group, base) for base in bases), own)
    assert isinstance(merged, DictConfig)
    return merged


@cache
def read_once(group: str, name: str) -> dict[str, Any]:
    """The same as plain data; whoever changes it needs a copy."""
    values = OmegaConf.to_container(load_yaml(group, name))
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def data_config(name: str, **changes: object) -> DataConfig:
    """configs/data/NAME.yaml; changes named after a filter go there, others to the top."""
    values = deepcopy(read_once("data", name))
    for split in ("train", "dev", "test"):
        values[split] = SplitConfig(**values[split])
    filters = {key: changes.pop(key) for key in list(changes) if key in FilterConfig.__annotations__}
    values["filters"] = replace(FilterConfig(**values["filters"]), **filters)
    return replace(DataConfig(**values), **changes)


def tokenizer_config(name: str = "unigram", **changes: object) -> TokenizerConfig:
    """configs/tokenizer/NAME.yaml with changes."""
    return replace(TokenizerConfig(**deepcopy(read_once("tokenizer", name))), **changes)


def text_data(folder: Path, pairs: list[tuple[str, str]], **changes: object) -> DataConfig:
    """Training pairs written as two text files, and their configuration."""
    for side, suffix in enumerate(("src", "tgt")):
        (folder / f"train.{suffix}").write_bytes("".join(f"{pair[side]}\n" for pair in pairs).encode())
    train = SplitConfig("train.src", "train.tgt", None)
    return data_config("text", **{"root": str(folder), "train": train, **changes})


def make_pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Different pairs of made-up sentences; the target spells the source's words backwards."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 6))) for _ in range(200)]
    sources = dict.fromkeys(" ".join(rng.choices(words, k=rng.randint(3, 9))) for _ in range(2 * count))
    return [(source, source[::-1]) for source in list(sources)[:count]]


def write_splits(folder: Path, splits: dict[str, int]) -> Path:
    """A new folder with NAME.en and NAME.de, so many pairs each."""
    folder.mkdir()
    for name, count in splits.items():
        for side, language in enumerate(("en", "de")):
            lines = (f"{pair[side]}\n" for pair in make_pairs(count, count))
            (folder / f"{name}.{language}").write_text("".join(lines))
    return folder
