"""Small random models with Transformers in them, for the tests."""

from typing import Any, TypeVar

import torch
from torch import nn

from helpers.models import attention_section, built, changed, fitted, section
from nmt.model.seq2seq import Seq2Seq

M = TypeVar("M", bound=nn.Module)

D_MODEL, HEADS = 16, 2
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}
ENCODERS = ("transformer", "rnn", "rnn_self_attention")


def config(encoder: str, decoder: str, attention: str, **changes: Any) -> dict[str, Any]:
    """A model of a few units; encoder states and decoder states have one size."""
    rnn = {"cell": "gru", "rnn_layers": 1, "d_hidden": D_MODEL // 2}
    sizes = {"d_model": D_MODEL, "heads": HEADS, "layers": 2, "d_feed_forward": 20, "max_positions": 24}
    small = rnn | sizes | {"dropout": 0.0}
    attending = {"d_attention": D_MODEL, "rank": 3, "heads": HEADS, "dropout": 0.0}
    sections = {
        "model": {"d_embed": 8, "embed_dropout": 0.0, "word_dropout": 0.0, "tie": "none"},
        "encoder": fitted(section("encoder", encoder), small),
        "decoder": fitted(section("decoder", decoder), small | {"d_hidden": D_MODEL}),
    }
    parts = changed(sections, changes)
    return parts | {"attention": fitted(attention_section(attention), attending), "tokenizer": {"joint": True}}


def model_of(
    encoder: str = "transformer", decoder: str = "transformer", attention: str = "multi_head", **changes: Any
) -> Seq2Seq:
    """A random model in evaluation mode."""
    torch.manual_seed(0)
    return shaken(built(config(encoder, decoder, attention, **changes)))


def shaken(module: M) -> M:
    """The module in evaluation mode; biases and gains, too, are away from their initial values."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module.eval()
