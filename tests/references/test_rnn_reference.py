"""The RNN encoder, decoder and output against the reference, which computes them once more from the formulae."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from helpers.models import ATTENTIONS, random_batch, section, small_model
from torch import Tensor, nn

from nmt.data.batch import Batch
from nmt.model.dropout import sequence_mask
from nmt.model.rnn import RnnDecoder, RnnEncoder, RnnLayer, RnnState
from nmt.model.seq2seq import Embedding, Seq2Seq
from references.rnn import NORMALISERS, SCORES, Attention, Decoded, Weights, below, decode, encode, log_probs

KNOWN = (*SCORES, "multi_head", "none")
EQUAL_SIZES = ("dot", "scaled_dot", "cosine")  # of encoder and decoder states
CELLS = ("lstm", "gru", "tanh")
TOLERANCE = {"atol": 2e-5, "rtol": 2e-5}
HEADS = section("attention", "multi_head")["heads"]

CASES: dict[str, dict[str, Any]] = {
    f"{attention}-{cell}-{layers}-{'feeding' if feeding else 'plain'}": {
        "attention": attention,
        "cell": cell,
        "layers": layers,
        "input_feeding": feeding,
        "with_embeddings": layers == 2 and attention not in EQUAL_SIZES,
        "tie": "target" if layers == 3 else "none",  # tied: features of the embeddings' size
    }
    for attention in KNOWN
    for cell in CELLS
    for layers in (1, 2, 3)
    for feeding in (False, True)
}
CASES |= {
    f"{attention}-{normaliser}": {"attention": attention, "normaliser": normaliser, "layers": 2, "input_feeding": True}
    for attention in KNOWN
    for normaliser in NORMALISERS
    if attention != "none" and normaliser != "softmax"
}
CASES |= {f"heads of {score}": {"attention": "multi_head", "score": score, "layers": 2} for score in SCORES}
CASES |= {f"{cell}, one direction": {"cell": cell, "layers": 2, "bidirectional": False} for cell in CELLS}
each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Reference:
    """What the formulae make of a batch with a model's parameters."""

    def __init__(self, model: Seq2Seq, case: Mapping[str, Any]) -> None:
        self.weights: Weights = {name: p.detach().double() for name, p in model.state_dict().items()}
        self.cell: str = case.get("cell", "lstm")
        self.layers: int = case.get("layers", 1)
        self.case = case
        name = case.get("attention", "general")
        normaliser = case.get("normaliser", "softmax")
        self.attention = Attention(name, normaliser)
        if name == "multi_head":
            self.attention = Attention(case.get("score", "scaled_dot"), normaliser, HEADS)

    def encode(self, src: Tensor, mask: Tensor, kept: list[Tensor] | None = None) -> tuple[list[Tensor], Tensor]:
        """States at the real positions of one sentence, and what the decoder starts from."""
        embedded = list(self.weights["embedding.table.weight"][src[mask]])
        both, bridged = self.case.get("bidirectional", True), self.case.get("with_embeddings", False)
        kept = kept or [torch.ones(())] * self.layers
        return encode(below(self.weights, "encoder"), self.cell, self.layers, both, embedded, bridged, kept)

    def decode(self, src: Tensor, mask: Tensor, tgt_in: Tensor, kept: list[Tensor] | None = None) -> Decoded:
        """Features, attention weights and last states of one sentence; `kept`: of the encoder's, then these layers."""
        states, final = self.encode(src, mask, kept and kept[: self.layers])
        embedded = list(self.weights["decoder.embedding.table.weight"][tgt_in])
        attention = None if self.attention.score == "none" else self.attention
        feeding = self.case.get("input_feeding", False)
        weights = below(self.weights, "decoder")
        kept = kept[self.layers :] if kept else [torch.ones(())] * self.layers
        return decode(weights, self.cell, self.layers, attention, feeding, embedded, states, final, kept)


def built(case: Mapping[str, Any]) -> tuple[Seq2Seq, Reference, Batch]:
    """A model that has the case's sizes, its reference, and a batch of sentences of different lengths."""
    model = small_model(**case)
    assert isinstance(model.encoder, RnnEncoder)
    assert isinstance(model.decoder, RnnDecoder)
    assert len(model.encoder.layers) == len(model.decoder.layers) == case.get("layers", 1)
    assert bool(model.decoder.d_feed) == case.get("input_feeding", False)
    if model.decoder.attention is not None:
        assert model.decoder.attention.normaliser == case.get("normaliser", "softmax")
    return model, Reference(model, case), random_batch(1, sentences=4, longest=6)


def near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found.double(), expected, **TOLERANCE)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("with_embeddings", [False, True])
@torch.no_grad()
def test_the_encoders_states_are_those_of_the_formulae(
    cell: str, layers: int, bidirectional: bool, with_embeddings: bool
) -> None:
    sizes = {"cell": cell, "layers": layers, "bidirectional": bidirectional, "with_embeddings": with_embeddings}
    model, reference, batch = built(sizes)
    memory = model.encode(batch.src, batch.src_mask)
    assert torch.equal(memory.mask, batch.src_mask)
    for row, mask in enumerate(batch.src_mask):
        states, final = reference.encode(batch.src[row], mask)
        near(memory.states[row, mask], torch.stack(states))
        near(memory.final[row], final)


