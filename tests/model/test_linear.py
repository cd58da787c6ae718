"""Padded products: values and gradients of the rows that are there, and few sizes."""

import pytest
import torch
from helpers.models import NEEDS_BF16
from torch import Tensor
from torch.nn import functional

from nmt.model.linear import STEP, Linear, padded_size

CPU = torch.device("cpu")


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


@NEEDS_BF16
@pytest.mark.parametrize("shape", [(), (1, 1), (7, 9), (3, 4, 11), (STEP, 1), (1, STEP + 1), (40, 60), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_a_product(
    shape: tuple[int, ...], bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(sum(shape))
    layer = Linear(24, 17, bias=bias)
    inputs = torch.randn(*shape, 24, requires_grad=True)
    rows = []
    product = functional.linear

    def noted(given: Tensor, *parameters: Tensor | None) -> Tensor:
        rows.append(given.shape[:-1].numel())
        return product(given, *parameters)

    monkeypatch.setattr(functional, "linear", noted)
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
