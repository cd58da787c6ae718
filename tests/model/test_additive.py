"""Additive scores in pieces against the formula, value and gradient, whatever the pieces."""

import pytest
import torch
from torch import Tensor

from nmt.model import additive

SHAPES = [((), 1, 1), ((3,), 7, 9), ((3, 2), 5, 4), ((2,), 0, 3)]


def formula(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(queries[..., :, None, :] + keys[..., None, :, :]) @ v


@pytest.mark.parametrize("alive", [1, 50, 300, 2**20])
@pytest.mark.parametrize(("leading", "length", "positions"), SHAPES)
def test_scores_and_gradients_are_those_of_the_formula(
    alive: int, leading: tuple[int, ...], length: int, positions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additive, "ALIVE_CPU", alive)
    torch.manual_seed(alive + length)
    sizes = [(*leading, length, 6), (*leading, positions, 6), (6,)]
    inputs = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    found, expected = additive.additive_scores(*inputs), formula(*inputs)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    mine, theirs = (torch.autograd.grad(scores, inputs, weights) for scores in (found, expected))
    torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("seed", range(5))
def test_pieces_hold_every_query_once_and_keep_to_their_size(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(seed)
    rows, length, positions, features = (int(n) for n in torch.randint(1, 30, (4,)))
    monkeypatch.setattr(additive, "ALIVE_CPU", int(torch.randint(1, 5000, ())))
    queries, keys = torch.zeros(rows, length, features), torch.zeros(rows, positions, features)
    seen = torch.zeros(rows, length)
    for row, times in additive.pieces(queries, keys):
        seen[row, times] += 1
        assert seen[row, times].numel() * positions * features <= max(additive.ALIVE_CPU, positions * features)
    assert bool((seen == 1).all())


def test_pieces_elsewhere_are_as_large_as_they_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive, "ALIVE_CPU", 1)
    monkeypatch.setattr(additive, "ALIVE_ELSEWHERE", 2 * 3 * 5 * 7)
    queries, keys = torch.zeros(9, 3, 7, device="meta"), torch.zeros(9, 5, 7, device="meta")
    assert [rows for rows, _ in additive.pieces(queries, keys)] == [slice(row, row + 2) for row in range(0, 9, 2)]


@pytest.mark.parametrize("q", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("k", [torch.bfloat16, torch.float32])
def test_the_more_exact_type_of_queries_and_keys_is_that_of_the_scores(q: torch.dtype, k: torch.dtype) -> None:
    """v is a parameter in float32, whatever the others are."""
    torch.manual_seed(0)
    queries, keys, v = torch.randn(2, 4, 6, dtype=q), torch.randn(2, 5, 6, dtype=k), torch.randn(6)
    found = additive.additive_scores(queries, keys, v)
    assert found.dtype == torch.promote_types(q, k)
    bound = 0.05 if found.dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(found.float(), formula(queries.float(), keys.float(), v), atol=bound, rtol=bound)


def test_gradients_over_many_pieces_in_bfloat16_are_summed_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 like terms: summed in bfloat16, such sums stop growing at 256."""
    monkeypatch.setattr(additive, "ALIVE_CPU", 1)
    inputs = [torch.full(size, 0.5, dtype=torch.bfloat16) for size in ((1, 2000, 3), (1, 2, 3), (3,))]
    exact = [each.double().requires_grad_() for each in inputs]
    found = torch.autograd.grad(additive.additive_scores(*(i.requires_grad_() for i in inputs)).sum(), inputs)
    expected = torch.autograd.grad(formula(*exact).sum(), exact)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=0.02, atol=0)