@pytest.mark.slow
@each
@torch.no_grad()
def test_the_decoders_features_weights_and_states_are_those_of_the_formulae(case: dict[str, Any]) -> None:
    model, reference, batch = built(case)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    features, weights, after = model.decoder(batch.tgt_in, source, state)
    assert isinstance(after, RnnState)
    for row, mask in enumerate(batch.src_mask):
        expected = reference.decode(batch.src[row], mask, batch.tgt_in[row])
        near(features[row], torch.stack(expected.features))
        near(after.layers[row], torch.stack([torch.stack(state) for state in expected.states]))
        near(after.feed[row], expected.features[-1] if case.get("input_feeding") else torch.zeros(0).double())
        if reference.attention.score == "none":
            assert weights.shape[1] == source.keys.numel() == 0
            continue
        alpha = torch.tensor(expected.weights, dtype=torch.float64).transpose(0, 1)  # [H, T, S]
        near(weights[row, 0][..., mask], alpha)
        assert (weights[row, 0][..., ~mask] == 0).all()


@pytest.mark.slow
@each
@torch.no_grad()
def test_the_models_probabilities_are_those_of_the_formulae(case: dict[str, Any]) -> None:
    model, reference, batch = built(case)
    found, attended = model.forced(batch)
    trained = iter(model(batch))  # features of the real positions, sentence by sentence
    source, state = model.start(batch.src, batch.src_mask, wants_weights=False)
    first, _, _ = model.step(batch.tgt_in[:, :1], source, state)
    assert (attended.shape[1] == 0) == (reference.attention.score == "none")
    for row, real in enumerate(batch.tgt_mask):
        expected = reference.decode(batch.src[row], batch.src_mask[row], batch.tgt_in[row]).features
        distributions = torch.stack([log_probs(reference.weights, o) for o in expected])
        near(first[row], distributions[0])
        near(found[row, real], distributions[real].gather(1, batch.tgt_out[row, real][:, None])[:, 0])
        assert (found[row, ~real] == 0).all()
        for t in range(int(real.sum())):
            near(next(trained), expected[t])
    assert next(trained, None) is None


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("feeding", [False, True])
@torch.no_grad()
def test_dropout_falls_on_every_layers_outputs_once_and_the_same_at_every_position(
    layers: int, feeding: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, reference, batch = built({"layers": layers, "input_feeding": feeding})
    for part in (model.encoder, model.decoder):
        part.train()
        part.dropout = 0.25
    masks: list[Tensor] = []

    def recorded(like: Tensor, dropout: float, training: bool) -> Tensor:
        assert (dropout, training) == (0.25, True)
        mask = sequence_mask(like, dropout, training)
        assert mask is not None
        masks.append(mask)
        return mask

    monkeypatch.setattr("nmt.model.rnn.sequence_mask", recorded)
    source, state = model.start(batch.src, batch.src_mask, wants_weights=False)
    features, _, _ = model.decoder(batch.tgt_in, source, state)
    assert len(masks) == 2 * layers
    for row, mask in enumerate(batch.src_mask):
        kept = [each[row, 0].double() for each in masks]
        near(features[row], torch.stack(reference.decode(batch.src[row], mask, batch.tgt_in[row], kept).features))


def test_the_reference_knows_attentions_that_ship() -> None:
    assert set(KNOWN) <= set(ATTENTIONS)


@pytest.mark.parametrize("d_hidden", [1, 5])
def test_a_new_lstm_remembers_by_default(d_hidden: int) -> None:
    """Forget gates' input bias 1; everything else as torch has it, uniform within 1 / √d_hidden."""
    torch.manual_seed(0)
    layer, bound = RnnLayer("lstm", 3, d_hidden), d_hidden**-0.5
    torch.manual_seed(0)
    expected = nn.LSTM(3, d_hidden, batch_first=True).state_dict()
    expected["bias_ih_l0"].chunk(4)[1].fill_(1.0)  # gates: input, forget, cell, output
    assert layer.rnn.state_dict().keys() == expected.keys()
    for name, found in layer.rnn.state_dict().items():
        assert torch.equal(found, expected[name]), name
    assert all(expected["bias_hh_l0"].abs() <= bound)


@pytest.mark.parametrize(("cell", "theirs"), [("gru", nn.GRU), ("tanh", nn.RNN)])
def test_other_new_cells_are_torchs(cell: Any, theirs: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    found = RnnLayer(cell, 3, 5).rnn.state_dict()
    torch.manual_seed(0)
    assert all(torch.equal(found[name], value) for name, value in theirs(3, 5).state_dict().items())


def test_new_embeddings_have_unit_length_and_a_new_output_layer_no_bias() -> None:
    torch.manual_seed(0)
    assert abs(Embedding(2000, 64, 0.0, 0.0).table.weight.square().sum(1).mean().item() - 1.0) < 0.02
    assert not small_model("general").output.bias.any()
