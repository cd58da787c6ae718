"""Small random models for the tests, built from the configuration that ships, over every attention there is."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from nmt.data.batch import Batch, make_batch
from nmt.machine.device import computes_bf16
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq

CONFIGS = Path(__file__).parents[2] / "configs"
ATTENTIONS = sorted(path.stem for path in (CONFIGS / "attention").glob("*.yaml"))
VOCAB = 23
NEEDS_BF16 = pytest.mark.skipif(
    not computes_bf16(torch.device("cpu")), reason="this processor (no AVX-512) has no LSTM in bf16"
)


def section(group: str, name: str, **changes: Any) -> dict[str, Any]:
    """A group's file as plain data, with these values instead of its own."""
    values: dict[str, Any] = yaml.safe_load((CONFIGS / group / f"{name}.yaml").read_text())
    for inner in values.pop("defaults", []):  # such as {"/attention@score": "scaled_dot"}
        for key, choice in inner.items():
            source, _, target = key.lstrip("/").partition("@")
            values[target] = section(source, choice, **changes)
    if group == "attention":  # what a new score may have of its own suits the small models, too
        values |= {key: min(value, 4) for key, value in values.items() if type(value) is int}
    return values | {key: value for key, value in changes.items() if key in values}


def attention_section(name: str, normaliser: str = "softmax", **changes: Any) -> dict[str, Any]:
    """An attention as the whole configuration has it."""
    return section("attention", name, **changes) | {"normaliser": normaliser}


def model_config(
    attention: str = "general", cell: str = "lstm", layers: int = 1, dropout: float = 0.0, **changes: Any
) -> dict[str, Any]:
    """A model of a few units; `changes` are keys of any section."""
    small: dict[str, Any] = {
        "d_hidden": 12,
        "d_attention": 12,
        "rank": 3,
        "cell": cell,
        "layers": layers,
        "dropout": dropout,
    }
    model = {"d_embed": 8, "embed_dropout": dropout, "word_dropout": 0.0, "tie": "none"}
    return {
        "model": model | {k: v for k, v in changes.items() if k in model},
        "tokenizer": {"joint": True},
        "encoder": section("encoder", "rnn", **(small | {"d_hidden": 6} | changes)),
        "decoder": section("decoder", "rnn", **(small | changes)),
        "attention": attention_section(attention, **(small | changes)),
    }


def small_model(attention: str = "general", seed: int = 0, **changes: Any) -> Seq2Seq:
    """A random model in evaluation mode."""
    torch.manual_seed(seed)
    model = build_model(model_config(attention, **changes), VOCAB, VOCAB).eval()
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
