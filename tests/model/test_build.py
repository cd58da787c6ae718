"""The outline of a model: the same parameters without memory, whatever the parts are."""

import pytest
import torch
from helpers.models import model_config, run_config_of
from helpers.small_transformers import ENCODERS, config

from nmt.model.build import NothingDrawn, build_model, build_outline


@pytest.mark.parametrize("decoder", ["rnn", "transformer"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_outline_has_the_parameters_of_the_model_and_draws_nothing(encoder: str, decoder: str) -> None:
    run = run_config_of(config(encoder, decoder, "multi_head"))
    before = torch.get_rng_state()
    outline = build_outline(run, 11, 13)
    assert torch.equal(torch.get_rng_state(), before)
    model = build_model(run, 11, 13)
    assert {name: (p.shape, p.dtype) for name, p in outline.named_parameters()} == {
        name: (p.shape, p.dtype) for name, p in model.named_parameters()
    }
    assert all(p.is_meta for p in outline.parameters())


def test_draws_that_are_left_out_answer_with_their_tensor() -> None:
    with NothingDrawn():
        for draw in (torch.nn.init.normal_, torch.nn.init.uniform_, torch.Tensor.normal_, torch.Tensor.uniform_):
            tensor = torch.zeros(3)
            assert draw(tensor, 1.0, 2.0) is tensor
            assert tensor.tolist() == [0, 0, 0]
        assert torch.ones(3).add_(1).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("tie", "size"), [("none", 12), ("target", 8), ("all", 8)])
def test_features_have_the_size_of_the_table_that_the_output_layer_shares(tie: str, size: int) -> None:
    model = build_model(run_config_of(model_config(tie=tie)), 11, 11)  # d_hidden 12, d_embed 8
    assert model.output.weight.shape == (11, size)
    assert model.decoder.d_output == size
