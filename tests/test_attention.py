"""Every score against its formula written as plain NumPy loops, and attend against torch's own attention."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from models import ATTENTIONS, section
from torch import Tensor
from torch.nn import functional

from nmt.attention import AttentionScore, Dot, ReducedRank, attend
from nmt.build import score
from nmt.errors import ConfigError

B, T, S, D = 3, 4, 6, 8
Formula = Callable[[AttentionScore, np.ndarray, np.ndarray], float]


def matrix(score: AttentionScore, name: str) -> np.ndarray:
    return dict(score.named_parameters())[name].detach().double().numpy()


FORMULAS: dict[str, Formula] = {
    "dot": lambda m, s, h: float(s @ h),
    "scaled_dot": lambda m, s, h: float(s @ h) / math.sqrt(len(h)),
    "cosine": lambda m, s, h: float(np.exp(matrix(m, "log_tau")) * (s @ h) / (np.linalg.norm(s) * np.linalg.norm(h))),
    "general": lambda m, s, h: float(s @ matrix(m, "key_projection.weight") @ h),
    "reduced_rank": lambda m, s, h: float(
        (matrix(m, "query_projection.weight") @ s) @ (matrix(m, "key_projection.weight") @ h)
    ),
    "additive": lambda m, s, h: float(
        matrix(m, "v.weight")[0]
        @ np.tanh(
            matrix(m, "key_projection.weight") @ h
            + matrix(m, "key_projection.bias")
            + matrix(m, "query_projection.weight") @ s
        )
    ),
    "key_value": lambda m, s, h: float(
        (matrix(m, "query_projection.weight") @ s) @ (matrix(m, "key_projection.weight") @ h) / math.sqrt(10)
    ),
}


def build(name: str, d_query: int = D, d_memory: int = D) -> AttentionScore:
    built = score(section("attention", name, rank=5, d_attention=10, tau=7.0), (), d_query, d_memory)
    assert built is not None
    return built


def test_every_configured_score_has_a_formula_here() -> None:
    assert sorted([*FORMULAS, "none"]) == ATTENTIONS


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_score_is_its_formula(name: str, seed: int) -> None:
    torch.manual_seed(seed)
    built = build(name)
    query, states = torch.randn(B, T, D), torch.randn(B, S, D)
    found = built(query, built.keys(states))
    formula = FORMULAS[name]
    expected = [
        [
            [formula(built, query[b, t].double().numpy(), states[b, i].double().numpy()) for i in range(S)]
            for t in range(T)
        ]
        for b in range(B)
    ]
    torch.testing.assert_close(found.double(), torch.tensor(expected, dtype=torch.float64), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", FORMULAS)
@torch.no_grad()
def test_leading_axes_are_free(name: str) -> None:
    """The same score serves [B, H] heads: every head as if it were alone."""
    torch.manual_seed(1)
    built = build(name)
    query, states = torch.randn(B, 2, T, D), torch.randn(B, 2, S, D)
    keys, values = built.keys(states), built.values(states)
    together = built(query, keys)
    for head in range(2):
        alone = built(query[:, head], built.keys(states[:, head]))
        torch.testing.assert_close(together[:, head], alone)
        torch.testing.assert_close(values[:, head], built.values(states[:, head]))


@pytest.mark.parametrize("name", ["general", "reduced_rank", "additive", "key_value"])
@torch.no_grad()
def test_scores_with_parameters_take_states_of_different_sizes(name: str) -> None:
    built = build(name, d_query=6, d_memory=9)
    assert built(torch.randn(B, T, 6), built.keys(torch.randn(B, S, 9))).shape == (B, T, S)


@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_scaled_dot_is_torchs_attention(seed: int) -> None:
    torch.manual_seed(seed)
    query, states = torch.randn(B, T, D), torch.randn(B, S, D)
    mask = random_mask()
    context, _ = attend(build("scaled_dot")(query, states), states, mask)
    expected = functional.scaled_dot_product_attention(query, states, states, attn_mask=mask)
    torch.testing.assert_close(context, expected, atol=1e-5, rtol=1e-5)


def random_mask() -> Tensor:
    mask = torch.rand(B, 1, S) < 0.6
    mask[:, :, 0] = True
    return mask


@torch.no_grad()
def test_weights_sum_to_one_and_are_zero_on_padding() -> None:
    torch.manual_seed(0)
    mask = random_mask()
    scores = torch.randn(B, T, S) * 100
    _, weights = attend(scores, torch.randn(B, S, D), mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T))
    assert (weights[~mask.expand_as(weights)] == 0).all()


@torch.no_grad()
def test_a_row_of_padding_alone_has_weights_zero_and_no_nan() -> None:
    context, weights = attend(torch.randn(B, T, S), torch.randn(B, S, D), torch.zeros(B, 1, S, dtype=torch.bool))
    assert (weights == 0).all()
    assert (context == 0).all()


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "cosine"])
def test_unequal_sizes_are_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(ConfigError, match=r"decoder\.d_hidden=9.*attention=general"):
        build(name, d_query=6, d_memory=9)


@pytest.mark.parametrize("rank", [0, 9])
def test_an_impossible_rank_is_refused(rank: int) -> None:
    with pytest.raises(ConfigError, match=r"attention\.rank is .* between 1 and 8"):
        ReducedRank(D, D, rank)


def test_other_impossible_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention\.tau is 0"):
        score(section("attention", "cosine", tau=0.0), (), D, D)
    with pytest.raises(ConfigError, match=r"attention\.d_attention is 0"):
        score(section("attention", "additive", d_attention=0), (), D, D)
    with pytest.raises(ConfigError, match=r"attention\.rank is set, but attention=none"):
        score({"class": None, "rank": 3}, (), D, D)


def test_dot_has_no_parameters() -> None:
    assert list(Dot(D, D).parameters()) == []
