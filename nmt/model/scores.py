"""Attention scores e_{t,i} = score(s_t, h_i), and the only masked normalisation of the project.

Axis letters: B sentences, T queries (decoder positions), S source positions, D features. A score accepts any axes
before the last two, so that the same class serves one head ([B, T, D]) and many ([B, H, T, D]).
To add a score, write one class here and one file in configs/attention/. nmt/model/attention.py makes layers of scores.
"""

import math
from typing import Literal

import torch
from entmax import entmax15, sparsemax
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from nmt.config.keys import Positive, Size
from nmt.config.parts import SCORES
from nmt.errors import ConfigError
from nmt.model.additive import additive_scores
from nmt.model.dropout import drop_each
from nmt.model.linear import Linear
from nmt.model.sizes import require_equal_sizes

Normaliser = Literal["softmax", "sparsemax", "entmax15"]
OUT_OF_REACH = -10.0  # relative to the best score: sparsemax and entmax15 give 0 there


class AttentionScore(nn.Module):
    """How well each query (decoder state s) matches each key (encoder state h of a source position).

    The docstring of a score begins with its formula, then its source in parentheses; `nmt attentions` shows that line.

    `keys` and `values` run once per sentence; `forward` runs at every step.
    """

    def __init__(self, d_query: int, d_memory: int) -> None:
        super().__init__()
        self.d_query = d_query
        self.d_value = d_memory

    def keys(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dk"]:
        """The keys that queries are compared with."""
        return states

    def values(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dv"]:
        """The values that contexts are made of."""
        return states

    def forward(self, query: Float[Tensor, "*B T Dq"], keys: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B T S"]:
        """Scores before the softmax."""
        raise NotImplementedError

    def attend(
        self,
        query: Float[Tensor, "*B T Dq"],
        keys: Float[Tensor, "*B S Dk"],
        values: Float[Tensor, "*B S Dv"],
        mask: Bool[Tensor, "*#B #T S"],
        normaliser: Normaliser,
        dropout: float,
        wants_weights: bool,
    ) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
        """Contexts and weights, as the function `attend` gives them; weights may be wrong without `wants_weights`."""
        return attend(self(query, keys), values, mask, normaliser, dropout)


class InnerProduct(AttentionScore):
    """q · k, where q is a projection of the query: the scores that fused attention kernels can compute."""

    def queries(self, query: Float[Tensor, "*B T Dq"]) -> Float[Tensor, "*B T Dk"]:
        """The projected queries, which are multiplied with the keys."""
        return query

    def forward(self, query: Float[Tensor, "*B T Dq"], keys: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B T S"]:
        return self.queries(query) @ keys.transpose(-2, -1)

    def attend(
        self,
        query: Float[Tensor, "*B T Dq"],
        keys: Float[Tensor, "*B S Dk"],
        values: Float[Tensor, "*B S Dv"],
        mask: Bool[Tensor, "*#B #T S"],
        normaliser: Normaliser,
        dropout: float,
        wants_weights: bool,
    ) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
        if wants_weights or normaliser != "softmax" or not fused_pays(query.device):
            return super().attend(query, keys, values, mask, normaliser, dropout, wants_weights)
        queries = self.queries(query)
        context = functional.scaled_dot_product_attention(
            queries, keys.to(queries.dtype), values.to(queries.dtype), mask, dropout, scale=1.0
        )
        return context, context.new_zeros(()).expand(*context.shape[:-1], keys.shape[-2])


@SCORES.register
class Dot(InnerProduct):
    """s · h (Luong et al. 2015, eq. 8)."""

    def __init__(self, d_query: int, d_memory: int) -> None:
        super().__init__(d_query, d_memory)
        require_equal_sizes(type(self).__name__, d_query, d_memory)


@SCORES.register
class ScaledDot(Dot):
    """s · h / √d_k (Vaswani et al. 2017, eq. 1)."""

    def queries(self, query: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        return query / math.sqrt(query.shape[-1])


@SCORES.register
class Cosine(Dot):
    """τ · cos(s, h), τ learned (Graves et al. 2014, eq. 5 and 6, where τ is called β).

    The cosine lies in [-1, 1]; without a large τ the softmax over it is almost uniform.
    """

    def __init__(self, d_query: int, d_memory: int, tau: Positive) -> None:
        super().__init__(d_query, d_memory)
        self.log_tau = nn.Parameter(torch.tensor(math.log(tau)))

    def keys(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S D"]:
        return functional.normalize(states, dim=-1)

    def queries(self, query: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        return functional.normalize(query, dim=-1) * self.log_tau.exp()


@SCORES.register
class General(InnerProduct):
    """sᵀ W h, bilinear (Luong et al. 2015, eq. 8).

    W h is computed once per sentence.
    """

    def __init__(self, d_query: int, d_memory: int) -> None:
        super().__init__(d_query, d_memory)
        self.key_projection = Linear(d_memory, d_query, bias=False)

    def keys(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dk"]:
        projected: Tensor = self.key_projection(states)
        return projected


@SCORES.register
class ReducedRank(General):
    """(U s) · (V h), U and V of `rank` rows (Stanford CS224n, lecture on attention).

    A bilinear score whose matrix UᵀV has a small rank.
    """

    def __init__(self, d_query: int, d_memory: int, rank: Size) -> None:
        super().__init__(d_query, d_memory)
        if rank > (most := min(d_query, d_memory)):
            raise ConfigError(
                f"attention {type(self).__name__} has rank {rank}; it must be at most {most}, the smaller size of "
                f"query and key; set attention.rank={most}, or in multi_head attention.score.rank={most}"
            )
        self.key_projection = Linear(d_memory, rank, bias=False)
        self.query_projection = Linear(d_query, rank, bias=False)

    def queries(self, query: Float[Tensor, "*B T Dq"]) -> Float[Tensor, "*B T Dk"]:
        projected: Tensor = self.query_projection(query)
        return projected


@SCORES.register
class Additive(AttentionScore):
    """vᵀ tanh(W_1 h + W_2 s) with `d_attention` units (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, d_query: int, d_memory: int, d_attention: Size) -> None:
        super().__init__(d_query, d_memory)
        self.key_projection = Linear(d_memory, d_attention, bias=True)
        self.query_projection = Linear(d_query, d_attention, bias=False)
        self.v = Linear(d_attention, 1, bias=False)

    def keys(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dk"]:
        projected: Tensor = self.key_projection(states)
        return projected

    def forward(self, query: Float[Tensor, "*B T Dq"], keys: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B T S"]:
        return additive_scores(self.query_projection(query), keys, self.v.weight[0])


@SCORES.register
class KeyValue(ScaledDot):
    """(W_Q s) · (W_K h) / √d_k, values W_V h (Vaswani et al. 2017, section 3.2.2: one head, without W_O)."""

    def __init__(self, d_query: int, d_memory: int, d_attention: Size) -> None:
        super().__init__(d_attention, d_attention)
        self.query_projection = Linear(d_query, d_attention, bias=False)
        self.key_projection = Linear(d_memory, d_attention, bias=False)
        self.value_projection = Linear(d_memory, d_attention, bias=False)

    def keys(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dk"]:
        projected: Tensor = self.key_projection(states)
        return projected

    def values(self, states: Float[Tensor, "*B S D"]) -> Float[Tensor, "*B S Dv"]:
        projected: Tensor = self.value_projection(states)
        return projected

    def queries(self, query: Float[Tensor, "*B T Dq"]) -> Float[Tensor, "*B T Dk"]:
        return super().queries(self.query_projection(query))


def fused_pays(device: torch.device) -> bool:
    """Is torch's fused attention faster? On a CPU it is not, for sequences as short as sentences."""
    return device.type != "cpu"


def attend(
    scores: Float[Tensor, "*B T S"],
    values: Float[Tensor, "*B S D"],
    mask: Bool[Tensor, "*#B #T S"],
    normaliser: Normaliser = "softmax",
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*B T D"], Float[Tensor, "*B T S"]]:
    """Contexts a_t = Σ_i α_{t,i} v_i and weights α_t = softmax(e_t) over real positions (float32).

    Weights are exactly 0 on padding, and all 0 in a row without any real position. `dropout` applies to the
    contexts, not to the weights returned.
    """
    weights = normalise(scores.float(), mask, normaliser).masked_fill(~mask, 0.0)
    used = drop_each(weights, dropout, training=True)
    return used.to(values.dtype) @ values, weights


def normalise(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "*#B #T S"], normaliser: Normaliser
) -> Float[Tensor, "*B T S"]:
    """Weights that sum to 1: softmax, sparsemax (Martins & Astudillo 2016) or 1.5-entmax (Peters et al. 2019).

    Sparsemax gives exactly 0 to a score that is at least 1 below the best, entmax15 to one that is at least 2 below.
    """
    lowest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    if normaliser == "softmax":
        return lowest.softmax(-1)
    below_best = scores - lowest.detach().amax(-1, keepdim=True)  # -inf if the distance is too large for float32
    bounded = torch.where(mask, below_best, OUT_OF_REACH).clamp(min=OUT_OF_REACH)  # finite: sums of squares stay exact
    weights: Tensor = sparsemax(bounded, dim=-1) if normaliser == "sparsemax" else entmax15(bounded, dim=-1)
    return weights
