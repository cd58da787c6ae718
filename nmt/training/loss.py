"""Label-smoothed cross-entropy of the output layer, summed over real tokens; consistency of two passes (R-Drop)."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.data.batch import Batch
from nmt.model.linear import padded, padded_size, padded_weight
from nmt.model.seq2seq import Seq2Seq

CHUNK_ROWS = 2048  # rows whose logits are in memory at a time, up to half as many more: products of so many are fast
BLOCK_ROWS = 128  # rows whose float32 logits a processor holds at a time, so that every pass finds them in cache


def output_loss(
    features: Float[Tensor, "P N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    consistency: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The label-smoothed loss and the plain loss (for perplexity, without gradient): sums over the N tokens, in nats.

    With p = softmax(features weightᵀ + bias), the label-smoothed loss of a token is (1 - ε) · -log p_y + ε · mean over
    v of -log p_v (Szegedy et al. 2016, §7). Both losses are means over P passes of the same tokens. Two passes differ
    by their dropout. They add `consistency` / 4 times KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1) to the label-smoothed loss
    (Liang et al. 2021, eq. 4, with both of its losses halved).

    The [P, N, V] logits never exist as a whole. They are computed in chunks, and the gradient of a chunk overwrites
    its logits. Products are in the features' dtype (float32 or bfloat16), softmax and sums in float32.
    """
    loss, plain = _OutputLoss.apply(features, weight, bias, targets, smoothing, consistency)  # type: ignore[no-untyped-call]
    return loss / len(features), plain / len(features)


def batch_loss(
    model: Seq2Seq, batch: Batch, smoothing: float, consistency: float = 0.0
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`output_loss` of the model's output layer over a batch; with consistency, the model reads the batch twice."""
    targets = batch.tgt_out.flatten()[batch.real()]
    features = model(batch.twice() if consistency else batch).view(-1, len(targets), model.output.weight.shape[1])
    return output_loss(features, model.output.weight, model.output.bias, targets, smoothing, consistency)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, consistency: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad[:3])
        passes, count, _ = features.shape
        dtype, size = features.dtype, len(weight)
        low = padded_weight(weight, dtype)
        mean_weight = weight.mean(0)
        mean_logits = (features * mean_weight).sum(-1) + bias.mean()
        d_features = torch.empty_like(features) if wanted else features
        d_weight = weight
        even = smoothing / size * features.float().sum((0, 1))  # from the share ε/V that every token has in q
        d_bias = torch.zeros_like(bias, dtype=torch.float32) if wanted else bias
        sums = torch.zeros(2, dtype=torch.float32, device=features.device)
        step = -(-count // max(1, round(passes * count / CHUNK_ROWS)))
        several = BLOCK_ROWS // passes if features.device.type == "cpu" else step
        # Buffers that all chunks share: new memory for each chunk would cost more than the computation in it.
        logits = features.new_empty(padded_size(passes * step, dtype, features.device), len(low))
        block = torch.empty(passes, min(several, count), size, dtype=torch.float32, device=features.device)
        d_weight_part = torch.empty_like(low)
        for start in range(0, count, step):
            chunk = padded(features[:, start : start + step].flatten(0, 1), dtype)
            real = passes * min(step, count - start)
            product = torch.mm(chunk, low.t(), out=logits[: len(chunk)])
            each = product[:real].view(passes, -1, len(low))[..., :size]
            for first in range(0, each.shape[1], several):
                here = each[:, first : first + several]
                tokens = slice(start + first, start + first + here.shape[1])
                exact = block[:, : here.shape[1]].copy_(here).add_(bias)
                plain, log_total, divergence = _become_errors(exact, targets[tokens], smoothing, consistency)
                smooth = (log_total - mean_logits[:, tokens]).sum()
                sums[0] += (1 - smoothing) * plain + smoothing * smooth + divergence
                sums[1] += plain
                if wanted:
                    d_bias += exact.sum((0, 1))
                    here.copy_(exact)
            if wanted:
                d_features[:, start : start + step] = torch.mm(product, low)[:real].view(passes, -1, chunk.shape[1])
                part = torch.mm(product.t(), chunk, out=d_weight_part)[:size]
                d_weight = d_weight.add_(part) if start else part - even  # in float32
        if wanted and smoothing:  # the share ε/V needs no pass over the logits
            d_features -= (smoothing * mean_weight).to(features.dtype)
            d_bias -= smoothing / size * count * passes
        ctx.save_for_backward(d_features, d_weight, d_bias)
        loss, plain_sum = sums.unbind()
        ctx.mark_non_differentiable(plain_sum)
        return loss, plain_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        d_features.mul_(d_loss.to(d_features.dtype))
        return d_features, d_weight.mul_(d_loss), d_bias.mul_(d_loss), None, None, None


def _become_errors(
    logits: Float[Tensor, "P R V"], targets: Int[Tensor, " R"], smoothing: float, consistency: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "P R"], Float[Tensor, ""]]:
    """Sum of -log p_y, the logarithm of each row's sum of exponentials, and the weighted divergence of two passes.

    Overwrites the logits with their gradient: p - q, where q is 1 - ε at the target (the share ε/V is left out). The
    divergence adds h (p_1 (d - Σ p_1 d) + p_1 - p_2) to pass 1, where d = log p_1 - log p_2 and h = `consistency` / 2.
    """
    chosen = targets[None, :, None].expand(len(logits), -1, 1)
    right = logits.gather(2, chosen)[..., 0]
    top = logits.amax(-1)
    d = logits[0] - logits[1] if consistency else None
    p = torch.softmax(logits, -1, out=logits)
    log_total = top - p.amax(-1).log()  # of the sum of exponentials: logit - log p of the likeliest token
    divergence = log_total.new_zeros(())
    if d is not None:
        d -= (log_total[0] - log_total[1])[:, None]
        half = consistency / 2
        first, second = torch.linalg.vecdot(p, d[None])[..., None]  # Σ p_1 d = KL(p_1 ‖ p_2), Σ p_2 d = -KL(p_2 ‖ p_1)
        divergence = half * (first - second).sum()
        gap = p[0] - p[1]
        p[0].mul_((d - (first - 1 / half)).mul_(half)).add_(gap, alpha=half)
        p[1].mul_((second + 1 / half - d).mul_(half)).sub_(gap, alpha=half)
    p.scatter_add_(2, chosen, torch.full_like(chosen, smoothing - 1, dtype=p.dtype))
    return (log_total - right).sum(), log_total, divergence
