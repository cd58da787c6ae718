"""Attention layers with one or several heads: they compute keys, values and queries, and attend with a score."""

from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.config.keys import Share, Size
from nmt.config.parts import LAYERS, SCORES
from nmt.model.interfaces import Source
from nmt.model.linear import Linear
from nmt.model.scores import AttentionScore, Normaliser
from nmt.model.sizes import check_heads

ScoreFactory = Callable[[int, int], AttentionScore]  # takes d_query, d_memory


class AttentionLayer(nn.Module):
    """`layer(X, Y, …)` gives the contexts of the queries Y over the states X; `layer(X, X, …)` is self-attention.

    `keys_values` computes keys and values from X once; they may serve many calls of `attend`. This layer has one head,
    and its score sees X and Y without a projection.
    """

    def __init__(self, score: AttentionScore, normaliser: Normaliser) -> None:
        super().__init__()
        self.score = score
        self.normaliser = normaliser
        self.d_context = score.d_value

    def forward(
        self, X: Float[Tensor, "B S Dx"], Y: Float[Tensor, "B T Dy"], mask: Bool[Tensor, "#B #T S"], wants_weights: bool
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B Hw T S"]]:
        keys, values = self.keys_values(X)
        return self.attend(Y, keys, values, mask, wants_weights)

    def keys_values(
        self, states: Float[Tensor, "B S D"]
    ) -> tuple[Float[Tensor, "B H S Dk"], Float[Tensor, "B H S Dv"]]:
        """The keys that queries are compared with, and the values that contexts are made of."""
        return self.score.keys(states)[:, None], self.score.values(states)[:, None]

    def attend(
        self,
        query: Float[Tensor, "B T D"],
        keys: Float[Tensor, "B H S Dk"],
        values: Float[Tensor, "B H S Dv"],
        mask: Bool[Tensor, "#B #T S"],
        wants_weights: bool,
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B Hw T S"]]:
        """Contexts, and the weights of every head; their head axis, Hw, is empty without `wants_weights`."""
        context, found = self.score.attend(query, keys[:, 0], values[:, 0], mask, self.normaliser, 0.0, wants_weights)
        return context, found[:, None] if wants_weights else found[:, None][:, :0]


@LAYERS.register
class MultiHead(AttentionLayer):
    """W_O [a_1; …; a_H] of H heads, each with its W_Q, W_K, W_V (Vaswani et al. 2017, section 3.2.2).

    The heads can use any score; each head has its own score parameters. Contexts have the size of the queries.
    """

    def __init__(
        self,
        d_query: int,
        d_memory: int,
        heads: Size,
        d_attention: Size | None,
        score: Annotated[ScoreFactory, SCORES],
        dropout: Share,
        normaliser: Normaliser,
    ) -> None:
        d_attention = d_query if d_attention is None else d_attention
        check_heads("attention", heads, d_attention)
        d_head = d_attention // heads
        first = score(d_head, d_head)
        super().__init__(first, normaliser)
        self.heads = heads
        self.dropout = dropout
        self.d_context = d_query
        alike = not list(first.parameters())  # one score without parameters serves all heads at once
        self.others = nn.ModuleList() if alike else nn.ModuleList(score(d_head, d_head) for _ in range(1, heads))
        self.query_projection = Linear(d_query, d_attention)
        self.key_projection = Linear(d_memory, d_attention)
        self.value_projection = Linear(d_memory, d_attention)
        self.output_projection = Linear(heads * first.d_value, d_query)
        for projection in (self.query_projection, self.key_projection, self.value_projection):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)
        nn.init.zeros_(self.output_projection.bias)

    def keys_values(
        self, states: Float[Tensor, "B S D"]
    ) -> tuple[Float[Tensor, "B H S Dk"], Float[Tensor, "B H S Dv"]]:
        keys, values = self.split(self.key_projection(states)), self.split(self.value_projection(states))
        if not self.others:
            return self.score.keys(keys), self.score.values(values)
        scores = [self.score, *self.others]
        return (
            torch.stack([score.keys(keys[:, head]) for head, score in enumerate(scores)], 1),
            torch.stack([score.values(values[:, head]) for head, score in enumerate(scores)], 1),
        )

    def attend(
        self,
        query: Float[Tensor, "B T D"],
        keys: Float[Tensor, "B H S Dk"],
        values: Float[Tensor, "B H S Dv"],
        mask: Bool[Tensor, "#B #T S"],
        wants_weights: bool,
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B Hw T S"]]:
        queries = self.split(self.query_projection(query))
        dropout = self.dropout if self.training else 0.0
        if self.others:
            parts = [
                score.attend(queries[:, h], keys[:, h], values[:, h], mask, self.normaliser, dropout, wants_weights)
                for h, score in enumerate([self.score, *self.others])
            ]
            contexts = torch.stack([context for context, _ in parts], 1)
            found = torch.stack([alpha for _, alpha in parts], 1)
        else:
            contexts, found = self.score.attend(
                queries, keys, values, mask[:, None], self.normaliser, dropout, wants_weights
            )
        context: Tensor = self.output_projection(contexts.transpose(1, 2).flatten(2))
        return context, found if wants_weights else found[:, :0]

    def split(self, states: Float[Tensor, "B N D"]) -> Float[Tensor, "B H N Dh"]:
        """The features, divided among the heads."""
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2)


AttentionFactory = Callable[[int, int], AttentionLayer]  # takes d_query, d_memory; a decoder has one layer or several


def cross_attend(
    layer: AttentionLayer, query: Float[Tensor, "R T D"], source: Source, depth: int
) -> tuple[Float[Tensor, "R T C"], Float[Tensor, "R Hw T S"]]:
    """Attention over the source, with the keys and values of decoder layer `depth`.

    Each of the B sentences has K of the R rows, side by side. They are folded into the query axis, so that the
    hypotheses of a sentence share its keys and values.
    """
    rows, length, d_query = query.shape
    sentences, positions = source.mask.shape
    folded = query.reshape(sentences, -1, d_query)  # [B, K*T, D]
    keys, values = source.keys[:, depth], source.values[:, depth]
    context, weights = layer.attend(folded, keys, values, source.mask[:, None], source.wants_weights)
    heads = weights.shape[1]
    beams = weights.view(sentences, heads, rows // sentences, length, positions).transpose(1, 2)  # [B, K, H, T, S]
    return context.view(rows, length, -1), beams.reshape(rows, heads, length, positions)
