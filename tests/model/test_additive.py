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
