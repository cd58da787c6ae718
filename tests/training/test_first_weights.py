"""The random weights that a run starts with."""

from collections.abc import Callable

import pytest
import torch
from helpers.models import small_model
from helpers.small_transformers import model_of

from nmt.model.seq2seq import Seq2Seq
from nmt.training.first_weights import draw_weights


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (lambda: small_model("cosine", tie="all"), ["log_tau"]),
        (lambda: small_model("multi_head", cell="gru"), []),
        (lambda: model_of(encoder="transformer", decoder="transformer"), ["norm"]),
    ],
    ids=["cosine", "gru", "transformer"],
)
def test_all_is_drawn_but_gains_and_norms(model: Callable[[], Seq2Seq], own: list[str]) -> None:
    drawn = model()
    before = {name: parameter.clone() for name, parameter in drawn.named_parameters()}
    draw_weights(drawn, 0.03)
    stayed = {name for name, parameter in drawn.named_parameters() if torch.equal(parameter, before[name])}
    for name, parameter in drawn.named_parameters():
        assert (name in stayed) == any(each in name for each in own), name
        assert name in stayed or 0 < parameter.abs().max() <= 0.03, name
    assert bool(stayed) == bool(own)
