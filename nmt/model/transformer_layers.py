"""Transformer layers: a builder, residuals with pre- or post-norm, feed-forward, encoder layer and decoder layer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from nmt.model.attention import AttentionLayer, MultiHead, cross_attend
from nmt.model.dropout import Dropout
from nmt.model.interfaces import Source
from nmt.model.positions import linear
from nmt.model.scores import ScaledDot
from nmt.model.sizes import check_heads

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu"]
KeysValues = tuple[Float[Tensor, "R H _ Dh"], Float[Tensor, "R H _ Dh"]]  # of self-attention; _: any number of tokens
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": functional.relu, "gelu": functional.gelu}


@dataclass(frozen=True)
class LayerBuilder:
    """Makes the parts that all layers of a stack share; `where` is the configuration section that errors name."""

    where: str
    layers: int
    heads: int
    d_model: int
    d_feed_forward: int
    norm: Norm
    activation: Activation
    dropout: float
    attention_dropout: float

    def __post_init__(self) -> None:
        check_heads(self.where, self.heads, self.d_model)

    def self_attention(self) -> MultiHead:
        """The attention of a layer over its own input."""
        return MultiHead(
            self.d_model, self.d_model, self.heads, None, ScaledDot, self.attention_dropout, normaliser="softmax"
        )

    def residual(self) -> "Residual":
        """The residual connection around one part of a layer."""
        return RESIDUALS[self.norm](self.d_model, self.dropout)

    def final_norm(self) -> nn.Module:
        """The module after the last layer: a norm with pre-norm, whose sum is not normalised yet; else the identity."""
        return RESIDUALS[self.norm].final(self.d_model)


class Residual(nn.Module):
    """The sum x + f(x) around a part f of a layer, with dropout on f(x); f is called on `enter(x)`."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def enter(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        """The input of the part f."""
        raise NotImplementedError

    def leave(self, x: Float[Tensor, "R T D"], change: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        """The output of the residual; `change` is the output of f."""
        raise NotImplementedError

    @staticmethod
    def final(d_model: int) -> nn.Module:
        """The module after the last layer."""
        raise NotImplementedError


class PreNorm(Residual):
    """x + f(LN(x)) (Xiong et al. 2020): the gradient reaches every layer unscaled, so short warm-ups suffice."""

    def enter(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        normed: Tensor = self.norm(x)
        return normed

    def leave(self, x: Float[Tensor, "R T D"], change: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        left: Tensor = x + self.dropout(change)
        return left

    @staticmethod
    def final(d_model: int) -> nn.Module:
        return nn.LayerNorm(d_model)


class PostNorm(Residual):
    """LN(x + f(x)) (Vaswani et al. 2017)."""

    def enter(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        return x

    def leave(self, x: Float[Tensor, "R T D"], change: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        left: Tensor = self.norm(x + self.dropout(change))
        return left

    @staticmethod
    def final(d_model: int) -> nn.Module:
        return nn.Identity()


RESIDUALS: dict[Norm, type[Residual]] = {"pre": PreNorm, "post": PostNorm}


class FeedForward(nn.Module):
    """W_2 f(W_1 x + b_1) + b_2 at each position separately, with a residual around it."""

    def __init__(self, builder: LayerBuilder) -> None:
        super().__init__()
        self.inner = linear(builder.d_model, builder.d_feed_forward)
        self.outer = linear(builder.d_feed_forward, builder.d_model)
        self.activation = ACTIVATIONS[builder.activation]
        self.residual = builder.residual()

    def forward(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        change = self.outer(self.activation(self.inner(self.residual.enter(x))))
        return self.residual.leave(x, change)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, builder: LayerBuilder) -> None:
        super().__init__()
        self.attention = builder.self_attention()
        self.residual = builder.residual()
        self.feed_forward = FeedForward(builder)

    def forward(self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B S D"]:
        seen = self.residual.enter(x)
        context, _ = self.attention(seen, seen, mask, wants_weights=False)
        passed: Tensor = self.feed_forward(self.residual.leave(x, context))
        return passed


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, feed-forward."""

    def __init__(self, builder: LayerBuilder, cross: AttentionLayer) -> None:
        super().__init__()
        self.attention = builder.self_attention()
        self.residual = builder.residual()
        self.cross = cross
        self.context = nn.Identity() if cross.d_context == builder.d_model else linear(cross.d_context, builder.d_model)
        self.cross_residual = builder.residual()
        self.feed_forward = FeedForward(builder)

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        past: KeysValues,
        mask: Bool[Tensor, "1 T N"],
        source: Source,
        depth: int,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R Hc T S"], KeysValues]:
        """Outputs, attention weights over the source, and the keys and values of all N tokens, past ones included."""
        seen = self.residual.enter(x)
        new = self.attention.keys_values(seen)
        keys, values = (torch.cat([p.to(n.dtype), n], 2) for p, n in zip(past, new, strict=True))
        context, _ = self.attention.attend(seen, keys, values, mask, wants_weights=False)
        x = self.residual.leave(x, context)
        context, weights = cross_attend(self.cross, self.cross_residual.enter(x), source, depth)
        x = self.cross_residual.leave(x, self.context(context))
        return self.feed_forward(x), weights, (keys, values)
