"""The laws of the model, and its search, over every mix of encoder, decoder and attention in which a Transformer is."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from helpers.models import ATTENTIONS, VOCAB, random_batch, section
from helpers.small_transformers import D_MODEL, ENCODERS, HEADS, TOLERANCE, model_of
from torch import Tensor

from nmt.config.check import read
from nmt.config.sections import SearchConfig
from nmt.data.batch import Batch, make_batch
from nmt.data.tokenizer import BOS, EOS, PAD
from nmt.model.seq2seq import Seq2Seq
from nmt.model.transformer import TransformerState
from nmt.search.beam import StepModel, search
from nmt.search.ensemble import Ensemble
from nmt.search.int8 import with_int8_decoder
from nmt.search.shortlist import Shortlist, Shortlisted

MIXES = [
    (encoder, decoder, attention)
    for encoder in ENCODERS
    for decoder in ("transformer", "rnn")
    for attention in ATTENTIONS
    if (encoder, decoder) != ("rnn", "rnn") and (decoder, attention) != ("transformer", "none")
]
EACH = [m for m in MIXES if m[2] == "multi_head" or m[:2] == ("transformer", "transformer")]  # every part once
every_mix = pytest.mark.parametrize(("encoder", "decoder", "attention"), MIXES)
every_part = pytest.mark.parametrize(("encoder", "decoder", "attention"), EACH)
variants = pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "post"}, {"positions": "learned"}, {"activation": "gelu"}, {"layers": 1}, {"d_embed": D_MODEL}],
    ids=str,
)


@cache
def mix(encoder: str, decoder: str, attention: str) -> Seq2Seq:
    """A model for tests that leave it as it is."""
    return model_of(encoder, decoder, attention)


def decode(model: Seq2Seq, batch: Batch, wants_weights: bool = True) -> tuple[Tensor, Tensor]:
    source, state = model.start(batch.src, batch.src_mask, wants_weights)
    features, attention, _ = model.decoder(batch.tgt_in, source, state)
    return features, attention


@every_mix
@torch.no_grad()
def test_decoding_in_chunks_equals_decoding_at_once(encoder: str, decoder: str, attention: str) -> None:
    chunks_agree(mix(encoder, decoder, attention), random_batch(1, longest=5))


@variants
@torch.no_grad()
def test_variants_decode_in_chunks_and_token_by_token(changes: dict[str, Any]) -> None:
    model, batch = model_of(**changes), random_batch(1)
    chunks_agree(model, batch)
    whole, whole_weights = decode(model, batch)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    for t in range(batch.tgt_in.shape[1]):
        features, weights, state = model.decoder(batch.tgt_in[:, t : t + 1], source, state)
        torch.testing.assert_close(features[:, 0], whole[:, t], **TOLERANCE)
        torch.testing.assert_close(weights[:, :, :, 0], whole_weights[:, :, :, t], **TOLERANCE)


def chunks_agree(model: Seq2Seq, batch: Batch) -> None:
    whole, whole_weights = decode(model, batch)
    for cut in range(1, batch.tgt_in.shape[1]):
        source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
        left, left_weights, state = model.decoder(batch.tgt_in[:, :cut], source, state)
        right, right_weights, _ = model.decoder(batch.tgt_in[:, cut:], source, state)
        torch.testing.assert_close(torch.cat([left, right], 1), whole, **TOLERANCE)
        torch.testing.assert_close(torch.cat([left_weights, right_weights], 3), whole_weights, **TOLERANCE)


@every_part
@torch.no_grad()
def test_a_state_can_be_continued_again_and_again(encoder: str, decoder: str, attention: str) -> None:
    """What is done with a state changes neither it nor the states that came of it."""
    model, batch = mix(encoder, decoder, attention), random_batch(13)
    source, begin = model.start(batch.src, batch.src_mask, wants_weights=True)
    _, _, state = model.decoder(batch.tgt_in[:, :2], source, begin)
    others = torch.randint(4, VOCAB, (2, len(batch.src), 1))
    order = torch.arange(len(batch.src)).flip(0)
    _, _, after = model.decoder(others[0], source, state)
    first, first_weights, _ = model.decoder(others[1], source, after)
    model.decoder(others[1], source, state)
    model.decoder(others[1], source, state.select(order))
    model.decoder(others[1], source, begin)
    again, again_weights, _ = model.decoder(others[1], source, after)
    assert torch.equal(again, first)
    assert torch.equal(again_weights, first_weights)
    _, _, anew = model.decoder(others[0], source, state)
    assert torch.equal(model.decoder(others[1], source, anew)[0], first)


@every_mix
@torch.no_grad()
def test_a_sentence_does_not_depend_on_its_batch(encoder: str, decoder: str, attention: str) -> None:
    """Not on mates, order, or the tokens in place of padding."""
    model, batch = mix(encoder, decoder, attention), random_batch(2)
    together, attended = model.forced(batch)
    assert torch.equal(model.attention(batch), attended)
    for row in range(len(batch.src)):
        src, tgt = batch.src[row][batch.src_mask[row]][:-1], batch.tgt_out[row][batch.tgt_mask[row]][:-1]
        alone, weights = model.forced(make_batch([src.tolist()], [tgt.tolist()]))
        torch.testing.assert_close(together[row, : alone.shape[1]], alone[0], **TOLERANCE)
        attended_here = attended[row, :, :, : weights.shape[3], : weights.shape[4]]
        torch.testing.assert_close(attended_here, weights[0], **TOLERANCE)
    order = torch.randperm(len(batch.src))
    torch.testing.assert_close(model.forced(batch.select(order))[0], together[order], **TOLERANCE)
    junk = torch.randint(4, VOCAB, batch.src.shape)
    other = replace(batch, src=torch.where(batch.src_mask, batch.src, junk))
    torch.testing.assert_close(model.forced(other)[0], together, **TOLERANCE)


@every_mix
@torch.no_grad()
def test_no_position_sees_later_targets(encoder: str, decoder: str, attention: str) -> None:
    model, batch = mix(encoder, decoder, attention), random_batch(4)
    before, _ = decode(model, batch)
    t = batch.tgt_in.shape[1] // 2
    changed = batch.tgt_in.clone()
    changed[:, t:] = (changed[:, t:] + 1) % 20
    after, _ = decode(model, replace(batch, tgt_in=changed))
    assert torch.equal(before[:, :t], after[:, :t])
    assert not torch.allclose(before[:, t:], after[:, t:])


@every_mix
@torch.no_grad()
def test_beams_share_one_source(encoder: str, decoder: str, attention: str) -> None:
    model, batch = mix(encoder, decoder, attention), random_batch(5)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    rows = torch.arange(len(batch.src)).repeat_interleave(3)
    folded = copied = state.select(rows)
    for _ in range(3):
        tokens = torch.randint(4, VOCAB, (len(rows), 1))
        ours, our_weights, folded = model.step(tokens, source, folded)
        theirs, their_weights, copied = model.step(tokens, source.select(rows), copied)
        torch.testing.assert_close(ours, theirs, **TOLERANCE)
        torch.testing.assert_close(our_weights, their_weights, **TOLERANCE)
        parents = torch.randint(0, 3, (len(batch.src), 3)) + 3 * torch.arange(len(batch.src))[:, None]
        folded, copied = folded.select(parents.flatten()), copied.select(parents.flatten())


@every_mix
@torch.no_grad()
def test_weights_are_distributions_and_wanting_them_changes_nothing(
    encoder: str, decoder: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = mix(encoder, decoder, attention), random_batch(6)
    features, weights = decode(model, batch)
    for fused in (False, True):  # torch's fused attention, which never has weights
        monkeypatch.setattr("nmt.model.scores.fused_pays", lambda device, fused=fused: fused)
        unseen, none = decode(model, batch, wants_weights=False)
        torch.testing.assert_close(unseen, features, **TOLERANCE)
        assert none.shape[1] == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    padding = ~batch.src_mask[:, None, None, None, :].expand_as(weights)
    assert (weights[padding] == 0).all()
    if decoder == "transformer":
        heads = HEADS if attention == "multi_head" else 1
        assert weights.shape[1:3] == (2, heads)


@every_part
def test_every_parameter_is_trained(encoder: str, decoder: str, attention: str) -> None:
    model, batch = model_of(encoder, decoder, attention).train(), random_batch(8)
    moot = "key_projection.bias"  # moves all scores of a query alike, which no softmax sees
    for forced in (model.forced(batch)[0], model(batch)):
        model.zero_grad()
        forced.square().sum().backward()
        still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
        assert [name for name in still if not name.startswith("output.") and not name.endswith(moot)] == []


@every_part
@torch.no_grad()
def test_bf16_stays_near_fp32(encoder: str, decoder: str, attention: str) -> None:
    """Stated bound: 0.1 nats on any token's log-probability, for models of this size."""
    model, batch = mix(encoder, decoder, attention), random_batch(9)
    exact, _ = model.forced(batch)
    with torch.autocast("cpu", torch.bfloat16):
        rounded, _ = model.forced(batch)
    assert (exact - rounded).abs().max() < 0.1


