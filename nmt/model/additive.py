"""Additive scores vᵀ tanh(k + q) of every query and key; the whole tensor of sums k + q is never in memory."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ALIVE_CPU = 2**20  # elements of the sums [B, T, S, D] in memory at a time: few enough for the cache
ALIVE_ELSEWHERE = 2**28  # the same for a GPU, which needs large blocks to be busy; half a gigabyte in bfloat16


def additive_scores(
    queries: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S D"], v: Float[Tensor, " D"]
) -> Float[Tensor, "*B T S"]:
    """vᵀ tanh(k_i + q_t) (Bahdanau et al. 2015, appendix A.1.2), computed in blocks, and again for the gradient.

    Besides queries, keys and scores, memory holds `ALIVE_CPU` or `ALIVE_ELSEWHERE` elements of the sums, whatever the
    lengths. One exception: the sums of a single query, S · D elements, are never divided.
    """
    leading = queries.shape[:-2]
    low = torch.promote_types(queries.dtype, keys.dtype)
    q, k = (each.to(low).reshape(math.prod(leading), *each.shape[-2:]) for each in (queries, keys))
    scores: Tensor = _Additive.apply(q, k, v.to(low))  # type: ignore[no-untyped-call]
    return scores.view(*leading, *scores.shape[-2:])


def pieces(queries: Float[Tensor, "B T D"], keys: Float[Tensor, "B S D"]) -> Iterator[tuple[slice, slice]]:
    """The rows and queries of each block: whole sentences, or part of a sentence that is too long for one block."""
    alive = ALIVE_CPU if queries.device.type == "cpu" else ALIVE_ELSEWHERE
    (rows, length, _), one_query = queries.shape, keys.shape[1] * keys.shape[2]
    row_step = max(1, alive // max(1, length * one_query))
    step = max(1, alive // max(1, row_step * one_query))
    for row in range(0, rows, row_step):
        for start in range(0, length, step):
            yield slice(row, row + row_step), slice(start, start + step)


class _Additive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        scores = queries.new_empty(*queries.shape[:2], keys.shape[1])
        for rows, times in pieces(queries, keys):
            scores[rows, times] = _hidden(queries[rows, times], keys[rows]) @ v
        ctx.save_for_backward(queries, keys, v)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, v = ctx.saved_tensors
        d_queries = torch.empty_like(queries)
        exact = torch.promote_types(v.dtype, torch.float32)  # for sums over blocks
        d_keys, d_v = torch.zeros_like(keys, dtype=exact), torch.zeros_like(v, dtype=exact)
        for rows, times in pieces(queries, keys):
            hidden, d_score = _hidden(queries[rows, times], keys[rows]), d_scores[rows, times]
            d_v += d_score.flatten() @ hidden.flatten(0, 2)
            d_sum = hidden.square_().neg_().add_(1.0).mul_(v).mul_(d_score[..., None])  # by tanh' = 1 - tanh²
            d_queries[rows, times] = d_sum.sum(2)
            d_keys[rows] += d_sum.sum(1)
        return d_queries, d_keys.to(keys.dtype), d_v.to(v.dtype)


def _hidden(queries: Float[Tensor, "B T D"], keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B T S D"]:
    return torch.tanh_(queries[:, :, None] + keys[:, None])
