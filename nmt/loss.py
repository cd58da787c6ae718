"""Label-smoothed cross-entropy of the output layer, summed over real tokens."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.interfaces import Batch
from nmt.seq2seq import Seq2Seq

CHUNK = 2048  # rows whose logits are alive at a time: products of so many are quick
BLOCK = 128  # rows whose logits a processor has in float32 at a time, so that the passes over them find them in cache


def output_loss(
    features: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Sum over the N tokens of the label-smoothed loss, and of the plain one (nats; for perplexity, no gradient).

    With p = softmax(features weightᵀ + bias): (1 - ε) · -log p_y + ε · mean over v of -log p_v (Szegedy et al. 2016,
    §7). The [N, V] logits never exist as a whole: their gradient takes their place while a chunk is at hand. Products
    are in the features' dtype (float32 or bfloat16), softmax and sums in float32.
    """
    loss, plain = _OutputLoss.apply(features, weight, bias, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss, plain


def batch_loss(model: Seq2Seq, batch: Batch, smoothing: float) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`output_loss` of the model's own output layer over a batch."""
    targets = batch.tgt_out.flatten()[batch.real()]
    return output_loss(model(batch), model.output.weight, model.output.bias, targets, smoothing)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad[:3])
        low, size = weight.to(features.dtype), len(weight)
        mean_weight = weight.mean(0)
        mean_logits = (features * mean_weight).sum(-1) + bias.mean()
        d_features = torch.empty_like(features) if wanted else features
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if wanted else weight
        d_bias = torch.zeros_like(bias, dtype=torch.float32) if wanted else bias
        sums = torch.zeros(2, dtype=torch.float32, device=features.device)
        # Buffers for every chunk: fresh memory for each would cost more than what is computed in it.
        logits = features.new_empty(min(CHUNK, len(features)), size)
        several = BLOCK if features.device.type == "cpu" else CHUNK
        block = torch.empty_like(logits[:several], dtype=torch.float32)
        d_weight_part = torch.empty_like(low)
        for start in range(0, len(features), CHUNK):
            chunk = features[start : start + CHUNK]
            product = torch.mm(chunk, low.t(), out=logits[: len(chunk)])
            for first in range(0, len(chunk), several):
                here = product[first : first + several]
                rows = slice(start + first, start + first + len(here))
                chosen = targets[rows, None]
                exact = block[: len(here)].copy_(here).add_(bias)
                right = exact.gather(1, chosen)[:, 0]
                top = exact.amax(-1)
                p = torch.softmax(exact, -1, out=exact)
                log_total = top - p.amax(-1).log()  # of the exponentials: the likeliest token's logit - log p
                plain = (log_total - right).sum()
                sums[0] += (1 - smoothing) * plain + smoothing * (log_total - mean_logits[rows]).sum()
                sums[1] += plain
                if wanted:  # the gradient by the logits is p - q, q the smoothed one-hot target
                    error = p.scatter_add_(1, chosen, torch.full_like(chosen, smoothing - 1, dtype=p.dtype))
                    d_bias += error.sum(0)
                    here.copy_(error)
            if wanted:
                torch.mm(product, low, out=d_features[start : start + CHUNK])
                d_weight += torch.mm(product.t(), chunk, out=d_weight_part)
        if wanted and smoothing:  # the share ε/V of every token in q, which needs no pass over the logits
            d_features -= (smoothing * mean_weight).to(features.dtype)
            d_weight -= smoothing / size * features.float().sum(0)
            d_bias -= smoothing / size * len(features)
        ctx.save_for_backward(d_features, d_weight, d_bias)
        loss, plain_sum = sums.unbind()
        ctx.mark_non_differentiable(plain_sum)
        return loss, plain_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        return d_features.mul_(d_loss.to(d_features.dtype)), d_weight.mul_(d_loss), d_bias.mul_(d_loss), None, None
