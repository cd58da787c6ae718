"""Label-smoothed cross-entropy of the output layer, summed over real tokens."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.interfaces import Batch
from nmt.seq2seq import Seq2Seq

CHUNK = 256  # rows whose logits are alive at a time: a few megabytes, so that every pass over them stays in cache


def output_loss(
    features: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Sum over the N tokens of the label-smoothed loss, and of the plain one (nats; for perplexity, no gradient).

    With p = softmax(features weightᵀ + bias): (1 - ε) · -log p_y + ε · mean over v of -log p_v (Szegedy et al. 2016,
    §7). The [N, V] logits never exist as a whole: each chunk's gradient is taken while its logits are at hand. Products
    are in the features' dtype (float32 or bfloat16), softmax and sums in float32.
    """
    loss, plain = _OutputLoss.apply(features, weight, bias, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss, plain


def batch_loss(model: Seq2Seq, batch: Batch, smoothing: float) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`output_loss` of the model's own output layer over a batch."""
    targets = batch.tgt_out[batch.tgt_mask]
    return output_loss(model(batch), model.output.weight, model.output.bias, targets, smoothing)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad[:3])
        low = weight.to(features.dtype)
        sums = torch.zeros(2, dtype=torch.float32, device=features.device)
        d_features = torch.empty_like(features) if wanted else features
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if wanted else weight
        d_bias = torch.zeros_like(bias, dtype=torch.float32) if wanted else bias
        for start in range(0, len(features), CHUNK):
            rows = slice(start, start + CHUNK)
            chunk, chosen = features[rows], targets[rows, None]
            logits = torch.addmm(bias.to(features.dtype), chunk, low.t()).float()
            right = logits.gather(1, chosen)
            mean = logits.mean(-1, keepdim=True) if smoothing else right
            top = logits.amax(-1, keepdim=True)
            error = logits.sub_(top).exp_()  # in place: one pass over the chunk for each operation, none twice
            total = error.sum(-1, keepdim=True)
            log_total = top + total.log()
            plain = (log_total - right).sum()
            sums[0] += (1 - smoothing) * plain + smoothing * (log_total - mean).sum()
            sums[1] += plain
            if wanted:  # the gradient of the loss by the logits is p - q, q the smoothed one-hot target
                error.div_(total)
                if smoothing:
                    error.sub_(smoothing / len(weight))
                error.scatter_add_(1, chosen, torch.full_like(right, smoothing - 1))
                d_bias += error.sum(0)
                error = error.to(features.dtype)
                torch.mm(error, low, out=d_features[rows])
                d_weight += torch.mm(error.t(), chunk)
        ctx.save_for_backward(d_features, d_weight, d_bias)
        loss, plain_sum = sums.unbind()
        ctx.mark_non_differentiable(plain_sum)
        return loss, plain_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        return d_features * d_loss.to(d_features.dtype), d_weight * d_loss, d_bias * d_loss, None, None
