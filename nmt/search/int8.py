"""A trained decoder in 8-bit integers.

Each row of the weights is rounded on its own scale, and so is each row of inputs, so a sentence's scores do not depend
on the rest of its batch. Sums are exact. (Wu et al. 2020, "Integer quantization for deep learning inference", §3)
"""

from copy import deepcopy
from functools import cached_property

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from nmt.model.interfaces import Decoder, Memory, Source, State
from nmt.model.output_layer import Logits
from nmt.model.rnn import RnnLayer
from nmt.model.seq2seq import Seq2Seq
from nmt.search.int8_kernels import LARGEST_INT8, Product, kernel

# Input rows from which a shortlist's weights are packed: with fewer, a search ends before packing has paid.
PACKS_PIECES_FROM = 64


def with_int8_decoder(model: Seq2Seq) -> Seq2Seq:
    """The model for a search: the encoder as it is, the decoder and the output layer in 8-bit integers."""
    output = Int8Linear(model.output.weight, model.output.bias)
    return Seq2Seq(model.embedding, model.encoder, Int8Decoder(model.decoder), output)


class Int8Decoder(nn.Module):
    """A copy of a decoder with its layers of LSTMs (RnnLayer) and its own linear layers in 8-bit integers.

    The rest is float32.

    The steps of a search are small, and float32 is the fastest for small products. Attention layers stay as they are,
    because most of their products are computed once per sentence.
    """

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        assert isinstance(decoder, nn.Module)
        self.decoder = deepcopy(decoder).float()
        self.d_output = decoder.d_output
        self.max_length = decoder.max_length
        for module in list(self.decoder.modules()):
            for name, child in list(module.named_children()):
                if type(child) is RnnLayer and type(child.rnn) is nn.LSTM:
                    setattr(module, name, Int8Lstm(child.rnn))
                elif type(child) is nn.Tanh:
                    setattr(module, name, QuickTanh())
                elif isinstance(child, nn.Linear) and module is self.decoder:
                    setattr(module, name, Int8Linear(child.weight, child.bias))

    def start(self, memory: Memory, wants_weights: bool) -> tuple[Source, State]:
        return self.decoder.start(Memory(memory.states.float(), memory.final.float(), memory.mask), wants_weights)

    def forward(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], State]:
        return self.decoder(tokens, source, state)


class Int8Linear(nn.Module):
    """A linear layer with 8-bit weights; its outputs are float32, whatever the type of its inputs."""

    def __init__(self, weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None) -> None:
        super().__init__()
        whole, scale = rounded(weight.detach().float(), LARGEST_INT8)
        self.weight = nn.Buffer(whole.to(torch.int8))
        self.scale = nn.Buffer(scale[:, 0])
        self.bias = nn.Buffer(scale.new_zeros(len(weight)) if bias is None else bias.detach().float())
        self.product = Int8Product(self.weight, self.scale, self.bias, pays_from=1)
        self.out_features = len(weight)

    def forward(self, inputs: Float[Tensor, "*R D"]) -> Float[Tensor, "*R V"]:
        return self.product(inputs.flatten(0, -2)).view(*inputs.shape[:-1], -1)

    def over(self, pieces: Int[Tensor, " C"]) -> Logits:
        """The layer with these rows of its weights alone."""
        return Int8Product(self.weight[pieces], self.scale[pieces], self.bias[pieces], PACKS_PIECES_FROM)


class Int8Product:
    """inputs @ (scale * weight)ᵀ + bias in float32; the inputs are rounded to 7 or 8 bits, too."""

    def __init__(
        self, weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"], bias: Float[Tensor, " V"], pays_from: int
    ) -> None:
        """`pays_from`: the number of input rows from which it pays to pack the weights."""
        self.weight = weight
        self.scale = scale
        self.bias = bias
        self.pays_from = pays_from
        self.kernel = kernel()

    def __call__(self, inputs: Float[Tensor, "R D"]) -> Float[Tensor, "R V"]:
        whole, row_scale = rounded(inputs.float(), self.kernel.largest)
        product = (self.packed if len(whole) >= self.pays_from else None) or self.plain
        products = product(whole)
        return torch.addcmul(self.bias, products, row_scale, out=products)

    @cached_property
    def plain(self) -> Product:
        """The product with the weights as they are."""
        return self.kernel.plain(self.weight, self.scale)

    @cached_property
    def packed(self) -> Product | None:
        """The same with the weights in the library's own order; it would otherwise reorder them each time.

        None if this torch or this processor has no such products.
        """
        if self.kernel.pack is None:
            return None
        try:
            product = self.kernel.pack(self.weight, self.scale)
            product(torch.zeros(self.pays_from, self.weight.shape[1]))
        except (AttributeError, RuntimeError):
            return None
        return product


class Int8Lstm(nn.Module):
    """An RnnLayer of an LSTM in 8-bit integers."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        parameters = {name: weight.detach().float().clone() for name, weight in lstm.named_parameters()}
        for weight in parameters.values():
            weight.chunk(4)[2].mul_(2)  # tanh(x) = 2 σ(2x) - 1: one σ serves all gates
        self.inputs = Int8Linear(parameters["weight_ih_l0"], parameters["bias_ih_l0"])
        self.recurrent = Int8Linear(parameters["weight_hh_l0"], parameters["bias_hh_l0"])

    def forward(
        self, inputs: Float[Tensor, "R T E"], state: Float[Tensor, "R 2 D"]
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R 2 D"]]:
        hidden, cell = state.unbind(1)
        outputs = []
        for given in inputs.unbind(1):
            gates = self.inputs.product(given).add_(self.recurrent.product(hidden)).sigmoid_()
            taken, kept, new, shown = gates.chunk(4, 1)
            cell = torch.addcmul(kept * cell, taken, new.mul_(2).sub_(1))
            hidden = shown * tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1), torch.stack([hidden, cell], 1)


class QuickTanh(nn.Module):
    """The function `tanh` below as a layer, to replace torch's."""

    def forward(self, x: Float[Tensor, "*X"]) -> Float[Tensor, "*X"]:
        return tanh(x)


def tanh(x: Float[Tensor, "*X"]) -> Float[Tensor, "*X"]:
    """The hyperbolic tangent as 2 σ(2x) - 1: torch computes σ faster."""
    return (2 * x).sigmoid_().mul_(2).sub_(1)


def rounded(rows: Float[Tensor, "R D"], largest: int) -> tuple[Float[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """The rows as whole numbers from -`largest` to `largest`, and the factor that restores each row."""
    scale = rows.abs().amax(1, keepdim=True).clamp_(min=torch.finfo(torch.float32).tiny).div_(largest)
    return (rows / scale).round_(), scale
