"""Transformer encoder and decoder (Vaswani et al. 2017), and self-attention over the states of an RNN.

Every attention is an `AttentionLayer`: self-attention is a multi-head layer over its own input, the decoder's
cross-attention is the layer that `attention=` names.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.config.keys import Layers, Share, Size
from nmt.config.parts import DECODERS, ENCODERS
from nmt.errors import ConfigError
from nmt.model.attention import AttentionFactory
from nmt.model.interfaces import Memory, Source, State
from nmt.model.linear import Linear
from nmt.model.positions import PositionedTokens, Positions
from nmt.model.rnn import Cell, RnnEncoder
from nmt.model.transformer_layers import Activation, DecoderLayer, EncoderLayer, KeysValues, LayerBuilder, Norm


class EncoderStack(nn.Module):
    """Self-attention layers over the states of a sentence; `final` is the mean over real positions."""

    def __init__(self, builder: LayerBuilder) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(builder) for _ in range(builder.layers))
        self.norm = builder.final_norm()

    def forward(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        for layer in self.layers:
            states = layer(states, mask[:, None])
        states = self.norm(states)
        total = states.masked_fill(~mask[..., None], 0.0).sum(1)
        return Memory(states, total / mask.sum(1, keepdim=True).clamp(min=1).to(states.dtype), mask)


@ENCODERS.register
class TransformerEncoder(nn.Module):
    """Embeddings with positions, then self-attention layers."""

    def __init__(
        self,
        d_embed: int,
        layers: Layers,
        heads: Size,
        d_model: Size,
        d_feed_forward: Size,
        norm: Norm,
        activation: Activation,
        positions: Positions,
        max_positions: Size,
        dropout: Share,
        attention_dropout: Share,
    ) -> None:
        super().__init__()
        builder = LayerBuilder(
            "encoder", layers, heads, d_model, d_feed_forward, norm, activation, dropout, attention_dropout
        )
        self.d_memory = d_model
        self.tokens = PositionedTokens("encoder", d_embed, d_model, positions, max_positions, dropout)
        self.stack = EncoderStack(builder)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        memory: Memory = self.stack(self.tokens(embedded, start=0), mask)
        return memory


@ENCODERS.register
class RnnSelfAttentionEncoder(nn.Module):
    """An RNN encoder, then self-attention layers over its states. They carry the order, so positions are not added."""

    def __init__(
        self,
        d_embed: int,
        cell: Cell,
        rnn_layers: Layers,
        d_hidden: Size,
        bidirectional: bool,
        layers: Layers,
        heads: Size,
        d_feed_forward: Size,
        norm: Norm,
        activation: Activation,
        dropout: Share,
        attention_dropout: Share,
    ) -> None:
        super().__init__()
        self.rnn = RnnEncoder(d_embed, cell, rnn_layers, d_hidden, bidirectional, dropout, with_embeddings=False)
        self.d_memory = self.rnn.d_memory
        builder = LayerBuilder(
            "encoder", layers, heads, self.d_memory, d_feed_forward, norm, activation, dropout, attention_dropout
        )
        self.stack = EncoderStack(builder)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        memory: Memory = self.stack(self.rnn(embedded, mask).states, mask)
        return memory


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of every layer's self-attention over the t tokens so far.

    Each layer has tensors of its own: adding a token copies them once, reordering rows copies them once more.
    """

    layers: tuple[KeysValues, ...]


@DECODERS.register
class TransformerDecoder(nn.Module):
    """Embeddings with positions, then layers of causal self-attention, attention over the source and feed-forward.

    A token's position comes from the state: it is the number of earlier tokens, which is the number of keys.
    """

    def __init__(
        self,
        embedding: nn.Module,
        attention: AttentionFactory | None,
        d_embed: int,
        d_memory: int,
        d_output: int | None,
        layers: Layers,
        heads: Size,
        d_model: Size,
        d_feed_forward: Size,
        norm: Norm,
        activation: Activation,
        positions: Positions,
        max_positions: Size,
        dropout: Share,
        attention_dropout: Share,
    ) -> None:
        super().__init__()
        if attention is None:
            raise ConfigError(
                "attention is none, but decoder=transformer sees the source through attention alone; "
                "set attention=multi_head, or another one, or decoder=rnn"
            )
        builder = LayerBuilder(
            "decoder", layers, heads, d_model, d_feed_forward, norm, activation, dropout, attention_dropout
        )
        self.embedding = embedding
        self.heads = heads
        self.d_head = d_model // heads
        self.tokens = PositionedTokens("decoder", d_embed, d_model, positions, max_positions, dropout)
        self.layers = nn.ModuleList(DecoderLayer(builder, attention(d_model, d_memory)) for _ in range(layers))
        self.norm = builder.final_norm()
        self.d_output = d_model if d_output is None else d_output
        longest = self.tokens.positions.longest
        self.max_length = None if longest is None else longest - 1  # bos has a position, too
        self.output = nn.Identity() if self.d_output == d_model else Linear(d_model, self.d_output, bias=False)

    def start(self, memory: Memory, wants_weights: bool) -> tuple[Source, TransformerState]:
        """Keys and values of the sentences for every layer, and a state without tokens."""
        pairs = [layer.cross.keys_values(memory.states) for layer in self.layers]  # type: ignore[union-attr,operator]
        keys, values = (torch.stack(each, 1) for each in zip(*pairs, strict=True))
        empty = memory.states.new_zeros(len(memory.states), self.heads, 0, self.d_head)
        return Source(keys, values, memory.mask, wants_weights), TransformerState(((empty, empty),) * len(self.layers))

    def forward(
        self, tokens: Int[Tensor, "R T"], source: Source, state: TransformerState
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], TransformerState]:
        rows, length = tokens.shape
        before = state.layers[0][0].shape[2]
        x = self.tokens(self.embedding(tokens), before)
        causal = torch.ones(1, length, before + length, dtype=torch.bool, device=tokens.device).tril(before)
        attended, after = [], []
        for depth, (layer, past) in enumerate(zip(self.layers, state.layers, strict=True)):
            x, weights, now = layer(x, past, causal, source, depth)
            attended.append(weights)
            after.append(now)
        nothing = x.new_zeros(rows, 0, 1, length, source.mask.shape[1])
        found = torch.stack(attended, 1) if source.wants_weights else nothing
        return self.output(self.norm(x)), found, TransformerState(tuple(after))
