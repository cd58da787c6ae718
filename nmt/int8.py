"""A trained decoder in 8-bit integers, for processors that multiply them natively.

Each row of the weights is rounded on a scale of its own, and so is each row that is multiplied with them: a sentence's
scores do not depend on its batch mates. Sums are exact. (Wu et al. 2020, "Integer quantization for deep learning
inference", §3)
"""

from functools import partial

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from nmt.output import Logits
from nmt.seq2seq import Seq2Seq

LARGEST = 127


class Int8Linear(nn.Module):
    """A linear layer, in float32 for whatever it is given."""

    def __init__(self, weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None) -> None:
        super().__init__()
        whole, scale = rounded(weight.detach().float())
        self.weight = nn.Buffer(whole)
        self.scale = nn.Buffer(scale[:, 0])
        self.bias = nn.Buffer(scale.new_zeros(len(weight)) if bias is None else bias.detach().float())
        self.out_features = len(weight)

    def forward(self, inputs: Float[Tensor, "*R D"]) -> Float[Tensor, "*R V"]:
        products = int8_linear(inputs.flatten(0, -2), self.weight, self.scale, self.bias)
        return products.view(*inputs.shape[:-1], -1)

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        """The layer over these rows of its weights alone."""
        return partial(int8_linear, weight=self.weight[pieces], scale=self.scale[pieces], bias=self.bias[pieces])


class Int8Lstm(nn.Module):
    """One LSTM layer, called as torch's with batch_first."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        weights = dict(lstm.named_parameters())
        self.inputs = Int8Linear(weights["weight_ih_l0"], weights["bias_ih_l0"])
        self.recurrent = Int8Linear(weights["weight_hh_l0"], weights["bias_hh_l0"])

    def forward(
        self, inputs: Float[Tensor, "R T E"], state: tuple[Float[Tensor, "1 R D"], Float[Tensor, "1 R D"]]
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "1 R D"], Float[Tensor, "1 R D"]]]:
        hidden, cell = state[0][0], state[1][0].float()
        outputs = []
        for given in inputs.unbind(1):
            gates = self.inputs(given).add_(self.recurrent(hidden))
            taken, kept, new, shown = gates.chunk(4, 1)
            cell = kept.sigmoid() * cell + taken.sigmoid() * tanh(new)
            hidden = (shown.sigmoid() * tanh(cell)).to(inputs.dtype)
            outputs.append(hidden)
        return torch.stack(outputs, 1), (hidden[None], cell[None].to(inputs.dtype))


def tanh(x: Float[Tensor, "*X"]) -> Float[Tensor, "*X"]:
    """The hyperbolic tangent as 2 σ(2x) - 1: torch computes σ several times as fast."""
    return (2 * x).sigmoid_().mul_(2).sub_(1)


def round_decoder(model: Seq2Seq) -> None:
    """Puts 8-bit layers in place of a decoder's own linear and LSTM layers and of the output layer.

    The encoder, which runs once a sentence, and attention stay as they are.
    """
    assert isinstance(model.decoder, nn.Module)
    for module in list(model.decoder.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.LSTM:
                setattr(module, name, Int8Lstm(child))
            elif type(child) is nn.Linear and module is model.decoder:
                setattr(module, name, Int8Linear(child.weight, child.bias))
    model.output = Int8Linear(model.output.weight, model.output.bias)


def int8_linear(
    inputs: Float[Tensor, "R D"], weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"], bias: Float[Tensor, " V"]
) -> Float[Tensor, "R V"]:
    """inputs @ (scale * weight)ᵀ + bias in float32, the inputs rounded to 8 bits too."""
    whole, input_scale = rounded(inputs.float())
    return torch._int_mm(whole, weight.t()).float().mul_(input_scale).mul_(scale).add_(bias)


def rounded(rows: Float[Tensor, "R D"]) -> tuple[Int8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Whole numbers from -127 to 127, and what each row of them is to be multiplied by."""
    scale = rows.abs().amax(1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny) / LARGEST
    return (rows / scale).round().to(torch.int8), scale
