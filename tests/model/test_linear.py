"""Padded products: values and gradients of the rows that are there, and few sizes."""

import pytest
import torch
from helpers.models import NEEDS_BF16
from torch import Tensor
from torch.nn import functional

from nmt.model import linear
from nmt.model.linear import STEP, TILE, Linear, lacking_in_tiles, padded_size, padded_weight
from nmt.model.rnn import Cell, RnnLayer

CPU = torch.device("cpu")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each product has, in turn."""
    found: list[int] = []
    product = functional.linear

    def noted(given: Tensor, *parameters: Tensor | None) -> Tensor:
        found.append(given.shape[:-1].numel())
        return product(given, *parameters)

    monkeypatch.setattr(functional, "linear", noted)
    return found


def test_few_sizes_that_waste_little() -> None:
    sizes = [padded_size(count, torch.bfloat16, CPU) for count in range(1, 20_000)]
    assert sizes == sorted(sizes)
    for count, size in enumerate(sizes, 1):
        assert count <= size < count + max(STEP, count / 16 + 1)
        assert padded_size(size, torch.bfloat16, CPU) == size
    assert len(set(sizes)) < 100


@pytest.mark.parametrize(("dtype", "device"), [(torch.float32, "cpu"), (torch.bfloat16, "cuda")])
def test_only_bf16_on_a_processor_is_padded(dtype: torch.dtype, device: str) -> None:
    assert padded_size(5, dtype, torch.device(device)) == 5


def test_without_autocast_nothing_is_padded(rows: list[int]) -> None:
    layer = Linear(3, 2)
    assert layer(torch.ones(5, 3)).shape == (5, 2)
    with torch.autocast("cpu", torch.float16):
        layer(torch.ones(5, 3))
    assert rows == [5, 5]


@NEEDS_BF16
@pytest.mark.parametrize("shape", [(), (1, 1), (7, 9), (3, 4, 11), (STEP, 1), (1, STEP + 1), (40, 60), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_a_product(shape: tuple[int, ...], bias: bool, rows: list[int]) -> None:
    torch.manual_seed(sum(shape))
    layer = Linear(24, 17, bias=bias)
    inputs = torch.randn(*shape, 24, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = layer(inputs)
    assert rows == [padded_size(inputs.shape[:-1].numel(), torch.bfloat16, CPU)]
    assert outputs.shape == (*shape, 17)
    wanted = torch.randn_like(outputs)
    leaves = (inputs, *layer.parameters())
    exact = [each.detach().double().requires_grad_() for each in leaves]
    expected = exact[0] @ exact[1].t() + (exact[2] if bias else 0)
    torch.testing.assert_close(outputs.double(), expected, rtol=0.02, atol=0.02)
    found = torch.autograd.grad((outputs * wanted).float().sum(), leaves)
    right = torch.autograd.grad((expected * wanted.double()).sum(), exact)
    for mine, theirs in zip(found, right, strict=True):
        assert (mine.double() - theirs).norm() <= 0.02 * theirs.norm()


@pytest.mark.parametrize("count", [1, STEP - 1, STEP, STEP + 1, 301])
def test_a_weight_is_padded_with_zeros(count: int) -> None:
    weight = torch.randn(count, 5)
    low = padded_weight(weight, torch.bfloat16)
    assert len(low) % STEP == 0
    assert count <= len(low) < count + STEP
    assert low[:count].equal(weight.bfloat16())
    assert not low[count:].any()
    assert padded_weight(weight, torch.float32).equal(weight)


@pytest.mark.parametrize(
    ("rows", "lacking"), [(1, 0), (5, 0), (TILE, 0), (TILE + 1, TILE - 1), (2 * TILE, 0), (100, 12)]
)
def test_an_rnn_reads_lacking_in_tiles_where_the_processor_has_them(
    rows: int, lacking: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = torch.zeros(rows, 3, 2)
    for has in (True, False):
        monkeypatch.setattr(linear, "multiplies_tiles", lambda has=has: has)
        assert lacking_in_tiles(inputs) == 0  # in float32
        with torch.autocast("cpu", torch.bfloat16):
            assert lacking_in_tiles(inputs) == (lacking if has else 0)
        assert lacking_in_tiles(inputs.bfloat16()) == (lacking if has else 0)


@NEEDS_BF16
@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh"])
@pytest.mark.parametrize("rows", [3, TILE, TILE + 1, 50])
def test_rows_that_fill_tiles_change_nothing(cell: Cell, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients are those of float32, within the precision of bfloat16."""
    torch.manual_seed(rows)
    layer = RnnLayer(cell, 24, 32)
    inputs = torch.randn(rows, 7, 24, requires_grad=True)
    state = torch.randn(rows, layer.vectors, 32, requires_grad=True)
    wanted = [inputs, state, *layer.parameters()]
    weights = torch.randn(rows, 7, 32), torch.randn(rows, layer.vectors, 32)

    def found() -> list[Tensor]:
        results = layer(inputs, state)
        loss = sum((result.float() * weight).sum() for result, weight in zip(results, weights, strict=True))
        assert isinstance(loss, Tensor)
        return [*(result.float() for result in results), *torch.autograd.grad(loss, wanted)]

    exact = found()
    for has in (True, False):
        monkeypatch.setattr(linear, "multiplies_tiles", lambda has=has: has)
        with torch.autocast("cpu", torch.bfloat16):
            near = found()
        for one, other in zip(exact, near, strict=True):
            assert one.shape == other.shape
            assert (one - other).norm() < 0.03 * one.norm()
