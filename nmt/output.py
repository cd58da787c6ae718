"""The output layer: features to scores of the vocabulary's pieces before the softmax (logits)."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn
from torch.nn import functional

Logits = Callable[[Float[Tensor, "R D"]], Float[Tensor, "R V"]]
LARGEST = 127


class Output(nn.Linear):
    """The layer as it is trained."""

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        """The layer over these pieces alone."""
        return partial(functional.linear, weight=self.weight[pieces], bias=self.bias[pieces])


class Int8Output(nn.Module):
    """A trained output layer in 8-bit integers, for processors that multiply them natively.

    Each row of the weights is rounded on a scale of its own, and so is each row of features: a sentence's scores do not
    depend on its batch mates. Sums are exact. (Wu et al. 2020, "Integer quantization for deep learning inference", §3)
    """

    def __init__(self, output: Output) -> None:
        super().__init__()
        weight, scale = rounded(output.weight.detach().float())
        self.weight = nn.Buffer(weight)
        self.scale = nn.Buffer(scale[:, 0])
        self.bias = nn.Buffer(output.bias.detach().float())
        self.out_features = output.out_features

    def forward(self, features: Float[Tensor, "R D"]) -> Float[Tensor, "R V"]:
        """Logits in float32, whatever the features are in."""
        return int8_linear(features, self.weight, self.scale, self.bias)

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        """The layer over these pieces alone."""
        return partial(int8_linear, weight=self.weight[pieces], scale=self.scale[pieces], bias=self.bias[pieces])


def int8_linear(
    features: Float[Tensor, "R D"], weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"], bias: Float[Tensor, " V"]
) -> Float[Tensor, "R V"]:
    """features @ (scale * weight)ᵀ + bias, the features rounded to 8 bits too."""
    whole, feature_scale = rounded(features.float())
    return torch._int_mm(whole, weight.t()).float().mul_(feature_scale).mul_(scale).add_(bias)


def rounded(rows: Float[Tensor, "R D"]) -> tuple[Int8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Whole numbers from -127 to 127, and what each row of them is to be multiplied by."""
    scale = rows.abs().amax(1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny) / LARGEST
    return (rows / scale).round().to(torch.int8), scale
