"""Transformers against torch's own layers and the formulae, and what their constructors refuse."""

import math
from typing import Any, cast

import pytest
import torch
from helpers.models import VOCAB, built, random_batch, section
from helpers.small_transformers import D_MODEL, HEADS, TOLERANCE, config, model_of, shaken
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt.data.batch import make_batch
from nmt.data.tokenizer import EOS
from nmt.errors import ConfigError, DataError
from nmt.model.attention import AttentionLayer, MultiHead
from nmt.model.interfaces import Source
from nmt.model.positions import POSITIONS, Positions, sinusoids
from nmt.model.scores import ScaledDot
from nmt.model.transformer import RnnSelfAttentionEncoder, TransformerDecoder, TransformerEncoder
from nmt.model.transformer_layers import (
    Activation,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerBuilder,
    Norm,
    Residual,
)
from nmt.translation.long_lines import LONGEST_PART

SHAPES: list[tuple[Norm, Activation]] = [("pre", "relu"), ("pre", "gelu"), ("post", "relu"), ("post", "gelu")]


# ---- against torch's own layers


def layer_builder(norm: Norm, activation: Activation) -> LayerBuilder:
    return LayerBuilder("encoder", 2, HEADS, D_MODEL, 20, norm, activation, 0.0, 0.0)


def cross_layer(d_query: int, d_memory: int) -> MultiHead:
    return MultiHead(d_query, d_memory, HEADS, None, ScaledDot, 0.0, "softmax")


@torch.no_grad()
def copy_attention(ours: AttentionLayer, theirs: nn.MultiheadAttention) -> None:
    assert isinstance(ours, MultiHead)
    parts = (ours.query_projection, ours.key_projection, ours.value_projection)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output_projection.state_dict())


def copy_norms(ours: list[Residual], theirs: list[nn.LayerNorm]) -> None:
    for own, their in zip(ours, theirs, strict=True):
        their.load_state_dict(own.norm.state_dict())


def copy_feed_forward(ours: FeedForward, linear1: nn.Linear, linear2: nn.Linear) -> None:
    linear1.load_state_dict(ours.inner.state_dict())
    linear2.load_state_dict(ours.outer.state_dict())


@torch.no_grad()
def test_multi_head_attention_is_torchs() -> None:
    torch.manual_seed(1)
    ours = shaken(cross_layer(D_MODEL, D_MODEL))
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).eval()
    copy_attention(ours, theirs)
    mask = random_batch(1).src_mask
    X, Y = torch.randn(*mask.shape, D_MODEL), torch.randn(len(mask), 7, D_MODEL)
    expected, expected_weights = theirs(Y, X, X, key_padding_mask=~mask, average_attn_weights=False)
    for wanted in (True, False):
        context, weights = ours(X, Y, mask[:, None], wanted)
        torch.testing.assert_close(context, expected, **TOLERANCE)
        assert weights.shape[1] == HEADS * wanted
        if wanted:
            torch.testing.assert_close(weights, expected_weights, **TOLERANCE)


@pytest.mark.parametrize(("norm", "activation"), SHAPES)
@torch.no_grad()
def test_the_encoder_layer_is_torchs(norm: Norm, activation: Activation) -> None:
    torch.manual_seed(2)
    ours = shaken(EncoderLayer(layer_builder(norm, activation)))
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, 20, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    ).eval()
    copy_attention(ours.attention, theirs.self_attn)
    copy_norms([ours.residual, ours.feed_forward.residual], [theirs.norm1, theirs.norm2])
    copy_feed_forward(ours.feed_forward, theirs.linear1, theirs.linear2)
    mask = random_batch(2).src_mask
    x = torch.randn(*mask.shape, D_MODEL)
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask[:, None])[mask], expected[mask], **TOLERANCE)