@pytest.mark.parametrize("cast_weights", [False, True])
@torch.no_grad()
def test_bf16_decodes_in_chunks(cast_weights: bool) -> None:
    """Stated bound: 0.1 on any feature; the state keeps what the products are made in."""
    model, batch = model_of(), random_batch(9)
    model = model.bfloat16() if cast_weights else model
    with torch.autocast("cpu", torch.bfloat16):
        whole, _ = decode(model, batch)
        source, state = model.start(batch.src, batch.src_mask, wants_weights=False)
        for t in range(batch.tgt_in.shape[1]):
            features, _, state = model.decoder(batch.tgt_in[:, t : t + 1], source, state)
            assert (features[:, 0] - whole[:, t]).abs().max() < 0.1
            assert isinstance(state, TransformerState)
            assert {each.dtype for pair in state.layers for each in pair} == {torch.bfloat16}


@torch.no_grad()
@pytest.mark.parametrize("decoder", ["transformer", "rnn"])
def test_a_fully_padded_row_stays_finite(decoder: str) -> None:
    model, batch = model_of(decoder=decoder), random_batch(7)
    mask = batch.src_mask.clone()
    mask[0] = False
    source, state = model.start(batch.src, mask, wants_weights=True)
    features, weights, _ = model.decoder(batch.tgt_in, source, state)
    assert features.isfinite().all()
    assert (weights[0] == 0).all()


