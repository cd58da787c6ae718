"""Laws of the model (DESIGN: chunk, causality, padding, permutation, batch mates), over every score, cell and depth."""

from dataclasses import replace

import pytest
import torch
from helpers.models import ATTENTIONS, NEEDS_BF16, model_config, random_batch, run_config_of, small_model
from torch import Tensor

from nmt.data.batch import Batch, make_batch
from nmt.model.build import needs_equal_sizes
from nmt.model.seq2seq import Seq2Seq

CASES = [
    # one layer of another cell does what a deep one and one of LSTM do
    pytest.param(
        a, cell, layers, feeding, marks=[pytest.mark.slow] if (cell, layers) in {("gru", 1), ("tanh", 1)} else []
    )
    for a in ATTENTIONS
    for cell in ("lstm", "gru", "tanh")
    for layers in (1, 3)
    for feeding in (False, True)
]
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}
every = pytest.mark.parametrize(("attention", "cell", "layers", "input_feeding"), CASES)


def model_of(attention: str, cell: str, layers: int, input_feeding: bool) -> Seq2Seq:
    """Deep ones have the source embeddings in their memory, where the score does not ask for states of one size."""
    bridged = layers > 1 and not needs_equal_sizes(run_config_of(model_config(attention)).attention)
    return small_model(attention, cell=cell, layers=layers, input_feeding=input_feeding, with_embeddings=bridged)


def features(model: Seq2Seq, batch: Batch) -> tuple[Tensor, Tensor]:
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    found, weights, _ = model.decoder(batch.tgt_in, source, state)
    return found, weights


@every
@torch.no_grad()
def test_decoding_in_chunks_equals_decoding_at_once(
    attention: str, cell: str, layers: int, input_feeding: bool
) -> None:
    model, batch = model_of(attention, cell, layers, input_feeding), random_batch(1)
    whole, whole_weights = features(model, batch)
    for cut in range(1, batch.tgt_in.shape[1]):
        source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
        left, left_weights, state = model.decoder(batch.tgt_in[:, :cut], source, state)
        right, right_weights, _ = model.decoder(batch.tgt_in[:, cut:], source, state)
        torch.testing.assert_close(torch.cat([left, right], 1), whole, **TOLERANCE)
        torch.testing.assert_close(torch.cat([left_weights, right_weights], 3), whole_weights, **TOLERANCE)


@every
@torch.no_grad()
def test_a_sentence_does_not_depend_on_its_batch_mates(
    attention: str, cell: str, layers: int, input_feeding: bool
) -> None:
    model, batch = model_of(attention, cell, layers, input_feeding), random_batch(2)
    together, attended = model.forced(batch)
    assert torch.equal(model.attention(batch), attended)
    for row in range(len(batch.src)):
        src, tgt = batch.src[row][batch.src_mask[row]][:-1], batch.tgt_out[row][batch.tgt_mask[row]][:-1]
        alone, weights = model.forced(make_batch([src.tolist()], [tgt.tolist()]))
        torch.testing.assert_close(together[row, : alone.shape[1]], alone[0], **TOLERANCE)
        attended_here = attended[row, :, :, : weights.shape[3], : weights.shape[4]]
        torch.testing.assert_close(attended_here, weights[0], **TOLERANCE)


@every
@torch.no_grad()
def test_padding_and_order_of_the_batch_change_nothing(
    attention: str, cell: str, layers: int, input_feeding: bool
) -> None:
    model, batch = model_of(attention, cell, layers, input_feeding), random_batch(3)
    log_probs, _ = model.forced(batch)
    order = torch.randperm(len(batch.src))
    torch.testing.assert_close(model.forced(batch.select(order))[0], log_probs[order], **TOLERANCE)
    junk = torch.randint(4, 20, batch.src.shape)
    other = replace(batch, src=torch.where(batch.src_mask, batch.src, junk))
    torch.testing.assert_close(model.forced(other)[0], log_probs, **TOLERANCE)


@every
@torch.no_grad()
def test_no_position_sees_later_targets(attention: str, cell: str, layers: int, input_feeding: bool) -> None:
    model, batch = model_of(attention, cell, layers, input_feeding), random_batch(4)
    before, _ = features(model, batch)
    t = batch.tgt_in.shape[1] // 2
    changed = batch.tgt_in.clone()
    changed[:, t:] = (changed[:, t:] + 1) % 20
    after, _ = features(model, replace(batch, tgt_in=changed))
    assert torch.equal(before[:, :t], after[:, :t])
    assert not torch.allclose(before[:, t:], after[:, t:])


@every
@torch.no_grad()
def test_beams_share_one_source(attention: str, cell: str, layers: int, input_feeding: bool) -> None:
    model, batch = model_of(attention, cell, layers, input_feeding), random_batch(5)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    rows = torch.arange(len(batch.src)).repeat_interleave(3)
    tokens = torch.randint(4, 20, (len(rows), 1))
    folded, folded_weights, _ = model.step(tokens, source, state.select(rows))
    copied, copied_weights, _ = model.step(tokens, source.select(rows), state.select(rows))
    torch.testing.assert_close(folded, copied, **TOLERANCE)
    torch.testing.assert_close(folded_weights, copied_weights, **TOLERANCE)


@pytest.mark.parametrize("attention", [a for a in ATTENTIONS if a != "none"])
@torch.no_grad()
def test_weights_are_a_distribution_over_real_positions(attention: str) -> None:
    model, batch = small_model(attention), random_batch(6)
    _, weights = features(model, batch)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    padding = ~batch.src_mask[:, None, None, None, :].expand_as(weights)
    assert (weights[padding] == 0).all()


@torch.no_grad()
def test_the_baseline_attends_to_nothing_and_knows_the_final_state_alone() -> None:
    model, batch = small_model("none"), random_batch(7)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    features, weights, _ = model.decoder(batch.tgt_in, source, state)
    assert weights.shape[1] == source.keys.numel() == 0
    memory = model.encode(batch.src, batch.src_mask)
    others = replace(memory, states=torch.randn_like(memory.states))
    assert torch.equal(model.decoder(batch.tgt_in, *model.decoder.start(others, True))[0], features)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_every_parameter_is_trained(attention: str) -> None:
    model, batch = small_model(attention, layers=2).train(), random_batch(8)
    log_probs, _ = model.forced(batch)
    (-log_probs.sum()).backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert still == []


@NEEDS_BF16
@pytest.mark.parametrize("attention", ATTENTIONS)
@torch.no_grad()
def test_bf16_stays_near_fp32(attention: str) -> None:
    """Stated bound: 0.1 nats on any token's log-probability, for models of this size."""
    model, batch = small_model(attention, layers=2), random_batch(9)
    exact, _ = model.forced(batch)
    with torch.autocast("cpu", torch.bfloat16):
        rounded, _ = model.forced(batch)
    assert (exact - rounded).abs().max() < 0.1
