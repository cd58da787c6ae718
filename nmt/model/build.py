"""Builds a model from a configuration. Sizes that follow from other parts are passed on here and nowhere else."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from nmt.config.run import AttentionConfig, RunConfig
from nmt.config.sections import ModelConfig
from nmt.errors import ConfigError
from nmt.model.attention import AttentionFactory, AttentionLayer
from nmt.model.output_layer import Output
from nmt.model.seq2seq import Embedding, Seq2Seq


def build_model(config: RunConfig, src_vocab: int, tgt_vocab: int) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes."""
    sizes = config.model
    src_embedding, tgt_embedding = embeddings(sizes, src_vocab, tgt_vocab)
    encoder = config.encoder(d_embed=sizes.d_embed)
    decoder = config.decoder(
        embedding=tgt_embedding,
        attention=attention_factory(config.attention),
        d_embed=sizes.d_embed,
        d_memory=encoder.d_memory,
        d_output=None if sizes.tie == "none" else sizes.d_embed,
    )
    output = Output(decoder.d_output, tgt_vocab)
    nn.init.zeros_(output.bias)
    if sizes.tie != "none":
        output.weight = tgt_embedding.table.weight
    return Seq2Seq(src_embedding, encoder, decoder, output)


def build_outline(config: RunConfig, src_vocab: int, tgt_vocab: int) -> Seq2Seq:
    """The same model on the device `meta`: its parameters take no memory, and no random numbers are drawn."""
    with torch.device("meta"), NothingDrawn():
        return build_model(config, src_vocab, tgt_vocab)


class NothingDrawn(TorchFunctionMode):
    """Skips random draws: on `meta` they have no effect, yet torch imports its compiler for them (1.3 s)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if func in (nn.init.normal_, nn.init.uniform_, torch.Tensor.normal_, torch.Tensor.uniform_):
            return named["tensor"] if "tensor" in named else args[0]
        return func(*args, **named)


def embeddings(sizes: ModelConfig, src_vocab: int, tgt_vocab: int) -> tuple[Embedding, Embedding]:
    """Source and target embedding; they are one object if all three tables are tied."""
    target = Embedding(tgt_vocab, sizes.d_embed, sizes.embed_dropout, sizes.word_dropout)
    if sizes.tie == "all":
        return target, target
    return Embedding(src_vocab, sizes.d_embed, sizes.embed_dropout, sizes.word_dropout), target


def attention_factory(config: AttentionConfig) -> AttentionFactory | None:
    """A function that makes attention layers for decoders of any size; None for `attention=none`."""
    part = config.part
    if part is None:
        return None
    if config.several:
        return partial(part, normaliser=config.normaliser)
    return lambda d_query, d_memory: AttentionLayer(part(d_query, d_memory), config.normaliser)


def needs_equal_sizes(config: AttentionConfig) -> bool:
    """Does the attention refuse decoder and encoder states of different sizes, as a dot product does?"""
    make = attention_factory(config)
    if make is None:
        return False
    with torch.device("meta"), NothingDrawn():
        return _takes_sizes(make, 512, 512) and not _takes_sizes(make, 512, 768)


def _takes_sizes(make: AttentionFactory, d_query: int, d_memory: int) -> bool:
    try:
        make(d_query, d_memory)
    except ConfigError:
        return False
    return True