@pytest.mark.parametrize(("norm", "activation"), SHAPES)
@torch.no_grad()
def test_the_decoder_layer_is_torchs(norm: Norm, activation: Activation) -> None:
    torch.manual_seed(3)
    ours = shaken(DecoderLayer(layer_builder(norm, activation), cross_layer(D_MODEL, D_MODEL)))
    theirs = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, 20, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    ).eval()
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross, theirs.multihead_attn)
    residuals = [ours.residual, ours.cross_residual, ours.feed_forward.residual]
    copy_norms(residuals, [theirs.norm1, theirs.norm2, theirs.norm3])
    copy_feed_forward(ours.feed_forward, theirs.linear1, theirs.linear2)
    batch = random_batch(3)
    rows, length = batch.tgt_in.shape
    x, memory = torch.randn(rows, length, D_MODEL), torch.randn(*batch.src.shape, D_MODEL)
    causal = torch.ones(length, length).triu(1).bool()
    expected = theirs(x, memory, causal, memory_key_padding_mask=~batch.src_mask)
    keys, values = (each[:, None] for each in ours.cross.keys_values(memory))
    empty = torch.zeros(rows, HEADS, 0, D_MODEL // HEADS)
    source = Source(keys, values, batch.src_mask, wants_weights=False)
    found, _, _ = ours(x, (empty, empty), ~causal[None], source, 0)
    torch.testing.assert_close(found, expected, **TOLERANCE)


# ---- the cache of decoding


class Made(TorchFunctionMode):
    """Counts the elements of the new tensors that operators return, those of less than `least` left out."""

    def __init__(self, least: int) -> None:
        super().__init__()
        self.least = least
        self.elements = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        given = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else [arg])]
        old = {each.untyped_storage().data_ptr() for each in given if isinstance(each, Tensor)}
        if isinstance(result, Tensor) and result.numel() >= self.least:
            self.elements += result.numel() * (result.untyped_storage().data_ptr() not in old)
        return result


@torch.no_grad()
def test_a_token_copies_the_cache_once_and_a_selection_once_more() -> None:
    model, length = model_of("rnn", layers=3, positions="sinusoidal"), 100
    rows = torch.tensor([1, 0, 1])
    tokens = torch.randint(4, VOCAB, (3, length))
    source, state = model.start(torch.tensor([[5, EOS]] * 3), torch.ones(3, 2).bool(), wants_weights=False)
    _, _, state = model.decoder(tokens, source, state)
    with Made(least=3 * length * D_MODEL) as made:
        _, _, state = model.decoder(tokens[:, :1], source, state.select(rows))
    cache = 2 * 3 * 3 * length * D_MODEL  # keys and values, layers, rows
    assert cache <= made.elements / 2 <= 1.01 * cache


# ---- positions, the mean, dropout


