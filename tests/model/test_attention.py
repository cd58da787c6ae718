"""Attention layers against torch's own multi-head attention and against heads computed one by one."""

from typing import Any

import pytest
import torch
from helpers.models import ATTENTIONS, attention_section, fitted, section
from torch import Tensor, nn

import nmt.model.scores
from nmt.config.run import read_attention
from nmt.errors import ConfigError
from nmt.model.attention import AttentionLayer, MultiHead, cross_attend
from nmt.model.build import attention_factory
from nmt.model.interfaces import Source
from nmt.model.scores import attend

B, T, S, D, HEADS = 3, 4, 6, 12, 3
SCORES = [name for name in ATTENTIONS if name not in ("none", "multi_head")]


def multi_head(name: str = "scaled_dot", d_query: int = D, d_memory: int = D, **changes: Any) -> MultiHead:
    inner = fitted(section("attention", name), {"rank": 2, "d_attention": 5})
    whole = attention_section("multi_head", **{"score": inner, "heads": HEADS, **changes})
    factory = attention_factory(read_attention(whole, []))
    assert factory is not None
    torch.manual_seed(0)
    layer = factory(d_query, d_memory).eval()
    assert isinstance(layer, MultiHead)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


def random_mask() -> Tensor:
    mask = torch.rand(B, 1, S) < 0.6
    mask[:, :, 0] = True
    return mask


@pytest.mark.parametrize("wants_weights", [True, False])
@pytest.mark.parametrize("d_memory", [D, 7])
@torch.no_grad()
def test_multi_head_is_torchs(wants_weights: bool, d_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nmt.model.scores, "fused_pays", lambda device: True)
    layer, mask = multi_head(d_memory=d_memory), random_mask()
    theirs = nn.MultiheadAttention(D, HEADS, batch_first=True, kdim=d_memory, vdim=d_memory).eval()
    projections = [layer.query_projection, layer.key_projection, layer.value_projection]
    if d_memory == D:
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
    else:
        for name, projection in zip("qkv", projections, strict=True):
            getattr(theirs, f"{name}_proj_weight").copy_(projection.weight)
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
    theirs.out_proj.load_state_dict(layer.output_projection.state_dict())
    X, Y = torch.randn(B, S, d_memory), torch.randn(B, T, D)
    context, found = layer(X, Y, mask, wants_weights)
    expected, expected_weights = theirs(Y, X, X, key_padding_mask=~mask[:, 0], average_attn_weights=False)
    torch.testing.assert_close(context, expected, atol=1e-5, rtol=1e-5)
    if wants_weights:
        torch.testing.assert_close(found, expected_weights, atol=1e-5, rtol=1e-5)
    else:
        assert found.shape == (B, 0, T, S)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("wants_weights", [True, False])
@torch.no_grad()
def test_every_head_attends_with_its_own_score(
    score: str, wants_weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nmt.model.scores, "fused_pays", lambda device: True)
    layer, mask = multi_head(score), random_mask()
    X, Y = torch.randn(B, S, D), torch.randn(B, T, D)
    context, found = layer(X, Y, mask, wants_weights)
    scores = [layer.score, *(layer.others or [layer.score] * (HEADS - 1))]
    contexts = []
    for head, own in enumerate(scores):
        share = slice(head * D // HEADS, (head + 1) * D // HEADS)
        query = layer.query_projection(Y)[..., share]
        keys = own.keys(layer.key_projection(X)[..., share])
        values = own.values(layer.value_projection(X)[..., share])
        own_context, own_weights = attend(own(query, keys), values, mask)
        contexts.append(own_context)
        if wants_weights:
            torch.testing.assert_close(found[:, head], own_weights, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(context, layer.output_projection(torch.cat(contexts, -1)), atol=1e-4, rtol=1e-4)
    parameters = sum(p.numel() for p in scores[0].parameters())
    inside = sum(p.numel() for name, p in layer.named_parameters() if name.startswith(("score", "others")))
    assert inside == HEADS * parameters


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name != "none"])
@torch.no_grad()
def test_beams_share_a_sentences_keys(name: str) -> None:
    sizes = {"rank": 3, "d_attention": 12, "heads": 3}
    factory = attention_factory(read_attention(fitted(attention_section(name), sizes), []))
    assert factory is not None
    layer, mask, K = factory(D, D).eval(), random_mask(), 2
    keys, values = layer.keys_values(torch.randn(B, S, D))
    query = torch.randn(B * K, T, D)
    context, weights = cross_attend(layer, query, Source(keys[:, None], values[:, None], mask[:, 0], True), 0)
    rows = torch.arange(B).repeat_interleave(K)
    expected, expected_weights = layer.attend(query, keys[rows], values[rows], mask[rows], True)
    torch.testing.assert_close(context, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_self_attention_is_the_layer_over_one_sequence() -> None:
    layer, X, mask = multi_head(), torch.randn(B, S, D), random_mask()
    context, weights = layer(X, X, mask, True)
    one = layer(X[:1, :, :], X[:1, 2:3], mask[:1], True)
    torch.testing.assert_close(context[:1, 2:3], one[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, HEADS, S))


def test_dropout_falls_on_the_weights_in_training_only() -> None:
    layer, X, mask = multi_head(dropout=0.5), torch.randn(B, S, D), random_mask()
    first, second = (layer(X, X, mask, False)[0] for _ in range(2))
    torch.testing.assert_close(first, second)
    layer.train()
    first, second = (layer(X, X, mask, True)[0] for _ in range(2))
    assert not torch.allclose(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"heads": 5},
            r"attention\.heads is 5, which .* the 12 features .* set attention\.heads to 1 or 2 or 3 or 4 or 6, or",
        ),
        ({"heads": 0}, r"attention\.heads is 0; it must be at least 1"),
        ({"d_attention": 0}, r"attention\.d_attention is 0; it must be at least 1"),
        ({"dropout": 1.0}, r"attention\.dropout is 1\.0; it must be at least 0 and below 1"),
        ({"score": {"class": "MultiHead"}}, r"attention\.score\."),
        ({"score": {"class": "RnnEncoder"}}, r"attention\.score\."),
        ({"score": {"class": "Dot", "rank": 3}}, r"unknown key 'attention\.score\.rank'"),
        ({"score": "dot"}, r"attention\.score='dot'"),
    ],
)
def test_impossible_heads_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        multi_head(**changes)


@torch.no_grad()
def test_projections_begin_as_torchs_do() -> None:
    """Uniform by Glorot & Bengio 2010, with biases of 0."""
    layer = attention_factory(read_attention(attention_section("multi_head", heads=4), []))(64, 32)  # type: ignore[misc]
    assert isinstance(layer, MultiHead)
    for projection in (layer.query_projection, layer.key_projection, layer.value_projection):
        rows, columns = projection.weight.shape
        bound = (6 / (rows + columns)) ** 0.5
        assert 0.98 * bound < projection.weight.abs().max() <= bound
        assert projection.weight.std() == pytest.approx(bound / 3**0.5, rel=0.05)
    for projection in (layer.query_projection, layer.key_projection, layer.value_projection, layer.output_projection):
        assert not projection.bias.any()


def test_a_layer_of_one_head_adds_nothing_to_its_score() -> None:
    factory = attention_factory(read_attention(attention_section("general"), []))
    assert factory is not None
    layer = factory(D, 7)
    assert isinstance(layer, AttentionLayer)
    assert sum(p.numel() for p in layer.parameters()) == D * 7
    assert layer.d_context == 7
