"""The RNN encoder against torch's packed sequences, and what the constructors refuse."""

import pytest
import torch
from helpers.models import built, model_config, random_batch, run_config_of, small_model
from helpers.models import section as part_section
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.errors import ConfigError
from nmt.model.dropout import drop, sequence_mask
from nmt.model.rnn import CELLS, Cell, RnnEncoder, RnnLayer
from nmt.training.untrainable import refuse_untrainable


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
@torch.no_grad()
def test_encoder_is_torchs_rnn_over_packed_sequences(cell: Cell, bidirectional: bool) -> None:
    torch.manual_seed(0)
    encoder = RnnEncoder(8, cell, 1, 6, bidirectional, 0.0, False).eval()
    reference = CELLS[cell](8, 6, batch_first=True, bidirectional=bidirectional)
    directions = encoder.layers[0]
    assert isinstance(directions, nn.ModuleList)
    for layer, suffix in zip(directions, ("", "_reverse"), strict=False):
        assert isinstance(layer, RnnLayer)
        for name, parameter in layer.rnn.named_parameters():
            getattr(reference, name + suffix).copy_(parameter)
    mask = random_batch(1).src_mask
    embedded = torch.randn(*mask.shape, 8)
    lengths = mask.sum(1)
    packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    outputs, final = reference(packed)
    expected, _ = pad_packed_sequence(outputs, batch_first=True)
    hidden = final[0] if isinstance(final, tuple) else final
    memory = encoder(embedded, mask)
    torch.testing.assert_close(memory.states * mask[..., None], expected * mask[..., None], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(memory.final, hidden.transpose(0, 1).flatten(1), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_layers_from_the_second_on_are_residual() -> None:
    """A layer that outputs 0 (all weights 0, tanh cell) passes its input on."""
    torch.manual_seed(0)
    one, two = (RnnEncoder(8, "tanh", layers, 6, True, 0.0, False).eval() for layers in (1, 2))
    two.layers[0].load_state_dict(one.layers[0].state_dict())
    for parameter in two.layers[1].parameters():
        parameter.zero_()
    mask = random_batch(2).src_mask
    embedded = torch.randn(*mask.shape, 8)
    torch.testing.assert_close(two(embedded, mask).states, one(embedded, mask).states)


CELL_CLASSES: dict[Cell, type[nn.RNNCellBase]] = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "tanh": nn.RNNCell}


def encoded_by_hand(encoder: RnnEncoder, cell: Cell, embedded: Tensor) -> tuple[Tensor, Tensor]:
    """States [S, D] and final vector [D] of one sentence, one torch cell and one position at a time."""
    states = list(embedded)
    for depth, directions in enumerate(encoder.layers):
        assert isinstance(directions, nn.ModuleList)
        halves = []
        for direction, layer in enumerate(directions):
            assert isinstance(layer, RnnLayer)
            step = CELL_CLASSES[cell](layer.rnn.input_size, layer.rnn.hidden_size)
            step.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.rnn.state_dict().items()})
            state, half = None, {}
            for position in range(len(states))[:: -1 if direction else 1]:
                state = step(states[position], state)
                half[position] = state[0] if cell == "lstm" else state
            halves.append(half)
        outputs = [torch.cat([half[position] for half in halves]) for position in range(len(states))]
        states = [below + output if depth else output for below, output in zip(states, outputs, strict=True)]
    d = encoder.d_hidden
    return torch.stack(states), torch.cat([states[-1][:d], states[0][d:]])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
