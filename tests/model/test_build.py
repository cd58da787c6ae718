"""The outline of a model: the same parameters without memory, whatever the parts are."""

import pytest
import torch
from helpers.models import run_config_of
from helpers.small_transformers import ENCODERS, config

from nmt.model.build import build_model, build_outline


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
