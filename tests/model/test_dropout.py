"""Dropout from a thread's own generator: the same masks as from torch's, and nobody else's draws in between."""

import threading

import pytest
import torch
from helpers.models import random_batch, small_model
from torch.nn import functional

from nmt.model.dropout import Dropout, drawing_from, drop_each, kept


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_masks_are_those_of_torch_for_the_same_seed(share: float, dtype: torch.dtype) -> None:
    states = torch.randn(7, 13, 33).to(dtype).requires_grad_()
    torch.manual_seed(5)
    expected = functional.dropout(states, share)
    with drawing_from(torch.Generator().manual_seed(5)):
        found = drop_each(states, share, training=True)
    assert torch.equal(found, expected)
    assert 0 < (found == 0).float().mean() < 1
    ones = torch.ones_like(expected)
    assert torch.equal(*(torch.autograd.grad(each, states, ones)[0] for each in (found, expected)))


def test_nothing_is_dropped_where_nothing_is_to_be() -> None:
    states = torch.randn(2, 3)
    assert drop_each(states, 0.0, training=True) is states
    assert drop_each(states, 0.5, training=False) is states


def test_the_layer_drops_while_it_is_trained() -> None:
    layer, states = Dropout(0.3), torch.randn(5, 7)
    torch.manual_seed(1)
    expected = functional.dropout(states, 0.3)
    torch.manual_seed(1)
    assert torch.equal(layer(states), expected)
    assert layer.eval()(states) is states


@pytest.mark.parametrize("attention", ["general", "multi_head"])
def test_a_model_in_training_leaves_the_generator_of_others_alone(attention: str) -> None:
    model, batch = small_model(attention, dropout=0.3).train(), random_batch(1, 3)
    before = torch.get_rng_state()
    with drawing_from(torch.Generator().manual_seed(3)):
        first = model(batch)
    assert torch.equal(torch.get_rng_state(), before)
    with drawing_from(torch.Generator().manual_seed(3)):
        assert torch.equal(model(batch), first)
    with drawing_from(torch.Generator().manual_seed(4)):
        assert not torch.equal(model(batch), first)
    torch.manual_seed(3)
    assert torch.equal(model(batch), first)


def test_every_thread_has_its_own() -> None:
    found: dict[int, list[torch.Tensor]] = {}
    barrier = threading.Barrier(3)

    def draws(seed: int) -> list[torch.Tensor]:
        with drawing_from(torch.Generator().manual_seed(seed)):
            return [kept(torch.zeros(100), 0.5) for _ in range(50)]

    def run(seed: int) -> None:
        barrier.wait()
        found[seed] = draws(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(3):
        assert all(map(torch.equal, found[seed], draws(seed)))