@torch.no_grad()
def test_deep_encoders_are_plain_loops_over_torchs_cells(cell: Cell, layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    encoder = RnnEncoder(8, cell, layers, 6, bidirectional, 0.0, False).eval()
    for parameter in encoder.parameters():
        parameter.mul_(2.0)
    mask = random_batch(4).src_mask
    embedded = torch.randn(*mask.shape, 8)
    memory = encoder(embedded, mask)
    for row, real in enumerate(mask):
        states, final = encoded_by_hand(encoder, cell, embedded[row, real])
        torch.testing.assert_close(memory.states[row, real], states, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(memory.final[row], final, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_with_embeddings_the_memory_holds_them_beside_the_states() -> None:
    torch.manual_seed(0)
    plain, bridged = (
        RnnEncoder(8, "lstm", 2, 6, True, 0.0, with_embeddings).eval() for with_embeddings in (False, True)
    )
    bridged.load_state_dict(plain.state_dict())
    mask = random_batch(3).src_mask
    embedded = torch.randn(*mask.shape, 8)
    memory, states = bridged(embedded, mask), plain(embedded, mask)
    assert bridged.d_memory == memory.states.shape[-1] == memory.final.shape[-1] == plain.d_memory + 8
    torch.testing.assert_close(memory.states, torch.cat([states.states, embedded], -1))
    means = torch.stack([row[real].mean(0) for row, real in zip(embedded, mask, strict=True)])  # of real tokens alone
    torch.testing.assert_close(memory.final, torch.cat([states.final, means], -1))


def test_dropout_masks_are_the_same_at_every_position_and_keep_the_mean() -> None:
    torch.manual_seed(0)
    like = torch.ones(2000, 7, 16)
    mask = sequence_mask(like, 0.3, training=True)
    assert mask is not None
    assert mask.shape == (2000, 1, 16)
    assert abs(mask.mean().item() - 1.0) < 0.02
    assert sequence_mask(like, 0.3, training=False) is None
    assert sequence_mask(like, 0.0, training=True) is None


def test_a_mask_multiplies_and_leaves_the_type_as_it_is() -> None:
    torch.manual_seed(0)
    states = torch.randn(5, 3, 8).bfloat16()
    mask = sequence_mask(states.float(), 0.5, training=True)
    assert mask is not None
    assert set(mask.unique().tolist()) == {0.0, 2.0}
    found = drop(states, mask)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, torch.where(mask > 0, 2 * states, torch.zeros_like(states)))
    assert drop(states, None) is states


def test_dropout_and_word_dropout_act_in_training_alone() -> None:
    model = small_model("general", dropout=0.4, word_dropout=0.4)
    batch = random_batch(3)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_tied_tables_are_one() -> None:
    for tie, tables in (("none", 3), ("target", 2), ("all", 1)):
        model = small_model("general", tie=tie)
        found = {model.embedding.table.weight.data_ptr(), model.output.weight.data_ptr()}
        found.add(model.decoder.embedding.table.weight.data_ptr())  # type: ignore[union-attr,attr-defined]
        assert len(found) == tables


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("encoder", "layers", 0, r"encoder\.layers is 0"),
        ("encoder", "dropout", 1.0, r"encoder\.dropout is 1\.0"),
        ("decoder", "d_hidden", 0, r"decoder\.d_hidden is 0"),
        ("encoder", "cell", "lstmm", "lstm"),
        ("model", "d_embed", 0, r"model\.d_embed is 0"),
        ("model", "word_dropout", 1.5, r"model\.word_dropout is 1\.5"),
        ("decoder", "class", None, r"decoder\.class is missing"),
    ],
)
def test_impossible_models_are_refused(section: str, key: str, value: object, message: str) -> None:
    config = model_config()
    config[section][key] = value
    with pytest.raises(ConfigError, match=message):
        built(config)


def test_tying_all_needs_a_joint_vocabulary() -> None:
    config = model_config(tie="all")
    config["tokenizer"]["joint"] = False
    with pytest.raises(ConfigError, match=r"tokenizer\.joint=true or model\.tie=target"):
        run_config_of(config)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("decoder", "d_hidden", "abc", r"decoder\.d_hidden='abc'"),
        ("optimizer", "lr", -1.0, r"optimizer\.lr is -1\.0"),
        ("schedule", "hold", 2.0, r"schedule\.hold is 2\.0; it must be at least 0 and below 1"),
        ("attention", "class", "Dott", r"did you mean 'Dot'"),
    ],
)
def test_parts_are_checked_without_data(section: str, key: str, value: object, message: str) -> None:
    config = model_config("dot")
    config |= {"optimizer": part_section("optimizer", "adamw"), "schedule": part_section("schedule", "linear")}
    config["train"] = {"max_updates": None, "max_epochs": 3}
    refuse_untrainable(run_config_of(config))
    config[section][key] = value
    with pytest.raises(ConfigError, match=message):
        run_config_of(config)