def settings(**changes: Any) -> SearchConfig:
    return read(SearchConfig, section("search", "beam", max_length_a=8, **changes), "search")


@pytest.mark.parametrize(("encoder", "decoder"), [(e, d) for e in ENCODERS for d in ("transformer", "rnn")])
@torch.no_grad()
def test_beam_1_is_the_likeliest_token_at_every_step(encoder: str, decoder: str) -> None:
    model, batch = model_of(encoder, decoder), random_batch(10)
    found = search(model, batch.src, batch.src_mask, settings(beam=1), None)
    for row, hypotheses in enumerate(found):
        src = batch.src[row][batch.src_mask[row]][None]
        limit = 8 + 2 * (src.shape[1] - 1)
        tokens = [BOS]
        while len(tokens) <= limit:  # decoded anew from the first token each time
            source, state = model.start(src, torch.ones_like(src).bool(), wants_weights=False)
            log_probs, _, _ = model.step(torch.tensor([tokens]), source, state)
            log_probs[:, [PAD, BOS]] = -math.inf
            tokens.append(int(log_probs.argmax()))
            if tokens[-1] == EOS:
                break
        ours = [token for token in hypotheses[0].tokens if token != EOS]
        assert ours == [token for token in tokens[1:] if token != EOS]


def shorter(most: int, positions: str = "learned") -> Seq2Seq:
    """Reads `most` target tokens if its positions are learned, and hardly ever ends a translation by itself."""
    model = model_of("rnn", positions=positions, max_positions=most + 1)
    with torch.no_grad():
        model.output.bias[EOS] = -20
    return model


def listed(model: Seq2Seq, batch: Batch) -> Shortlisted:
    """Over a shortlist that has every piece."""
    whole = Shortlist(torch.full((VOCAB, 1), PAD), torch.arange(VOCAB), float(VOCAB))
    return Shortlisted(model, whole, batch.src, batch.src_mask)


SHORTER: dict[str, Callable[[Batch], StepModel[Any, Any]]] = {
    "plain": lambda batch: shorter(5),
    "int8": lambda batch: with_int8_decoder(shorter(5)),
    "shortlist": lambda batch: listed(shorter(5), batch),
    "ensemble": lambda batch: Ensemble([shorter(7), shorter(5), shorter(3, "sinusoidal"), model_of(decoder="rnn")]),
}


@pytest.mark.parametrize("changes", [{}, {"beam": 1}, {"sample": True}], ids=str)
@pytest.mark.parametrize("kind", SHORTER)
def test_the_search_ends_where_the_learned_positions_do(kind: str, changes: dict[str, Any]) -> None:
    batch = random_batch(12)
    model = SHORTER[kind](batch)
    assert model.max_length == 5
    found = search(model, batch.src, batch.src_mask, settings(**changes), [0] * len(batch.src))
    assert [len(hypotheses[0].tokens) for hypotheses in found] == [5] * len(batch.src)


def test_with_waves_for_positions_there_is_no_longest_translation() -> None:
    """The limits of the search are the only ones: 8 tokens and 2 for each of the source."""
    batch, model = random_batch(12), shorter(3, "sinusoidal")
    assert model.max_length is Ensemble([model, model]).max_length is None
    found = search(model, batch.src, batch.src_mask, settings(), None)
    limits = 8 + 2 * (batch.src_mask.sum(1) - 1)
    assert [len(hypotheses[0].tokens) for hypotheses in found] == limits.tolist()


@torch.no_grad()
def test_beams_score_as_forced_decoding_does() -> None:
    model, batch = model_of(), random_batch(11)
    found = search(model, batch.src, batch.src_mask, settings(beam=4, n_best=4, coverage_penalty=0.1), None)
    for row, hypotheses in enumerate(found):
        src = batch.src[row][batch.src_mask[row]][:-1].tolist()
        for hypothesis in hypotheses:
            tgt = [token for token in hypothesis.tokens if token != EOS]
            log_probs, _ = model.forced(make_batch([src], [tgt]))
            assert log_probs.sum().item() == pytest.approx(hypothesis.log_prob, abs=1e-3)
