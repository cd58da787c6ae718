"""Batches: every pair once, within the budget, in an order that seed and epoch decide."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nmt.data.batch import make_batch
from nmt.data.batching import BLOCK_PAIRS, BatchOrder, Mix
from nmt.data.encoded import Numbers
from nmt.data.tokenizer import BOS, EOS, PAD

sides = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


@given(sides, st.integers(1, 300), st.integers(0, 5), st.sampled_from([1, 30, 100, 1000]))
@settings(max_examples=60, deadline=None)
def test_an_epoch_holds_every_pair_once_within_the_budget(
    lengths: list[tuple[int, int]], budget: int, epoch: int, pool: int
) -> None:
    src, tgt = (np.array(side, dtype=np.int32) for side in zip(*lengths, strict=True))
    batches = list(BatchOrder(src, tgt, budget, seed=1).epoch(epoch, pool))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for rows in batches:
        widest = max(src[rows].max(), tgt[rows].max())
        assert len(rows) * widest <= budget or len(rows) == 1


@pytest.mark.parametrize("pool", [150, 1000])
def test_order_depends_on_seed_and_epoch_alone(pool: int) -> None:
    random = np.random.default_rng(0)
    src, tgt = (random.integers(1, 30, 500).astype(np.int32) for _ in range(2))

    def order(seed: int, epoch: int) -> list[int]:
        fresh = BatchOrder(src, tgt, 200, seed)
        return np.concatenate(list(fresh.epoch(epoch, pool))).tolist()  # type: ignore[no-any-return]

    assert order(1, 3) == order(1, 3)
    assert order(1, 3) != order(1, 4)
    assert order(1, 3) != order(2, 3)


def test_pools_bound_what_is_looked_at_together_and_mix_far_pairs() -> None:
    count, pool = 20_000, 1_000
    asked: list[int] = []

    class Lengths:
        def __len__(self) -> int:
            return count

        def __getitem__(self, rows: Numbers) -> NDArray[np.int32]:
            asked.append(len(rows))
            return (rows % 7 + 1).astype(np.int32)

    batches = list(BatchOrder(Lengths(), Lengths(), 50, seed=1).epoch(0, pool))
    assert max(asked) <= pool + BLOCK_PAIRS
    rows = np.concatenate(batches)
    assert sorted(rows.tolist()) == list(range(count))
    first = rows[:pool]  # as from the whole corpus: a sample's mean is off by 3 standard errors at most
    assert abs(first.mean() - count / 2) < 3 * count / 12**0.5 / (pool / BLOCK_PAIRS) ** 0.5


def test_similar_lengths_waste_little() -> None:
    random = np.random.default_rng(0)
    tgt = random.integers(3, 40, 5000).astype(np.int32)
    src = np.maximum(1, tgt + random.integers(-3, 4, 5000)).astype(np.int32)
    batches = list(BatchOrder(src, tgt, 4096, seed=1).epoch(0))
    real = sum(int(tgt[rows].sum()) for rows in batches)
    padded = sum(len(rows) * int(tgt[rows].max()) for rows in batches)
    assert real / padded > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_holds_its_sentences_and_padding(seed: int) -> None:
    random = np.random.default_rng(seed)
    src, tgt = ([random.integers(4, 50, random.integers(0, 9)).tolist() for _ in range(6)] for _ in range(2))
    batch = make_batch(src, tgt)
    for row, (s, t) in enumerate(zip(src, tgt, strict=True)):
        assert batch.src[row][batch.src_mask[row]].tolist() == [*s, EOS]
        assert batch.tgt_in[row][batch.tgt_mask[row]].tolist() == [BOS, *t]
        assert batch.tgt_out[row][batch.tgt_mask[row]].tolist() == [*t, EOS]
    assert (batch.src[~batch.src_mask] == PAD).all()
    assert (batch.tgt_out[~batch.tgt_mask] == PAD).all()
    assert batch.src.dtype == torch.int64


parts = st.lists(st.tuples(st.integers(1, 40), st.floats(0.1, 50)), min_size=1, max_size=4)


@given(parts, st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_a_mix_has_the_shares_of_its_weights_and_leaves_no_pair_behind(
    given: list[tuple[int, float]], seed: int
) -> None:
    sizes, weights = (list(side) for side in zip(*given, strict=True))
    mix = Mix(sizes, weights)
    assert any(count == size for count, size in zip(mix.counts, sizes, strict=True))  # as long as it can be
    for count, size, weight in zip(mix.counts, sizes, weights, strict=True):
        assert 1 <= count <= size
        assert abs(count / weight - min(s / w for s, w in given)) <= 1 / weight
    epochs = [mix.rows(number, seed).tolist() for number in range(5)]
    assert [mix.rows(number, seed).tolist() for number in (3, 1)] == [epochs[3], epochs[1]]
    first = 0
    for count, size in zip(mix.counts, sizes, strict=True):
        rows = [[row - first for row in epoch if first <= row < first + size] for epoch in epochs]
        assert [len(each) for each in rows] == [count] * len(epochs)
        seen = Counter(row for each in rows for row in each)
        times = [seen[row] for row in range(size)]
        assert max(times) - min(times) <= 1  # every pair once before any occurs again
        first += size


def test_other_seeds_and_epochs_mix_other_pairs() -> None:
    mix = Mix([1000, 10], [1, 1])
    drawn = {tuple(mix.rows(epoch, seed).tolist()) for epoch in range(3) for seed in range(3)}
    assert len(drawn) == 9
    assert str(mix) == "each epoch has 10 of 1,000, 10 of 10 pairs of the parts with weights 1, 1"


@pytest.mark.parametrize("pool", [70, 1000])
def test_an_epoch_of_a_mix_holds_its_rows_once_within_the_budget(pool: int) -> None:
    random = np.random.default_rng(0)
    src, tgt = (random.integers(1, 30, 500).astype(np.int32) for _ in range(2))
    mix = Mix([100, 400], [1, 2])
    batches = list(BatchOrder(src, tgt, 200, 1, mix).epoch(2, pool))
    assert sorted(np.concatenate(batches).tolist()) == mix.rows(2, 1).tolist()
    assert all(len(rows) * max(src[rows].max(), tgt[rows].max()) <= 200 for rows in batches)


def test_epochs_of_a_mix_share_the_order_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    mix, made = Mix([10_000, 10], [1.0, 1.0]), []
    default_rng = np.random.default_rng
    expected = [Mix([10_000, 10], [1.0, 1.0]).rows(epoch, 3) for epoch in range(30)]
    monkeypatch.setattr(np.random, "default_rng", lambda seed: made.append(seed) or default_rng(seed))
    for epoch, rows in enumerate(expected):
        np.testing.assert_array_equal(mix.rows(epoch, 3), rows)
    assert made.count([3, 0, 0]) == 1
    np.testing.assert_array_equal(mix.rows(0, 4), Mix([10_000, 10], [1.0, 1.0]).rows(0, 4))