@pytest.mark.parametrize("d_model", [6, 7])
def test_sinusoids_are_the_formula(d_model: int) -> None:
    for start in (0, 5):
        found = sinusoids(start, 4, d_model, torch.device("cpu"))
        for row in range(4):
            for column in range(d_model):
                angle = (start + row) / 10000 ** (2 * (column // 2) / d_model)
                expected = math.cos(angle) if column % 2 else math.sin(angle)
                assert found[row, column].item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_positions_tell_orders_apart_and_without_them_order_is_not_seen(positions: Positions) -> None:
    model = model_of(positions=positions)
    encoder = cast(TransformerEncoder, model.encoder)
    src, mask = torch.tensor([[5, 6, 7, EOS]]), torch.ones(1, 4, dtype=torch.bool)
    order = torch.tensor([2, 0, 1, 3])
    assert not torch.allclose(model.encode(src[:, order], mask).states, model.encode(src, mask).states[:, order])
    encoder.tokens.positions.forward = lambda start, length, device: torch.zeros(length, D_MODEL)  # type: ignore[method-assign]
    torch.testing.assert_close(model.encode(src[:, order], mask).states, model.encode(src, mask).states[:, order])


@torch.no_grad()
def test_embeddings_enter_at_unit_size() -> None:
    for d_embed in (64, 32):
        sizes = {"d_model": 64, "d_embed": d_embed}
        model = built(config("transformer", "transformer", "multi_head", **sizes), 1000, 1000)
        encoder = cast(TransformerEncoder, model.encoder)
        src = torch.arange(1000)[None]
        encoder.tokens.positions = POSITIONS["sinusoidal"]("encoder", 64, 1)
        found = encoder.tokens(model.embedding(src), 0) - sinusoids(0, 1000, 64, src.device)
        assert 0.8 < found.std().item() < 1.25


@pytest.mark.parametrize("encoder", ["transformer", "rnn_self_attention"])
@torch.no_grad()
def test_the_final_state_is_the_mean_over_real_positions(encoder: str) -> None:
    model, batch = model_of(encoder), random_batch(4)
    memory = model.encode(batch.src, batch.src_mask)
    for row, mask in enumerate(batch.src_mask):
        torch.testing.assert_close(memory.final[row], memory.states[row][mask].mean(0))


@torch.no_grad()
def test_the_rnn_under_self_attention_is_the_rnn_encoder() -> None:
    encoder = cast(RnnSelfAttentionEncoder, model_of("rnn_self_attention", norm="post").encoder)
    batch = random_batch(4)
    embedded = torch.randn(*batch.src.shape, 8)
    states = encoder.rnn(embedded, batch.src_mask).states
    expected = encoder.stack(states, batch.src_mask).states
    torch.testing.assert_close(encoder(embedded, batch.src_mask).states, expected)


@pytest.mark.parametrize("key", ["dropout", "attention_dropout"])
def test_dropouts_act_in_training_alone(key: str) -> None:
    model, batch = model_of(**{key: 0.4}), random_batch(3)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_tied_tables_are_one() -> None:
    for tie, tables in (("none", 3), ("target", 2), ("all", 1)):
        model = model_of(tie=tie)
        model(random_batch(1))
        found = {model.embedding.table.weight.data_ptr(), model.output.weight.data_ptr()}
        found.add(cast(Any, model.decoder).embedding.table.weight.data_ptr())
        assert len(found) == tables


def test_features_of_another_size_than_the_layers_are_a_projection_without_bias() -> None:
    model, batch = model_of(tie="target"), random_batch(1)
    decoder = cast(TransformerDecoder, model.decoder)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=False)
    projected, _, _ = decoder(batch.tgt_in, source, state)
    weight, decoder.output = decoder.output.weight, nn.Identity()
    plain, _, _ = decoder(batch.tgt_in, source, state)
    assert plain.shape[2] == D_MODEL != projected.shape[2] == decoder.d_output
    torch.testing.assert_close(projected, plain @ weight.T, **TOLERANCE)


# ---- refusals


@pytest.mark.parametrize(
    ("encoder", "decoder", "where", "key", "value", "message"),
    [
        ("transformer", "rnn", "encoder", "heads", 3, r"encoder\.heads is 3, .* divide the 16 .* to 1 or 2 or 4, or"),
        ("rnn_self_attention", "rnn", "encoder", "heads", 5, r"encoder\.heads is 5, which does not divide the 16"),
        ("rnn", "transformer", "decoder", "heads", 3, r"decoder\.heads is 3, which does not divide the 16"),
        ("transformer", "rnn", "encoder", "layers", 0, r"encoder\.layers is 0; it must be at least 1"),
        ("rnn", "transformer", "decoder", "layers", 0, r"decoder\.layers is 0"),
        ("transformer", "rnn", "encoder", "heads", 0, r"encoder\.heads is 0"),
        ("transformer", "rnn", "encoder", "d_model", 0, r"encoder\.d_model is 0"),
        ("rnn", "transformer", "decoder", "d_feed_forward", 0, r"decoder\.d_feed_forward is 0"),
        ("transformer", "rnn", "encoder", "max_positions", 0, r"encoder\.max_positions is 0"),
        ("rnn_self_attention", "rnn", "encoder", "rnn_layers", 0, r"encoder\.rnn_layers is 0"),
        ("rnn_self_attention", "rnn", "encoder", "d_hidden", 0, r"encoder\.d_hidden is 0"),
        ("transformer", "rnn", "encoder", "dropout", 1.0, r"dropout is 1\.0; it must be at least 0 and below 1"),
        ("rnn", "transformer", "decoder", "attention_dropout", -0.1, r"decoder\.attention_dropout is -0\.1"),
        ("transformer", "rnn", "encoder", "norm", "pree", r"did you mean 'pre'"),
        ("rnn", "transformer", "decoder", "positions", "learnt", r"did you mean 'learned'"),
        ("transformer", "rnn", "encoder", "activation", "gelo", r"did you mean 'gelu'"),
    ],
)
def test_impossible_models_are_refused(
    encoder: str, decoder: str, where: str, key: str, value: object, message: str
) -> None:
    values = config(encoder, decoder, "general")
    values[where][key] = value
    with pytest.raises(ConfigError, match=message):
        built(values)


def test_a_transformer_decoder_needs_attention() -> None:
    with pytest.raises(ConfigError, match=r"attention is none, but .* set attention=multi_head.* or decoder=rnn"):
        model_of(attention="none")


def test_sentences_beyond_the_learned_positions_are_refused_on_both_sides() -> None:
    model = model_of(positions="learned", max_positions=6)
    fits = make_batch([[5] * 5], [[5] * 5])
    model(fits)
    for src, tgt, where in (([5] * 6, [5], "encoder"), ([5], [5] * 6, "decoder")):
        message = rf"reaches 7 tokens, but {where}\.max_positions is 6; .* {where}\.positions=sinusoidal"
        with pytest.raises(DataError, match=message):
            model(make_batch([src], [tgt]))
    source, state = model.start(fits.src, fits.src_mask, wants_weights=False)
    _, _, state = model.decoder(fits.tgt_in, source, state)
    with pytest.raises(DataError, match=r"reaches 7 tokens, but decoder\.max_positions is 6"):
        model.decoder(fits.tgt_in[:, :1], source, state)


def test_the_learned_positions_that_ship_reach_as_far_as_translation_does() -> None:
    limits = section("search", "beam")
    longest = limits["max_length_a"] + limits["max_length_b"] * LONGEST_PART
    assert section("encoder", "transformer")["max_positions"] >= LONGEST_PART + 1  # end of sentence
    assert section("decoder", "transformer")["max_positions"] >= longest + 1  # begin of sentence


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_dropout_of_a_residual_falls_on_the_change_alone(norm: Norm) -> None:
    torch.manual_seed(0)
    residual = LayerBuilder("encoder", 1, 2, 8, 4, norm, "relu", 0.5, 0.0).residual().train()
    x, change = torch.randn(3, 40, 8), torch.randn(3, 40, 8)
    torch.manual_seed(1)
    found = residual.leave(x, change)
    torch.manual_seed(1)
    kept = torch.nn.functional.dropout(torch.ones_like(change), 0.5)
    assert set(kept.unique().tolist()) == {0.0, 2.0}
    expected = x + kept * change
    torch.testing.assert_close(found, expected if norm == "pre" else residual.norm(expected))


@pytest.mark.parametrize("attention", ["additive", "general"])
def test_contexts_of_another_size_are_projected(attention: str) -> None:
    model = built(config("rnn", "transformer", attention, d_hidden=5)).eval()
    batch = random_batch(1, 3)
    assert model.encode(batch.src, batch.src_mask).states.shape[-1] == 10
    assert isinstance(model.decoder, TransformerDecoder)
    for layer in model.decoder.layers:
        assert isinstance(layer.context, nn.Linear)
        assert (layer.context.in_features, layer.context.out_features) == (10, D_MODEL)
        torch.nn.init.zeros_(layer.context.weight)
    without = model(batch)
    assert without.shape[-1] == model.output.weight.shape[1]
    for layer in model.decoder.layers:
        torch.nn.init.normal_(layer.context.weight)
    assert not torch.allclose(model(batch), without)


def test_the_final_state_of_a_source_of_one_position_is_that_position() -> None:
    encoder = model_of("transformer").encoder
    memory = encoder(torch.randn(2, 1, 8), torch.ones(2, 1, dtype=torch.bool))
    torch.testing.assert_close(memory.final, memory.states[:, 0])
