"""The parts around encoder and decoder: dropout of words, modes, first positions, first weights of projections."""

import pytest
import torch
from helpers.models import NEEDS_BF16, small_model

from nmt.model.positions import Learned, linear
from nmt.model.rnn import RnnEncoder
from nmt.model.seq2seq import Embedding, evaluation_mode


def test_word_dropout_takes_whole_words_and_leaves_the_others() -> None:
    torch.manual_seed(0)
    embedding = Embedding(9, 4, dropout=0.0, word_dropout=0.3).train()
    tokens = torch.randint(9, (40, 50))
    found, whole = embedding(tokens), embedding.table(tokens)
    kept = found.ne(0).any(-1)
    assert torch.equal(found[kept], whole[kept])
    assert torch.equal(found[~kept], torch.zeros_like(found[~kept]))
    assert 0.65 < kept.float().mean() < 0.75
    assert torch.equal(embedding.eval()(tokens), whole)


@pytest.mark.parametrize("training", [False, True])
def test_evaluation_mode_is_for_its_block_alone(training: bool) -> None:
    model = small_model().train(training)
    with evaluation_mode(model):
        assert not any(module.training for module in model.modules())
    assert all(module.training == training for module in model.modules())


def test_learned_positions_are_the_rows_of_their_table() -> None:
    positions = Learned("encoder", 6, 11)
    assert torch.equal(positions(3, 5, torch.device("cpu")), positions.table[3:8])


def test_a_projection_starts_without_bias() -> None:
    torch.manual_seed(0)
    layer = linear(30, 20)
    assert not layer.bias.any()
    assert layer.weight.abs().max() <= (6 / 50) ** 0.5  # Glorot & Bengio 2010, eq. 16


@NEEDS_BF16
def test_a_memory_with_embeddings_has_one_type() -> None:
    encoder = RnnEncoder(8, "lstm", 1, 6, True, 0.0, with_embeddings=True)
    with torch.autocast("cpu", torch.bfloat16):
        memory = encoder(torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool))
    assert memory.states.dtype == torch.bfloat16
