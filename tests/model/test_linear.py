"""Padded products: values and gradients of the rows that are there, and few sizes."""

import pytest
import torch
from helpers.models import NEEDS_BF16
from torch import Tensor
from torch.nn import functional

from nmt.model.linear import STEP, Linear, padded_size

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
