"""The random weights that a run starts with."""

import torch
from helpers.small_transformers import model_of
from torch import nn

from nmt.training.first_weights import draw_weights


def test_all_but_layer_norms_is_drawn() -> None:
    model = model_of(encoder="rnn", decoder="transformer", cell="lstm")
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    norms = {name for name, module in model.named_modules() if isinstance(module, nn.LayerNorm)}
    assert norms
    draw_weights(model, 0.03)
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[0] in norms:
            assert torch.equal(parameter, before[name]), name
        else:
            assert 0 < parameter.abs().max() <= 0.03, name
