"""The output loss against torch's cross-entropy, value and gradient, over more tokens than one chunk."""

import pytest
import torch
from helpers.models import random_batch, small_model
from torch.nn import functional

from nmt.training.loss import BLOCK_ROWS, CHUNK_ROWS, batch_loss, output_loss

pytestmark = pytest.mark.filterwarnings("error:An output with one or more elements was resized")


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("tokens", [1, BLOCK_ROWS, 2 * BLOCK_ROWS + 37, CHUNK_ROWS, 2 * CHUNK_ROWS + BLOCK_ROWS + 5])
def test_value_and_gradients_are_those_of_cross_entropy(smoothing: float, tokens: int) -> None:
    torch.manual_seed(tokens)
    features = torch.randn(tokens, 12, requires_grad=True)
    weight, bias = torch.randn(31, 12, requires_grad=True), torch.randn(31, requires_grad=True)
    targets = torch.randint(31, (tokens,))
    inputs = (features, weight, bias)
    loss, plain = output_loss(features[None], weight, bias, targets, smoothing)
    found = torch.autograd.grad(loss * 0.37, inputs)
    logits = features @ weight.t() + bias
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(plain, functional.cross_entropy(logits, targets, reduction="sum"), rtol=1e-5, atol=1e-4)
    for mine, theirs in zip(found, torch.autograd.grad(expected * 0.37, inputs), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("consistency", [0.5, 3.0])
@pytest.mark.parametrize("tokens", [1, BLOCK_ROWS // 2, CHUNK_ROWS // 2 + BLOCK_ROWS + 5])
def test_two_passes_and_how_far_they_diverge(smoothing: float, consistency: float, tokens: int) -> None:
    torch.manual_seed(tokens)
    inputs = torch.randn(2, tokens, 12), torch.randn(31, 12), torch.randn(31)
    features, weight, bias = (each.requires_grad_() for each in inputs)
    targets = torch.randint(31, (tokens,))
    loss, plain = output_loss(features, weight, bias, targets, smoothing, consistency)
    found = torch.autograd.grad(loss * 0.37, inputs)
    logits = features @ weight.t() + bias
    options = {"reduction": "sum", "label_smoothing": smoothing}
    crossed = sum(functional.cross_entropy(each, targets, **options) for each in logits) / 2  # type: ignore[arg-type]
    log_p, log_q = logits.log_softmax(-1)
    options = {"reduction": "sum", "log_target": True}
    apart = functional.kl_div(log_q, log_p, **options) + functional.kl_div(log_p, log_q, **options)  # type: ignore[arg-type]
    expected = crossed + consistency / 4 * apart
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-4)
    mean = sum(functional.cross_entropy(each, targets, reduction="sum") for each in logits) / 2
    torch.testing.assert_close(plain, mean, rtol=1e-5, atol=1e-4)
    for mine, theirs in zip(found, torch.autograd.grad(expected * 0.37, inputs), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_equal_passes_are_one() -> None:
    torch.manual_seed(3)
    features, weight, bias = torch.randn(1, 300, 8), torch.randn(17, 8, requires_grad=True), torch.randn(17)
    targets = torch.randint(17, (300,))
    one, _ = output_loss(features, weight, bias, targets, 0.1)
    two, _ = output_loss(features.repeat(2, 1, 1), weight, bias, targets, 0.1, consistency=5.0)
    torch.testing.assert_close(one, two)
    torch.testing.assert_close(*(torch.autograd.grad(loss, weight)[0] for loss in (one, two)))


@pytest.mark.parametrize("consistency", [0.0, 2.0])
@pytest.mark.parametrize(("tokens", "pieces"), [(1, 300), (64, 320), (600, 300), (CHUNK_ROWS + 37, 301)])
def test_bf16_is_near_fp32(tokens: int, pieces: int, consistency: float) -> None:
    """Stated bound: 1 % of the loss and 2 % of the gradients' norms; rows and pieces are padded."""
    torch.manual_seed(tokens)
    passes = 2 if consistency else 1
    features, weight, bias = torch.randn(passes, tokens, 64), torch.randn(pieces, 64) / 8, torch.randn(pieces)
    targets = torch.randint(pieces, (tokens,))
    gradients, losses = [], []
    for dtype in (torch.float32, torch.bfloat16):
        given = [each.clone().requires_grad_() for each in (features.to(dtype), weight, bias)]
        loss, _ = output_loss(*given, targets, 0.1, consistency)
        losses.append(loss.item())
        gradients.append(torch.autograd.grad(loss, given))
    assert abs(losses[1] / losses[0] - 1) < 0.01
    for exact, near in zip(*gradients, strict=True):
        assert (near - exact).norm() < 0.02 * exact.norm()


def test_without_gradients_nothing_is_kept() -> None:
    inputs = torch.randn(1, 5, 4), torch.randn(7, 4), torch.randn(7)
    before = [each.clone() for each in inputs]
    with torch.no_grad():
        loss, _ = output_loss(*inputs, torch.randint(7, (5,)), 0.1)
    assert not loss.requires_grad
    assert all(map(torch.equal, inputs, before))


@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_the_loss_of_a_batch_is_that_of_the_models_features(consistency: float) -> None:
    """With consistency, of two passes that dropout tells apart, over the batch's real tokens."""
    model, batch = small_model("general", dropout=0.3).train(), random_batch(3)
    torch.manual_seed(0)
    found = batch_loss(model, batch, 0.1, consistency)
    torch.manual_seed(0)
    features = model(batch.twice() if consistency else batch)
    targets = torch.cat([row[mask] for row, mask in zip(batch.tgt_out, batch.tgt_mask, strict=True)])
    passes = torch.stack(features.split(len(targets)))
    assert len(passes) == 1 + bool(consistency)
    weight, bias = model.output.weight, model.output.bias
    expected = output_loss(passes, weight, bias, targets, 0.1, consistency)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)
    if consistency:
        apart = output_loss(passes, weight, bias, targets, 0.1, 0.0)
        assert found[0] > apart[0]


def test_the_plain_loss_has_no_gradient() -> None:
    weight = torch.randn(7, 4, requires_grad=True)
    loss, plain = output_loss(torch.randn(1, 5, 4), weight, torch.randn(7), torch.randint(7, (5,)), 0.1)
    assert (loss.requires_grad, plain.requires_grad) == (True, False)
