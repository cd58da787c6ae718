"""Every score against its formula written as plain NumPy loops, and attend against torch's own attention."""

import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest
import torch
from helpers.models import ATTENTIONS, attention_section, fitted, model_config, run_config_of, section
from torch import Tensor
from torch.nn import functional

import nmt.model.scores
from nmt.config.compose import command_of
from nmt.config.parts import SCORES, read_part
from nmt.config.run import read_attention
from nmt.errors import ConfigError
from nmt.model.build import build_outline, needs_equal_sizes
from nmt.model.scores import AttentionScore, Dot, Normaliser, attend

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


def build(name: str, d_query: int = D, d_memory: int = D, **changes: Any) -> AttentionScore:
    small = fitted(section("attention", name, **changes), {"rank": 5, "d_attention": 10, "tau": 7.0} | changes)
    score: AttentionScore = read_part(small, "attention", SCORES, [])(d_query, d_memory)
    return score


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


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("normaliser", get_args(Normaliser))
def test_contexts_and_gradients_are_the_same_whether_weights_are_wanted_or_not(
    name: str, normaliser: Normaliser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fused kernel and the formula written out."""
    monkeypatch.setattr(nmt.model.scores, "fused_pays", lambda device: True)
    torch.manual_seed(4)
    built, mask = build(name), random_mask()
    tensors = [torch.randn(B, n, D, requires_grad=True) for n in (T, S)]
    made = []
    for wanted in (True, False):
        query, states = tensors
        keys, values = built.keys(states), built.values(states)
        context, _ = built.attend(query, keys, values, mask, normaliser, 0.0, wanted)
        gradients = torch.autograd.grad(context.square().sum(), [*tensors, *built.parameters()])
        made.append([context, *gradients])
    for exact, fused in zip(*made, strict=True):
        torch.testing.assert_close(fused, exact, atol=1e-4, rtol=1e-4)


def random_mask() -> Tensor:
    mask = torch.rand(B, 1, S) < 0.6
    mask[:, :, 0] = True
    return mask


def sparsemax_by_bisection(scores: np.ndarray, power: float) -> np.ndarray:
    """p_i = max(z_i - tau, 0) ** power with the tau that makes them sum to 1 (power 1: sparsemax)."""
    low, high = scores.max() - 1.0, scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (np.maximum(scores - middle, 0) ** power).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(scores - low, 0) ** power)


sparse = pytest.mark.parametrize(("normaliser", "scale", "power"), [("sparsemax", 1.0, 1.0), ("entmax15", 0.5, 2.0)])


@sparse
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_sparse_normalisers_are_their_definition(normaliser: Normaliser, scale: float, power: float, seed: int) -> None:
    """alpha-entmax: p_i = max((alpha - 1) z_i - tau, 0) ** (1 / (alpha - 1)) (Peters et al. 2019, eq. 13)."""
    torch.manual_seed(seed)
    scores, mask = torch.randn(B, T, S) * 2, random_mask()
    _, weights = attend(scores, torch.randn(B, S, D), mask, normaliser)
    for b in range(B):
        for t in range(T):
            real = mask[b, 0]
            expected = sparsemax_by_bisection(scale * scores[b, t, real].double().numpy(), power)
            np.testing.assert_allclose(weights[b, t, real], expected, atol=1e-5)
    assert ((weights == 0) & mask).any()


@sparse
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3, 1e20, 1e38])
@pytest.mark.parametrize("centre", [-3e38, -1e30, -1e6, -20_000.0, 0.0, 20_000.0, 1e6, 3e38])
@torch.no_grad()
def test_sparse_normalisers_are_their_definition_whatever_finite_scores_there_are(
    centre: float, spread: float, normaliser: Normaliser, scale: float, power: float
) -> None:
    """Each row against its definition in double precision; the last sentence has no real position."""
    torch.manual_seed(1)
    finite = torch.finfo(torch.float32)
    scores = (centre + spread * torch.randn(B, T, S).double()).clamp(finite.min, finite.max).float()
    mask = random_mask()
    mask[-1] = False
    scores[1, :, ~mask[1, 0]] = torch.nan  # padding may have any score
    _, weights = attend(scores, torch.randn(B, S, D), mask, normaliser)
    for b in range(B - 1):
        for t in range(T):
            real = scores[b, t, mask[b, 0]].double().numpy()
            expected = sparsemax_by_bisection(scale * (real - real.max()), power)
            np.testing.assert_allclose(weights[b, t, mask[b, 0]], expected, atol=1e-5)
    assert (weights[~mask.expand_as(weights)] == 0).all()


@pytest.mark.parametrize("normaliser", get_args(Normaliser))
@pytest.mark.parametrize("shift", [-65_536.0, 65_536.0])
def test_scores_moved_alike_have_the_same_weights_and_gradients(normaliser: Normaliser, shift: float) -> None:
    torch.manual_seed(2)
    scores, direction, mask = torch.randn(B, T, S).mul(64).round() / 64, torch.randn(B, T, S), random_mask()
    made = []
    for given in (scores, scores + shift):  # exact: multiples of 1/64
        given.requires_grad_()
        _, weights = attend(given, torch.randn(B, S, D), mask, normaliser)
        made.append([weights, *torch.autograd.grad((weights * direction).sum(), given)])
    assert (made[0][1] != 0).any()
    torch.testing.assert_close(made[1], made[0])


@pytest.mark.parametrize("normaliser", get_args(Normaliser))
@torch.no_grad()
def test_weights_sum_to_one_and_are_zero_on_padding(normaliser: Normaliser) -> None:
    torch.manual_seed(0)
    mask = random_mask()
    scores = torch.randn(B, T, S) * 100
    _, weights = attend(scores, torch.randn(B, S, D), mask, normaliser)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T))
    assert (weights[~mask.expand_as(weights)] == 0).all()


@pytest.mark.parametrize("normaliser", get_args(Normaliser))
def test_a_row_of_padding_alone_has_weights_zero_and_no_nan(normaliser: Normaliser) -> None:
    scores, values = torch.randn(B, T, S, requires_grad=True), torch.randn(B, S, D)
    context, weights = attend(scores, values, torch.zeros(B, 1, S, dtype=torch.bool), normaliser)
    assert (weights == 0).all()
    assert (context == 0).all()
    (gradient,) = torch.autograd.grad(context.sum(), scores)
    assert (gradient == 0).all()


@pytest.mark.parametrize("name", FORMULAS)
@torch.no_grad()
def test_contexts_of_a_row_of_padding_alone_are_zero_when_weights_are_not_wanted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nmt.model.scores, "fused_pays", lambda device: True)
    built, states = build(name), torch.randn(B, S, D)
    mask = torch.zeros(B, 1, S, dtype=torch.bool)
    keys, values = built.keys(states), built.values(states)
    context, _ = built.attend(torch.randn(B, T, D), keys, values, mask, "softmax", 0.0, False)
    assert (context == 0).all()


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "cosine"])
def test_unequal_sizes_are_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(ConfigError, match=r"6 and 9; set .*d_hidden .* to 9, or use attention=general"):
        build(name, d_query=6, d_memory=9)


@pytest.mark.parametrize("name", [*FORMULAS, "multi_head", "none"])
def test_it_is_known_which_scores_need_equal_sizes(name: str) -> None:
    attention = run_config_of(model_config(name)).attention
    assert needs_equal_sizes(attention) == (name in ("dot", "scaled_dot", "cosine"))


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name not in ("multi_head", "none")])
def test_a_score_that_refuses_unequal_sizes_is_known_to_need_equal_ones(name: str) -> None:
    """This holds for scores that readers add, too."""
    refused = False
    try:
        build(name, d_query=6, d_memory=9)
    except ConfigError:
        refused = True
    assert needs_equal_sizes(run_config_of(model_config(name)).attention) == refused


def test_an_impossible_rank_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention\.rank is 0; it must be at least 1"):
        build("reduced_rank", rank=0)
    with pytest.raises(
        ConfigError, match=r"has rank 9; it must be at most 8, .* or in multi_head attention\.score\.rank=8"
    ):
        build("reduced_rank", rank=9)


def test_the_remedy_for_the_rank_of_heads_can_be_typed() -> None:
    words = ["attention=multi_head", "attention.heads=16", "attention@attention.score=reduced_rank"]
    with pytest.raises(ConfigError, match=r"has rank 64; .* attention\.score\.rank=32$"):
        build_outline(command_of("train", words).run, 9, 9)
    assert build_outline(command_of("train", [*words, "attention.score.rank=32"]).run, 9, 9)


def test_other_impossible_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention\.tau is 0"):
        build("cosine", tau=0.0)
    with pytest.raises(ConfigError, match=r"attention\.d_attention is 0"):
        build("additive", d_attention=0)
    for extra in ({"rank": 3}, {"normaliser": "sparsemax"}):
        with pytest.raises(ConfigError, match=rf"attention\.{next(iter(extra))} is set, but attention=none"):
            read_attention({"class": None, "normaliser": "softmax"} | extra, [])
    with pytest.raises(ConfigError, match=r"attention\.normaliser='softmin' is not possible"):
        read_attention(attention_section("dot", "softmin"), [])


def test_dot_has_no_parameters() -> None:
    assert list(Dot(D, D).parameters()) == []


def test_a_section_without_normaliser_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention\.normaliser has no value"):
        read_attention(section("attention", "dot"), [])


def test_a_class_that_is_no_score_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        def __init__(self, d_query: int, d_memory: int) -> None:
            pass

    Mine.__module__ = "my_parts"
    module = ModuleType("my_parts")
    module.__dict__["Mine"] = Mine
    monkeypatch.setitem(sys.modules, "my_parts", module)
    message = r"^attention\.class='my_parts\.Mine' is not a registered attention; choose from: Additive, Cosine, Dot"
    with pytest.raises(ConfigError, match=message):
        read_part({"class": "my_parts.Mine"}, "attention", SCORES, ["my_parts"])


@torch.no_grad()
def test_weights_of_scores_in_bfloat16_are_made_in_float32() -> None:
    scores, mask = torch.randn(B, T, S).bfloat16(), random_mask()
    _, weights = attend(scores, torch.randn(B, S, D).bfloat16(), mask)
    _, expected = attend(scores.float(), torch.randn(B, S, D), mask)
    assert weights.dtype == torch.float32
    assert torch.equal(weights, expected)
