"""No tensor is made elsewhere than where its inputs are: on the meta device, one of the processor is an error."""

import pytest
import torch
from helpers.models import ATTENTIONS, random_batch, small_model
from helpers.small_transformers import ENCODERS, model_of

from nmt.data.batch import Batch
from nmt.model.seq2seq import Seq2Seq
from nmt.search.ensemble import Members
from nmt.search.shortlist import Shortlist

META = torch.device("meta")


def decoded(model: Seq2Seq) -> None:
    batch: Batch = random_batch(1).to(META)
    source, state = model.to(META).start(batch.src, batch.src_mask, wants_weights=True)
    features, weights, state = model.decoder(batch.tgt_in, source, state)
    log_probs, _, _ = model.step(batch.tgt_in[:, :1], source, state)
    assert features.device == weights.device == log_probs.device == META


@pytest.mark.slow
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("training", [False, True])
def test_rnns(attention: str, training: bool) -> None:
    decoded(small_model(attention, layers=2, input_feeding=True, dropout=0.1, word_dropout=0.1).train(training))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_transformers(encoder: str, positions: str) -> None:
    decoded(model_of(encoder) if encoder == "rnn" else model_of(encoder, positions=positions))


def test_a_shortlist_goes_as_a_whole() -> None:
    listed = Shortlist(torch.zeros(3, 2, dtype=torch.long), torch.zeros(4, dtype=torch.long), 5.0).to(META)
    assert listed.best.device == listed.frequent.device == META
    assert listed.candidates == 5.0


def test_what_the_models_of_an_ensemble_keep_goes_as_a_whole() -> None:
    batch = random_batch(1)
    moved = Members((batch, batch)).to(META)
    assert {own.src.device for own in moved.each if isinstance(own, Batch)} == {META}
