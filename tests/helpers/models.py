"""Small random models for the tests, built from the configuration that ships, over every attention there is."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from nmt.config.run import RunConfig, read_run_config
from nmt.data.batch import Batch, make_batch
from nmt.machine.device import computes_bf16
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.training.run import OF_ONE_COMMAND

CONFIGS = Path(__file__).parents[2] / "configs"
ATTENTIONS = sorted(path.stem for path in (CONFIGS / "attention").glob("*.yaml"))
VOCAB = 23
NEEDS_BF16 = pytest.mark.skipif(
    not computes_bf16(torch.device("cpu")), reason="this processor (no AVX-512) has no LSTM in bf16"
)


@cache
def shipped(name: str) -> dict[str, Any]:
    """A file below configs/ as plain data, read once; whoever changes it needs a copy."""
    values: dict[str, Any] = yaml.safe_load((CONFIGS / name).read_text())
    return values


def section(group: str, name: str, **changes: Any) -> dict[str, Any]:
    """A group's file as plain data, with these values instead of its own; KeyError for a key that it lacks."""
    values = deepcopy(shipped(f"{group}/{name}.yaml"))
    for inner in values.pop("defaults", []):  # such as {"/attention@score": "scaled_dot"}
        for key, choice in inner.items():
            source, _, target = key.lstrip("/").partition("@")
            values[target] = section(source, choice)
    if group == "attention":  # what a new score may have of its own suits the small models, too
        values |= {key: min(value, 4) for key, value in values.items() if type(value) is int}
    refuse_unknown(changes, values, f"{group}={name}")
    return values | changes


def refuse_unknown(changes: Iterable[str], known: Iterable[str], where: str) -> None:
    """KeyError for a change of a key that is not known: a test would test something else than it says."""
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise KeyError(f"{where} has no {', '.join(unknown)}; its keys are {', '.join(sorted(known))}")


def attention_section(name: str, normaliser: str = "softmax", **changes: Any) -> dict[str, Any]:
    """An attention as the whole configuration has it."""
    return section("attention", name, **changes) | {"normaliser": normaliser}


def fitted(values: dict[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """A section, and the one inside it, with those of the sizes that it has."""
    return {
        key: fitted(value, sizes) if isinstance(value, dict) else sizes.get(key, value) for key, value in values.items()
    }


def changed(sections: dict[str, dict[str, Any]], changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each change in every section that has its key; KeyError for a key that none has."""
    refuse_unknown(changes, {key for values in sections.values() for key in values}, "the model")
    return {name: values | {key: changes[key] for key in changes if key in values} for name, values in sections.items()}


def model_config(
    attention: str = "general", cell: str = "lstm", layers: int = 1, dropout: float = 0.0, **changes: Any
) -> dict[str, Any]:
    """A model of a few units; `changes` are keys of any section, `score` is a file's name."""
    small = {"d_hidden": 12, "d_attention": 12, "rank": 3, "cell": cell, "layers": layers, "dropout": dropout}
    if "score" in changes:
        changes["score"] = fitted(section("attention", changes["score"]), small)
    sections = {
        "model": {"d_embed": 8, "embed_dropout": dropout, "word_dropout": 0.0, "tie": "none"},
        "encoder": fitted(section("encoder", "rnn"), small | {"d_hidden": 6}),
        "decoder": fitted(section("decoder", "rnn"), small),
        "attention": fitted(attention_section(attention), small),
    }
    return changed(sections, changes) | {"tokenizer": {"joint": True}}


@cache
def defaults() -> dict[str, Any]:
    """The configuration of a run as it ships, in plain data."""
    root = deepcopy(shipped("train.yaml"))
    groups = {key: choice for each in root.pop("defaults") if isinstance(each, dict) for key, choice in each.items()}
    chosen = {group: section(group, name) for group, name in groups.items() if name and group != "data"}
    whole = root | chosen | {"data": section("data", "text"), "name": "run", "cache_dir": "cache"}
    whole["attention"] |= root["attention"]
    whole["train"] |= {"parts": 1}  # null is for a command line
    return {key: value for key, value in whole.items() if key not in OF_ONE_COMMAND}


def run_config_of(sections: Mapping[str, Any]) -> RunConfig:
    """The shipped configuration with these sections; of tokenizer, data, search and train keys alone may be given."""
    joined = {
        key: defaults()[key] | value if key in ("tokenizer", "data", "search", "train") else value
        for key, value in sections.items()
    }
    return read_run_config(defaults() | joined, [])


def built(sections: Mapping[str, Any], src_vocab: int = VOCAB, tgt_vocab: int = VOCAB) -> Seq2Seq:
    """A new model."""
    return build_model(run_config_of(sections), src_vocab, tgt_vocab)


def small_model(attention: str = "general", seed: int = 0, **changes: Any) -> Seq2Seq:
    """A random model in evaluation mode."""
    torch.manual_seed(seed)
    model = built(model_config(attention, **changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # far from the small initial values, so that errors show
            parameter.mul_(2.0)
    return model


def random_batch(seed: int = 0, sentences: int = 5, longest: int = 9) -> Batch:
    """Sentence pairs of random lengths, the shortest empty."""
    generator = torch.Generator().manual_seed(seed)

    def side() -> list[list[int]]:
        lengths = torch.randint(0, longest, (sentences,), generator=generator).tolist()
        return [torch.randint(4, VOCAB, (n,), generator=generator).tolist() for n in [*lengths[:-1], longest]]

    return make_batch(side(), side())
