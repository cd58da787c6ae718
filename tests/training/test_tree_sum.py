"""Sums of parts have one order of addition; neither the thread nor the moment changes a bit."""

import random

import pytest
import torch

from nmt.machine.threads import Workers
from nmt.training.tree_sum import TreeSum


def reference(values: list[torch.Tensor]) -> torch.Tensor:
    """Neighbours in pairs, level by level."""
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


def values_of(parts: int) -> list[torch.Tensor]:
    """Numbers of many sizes, whose float32 sum depends on the order."""
    generator = torch.Generator().manual_seed(parts)
    return [
        torch.randn(50, generator=generator) * 10.0 ** torch.randint(-3, 4, (50,), generator=generator)
        for _ in range(parts)
    ]


def total(tree: TreeSum[torch.Tensor]) -> torch.Tensor:
    """The sum of the one or two values that are left."""
    first, *second = tree.left().values()
    assert len(second) < 2
    return first + second[0] if second else first


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5, 6, 7, 8, 13, 16])
def test_the_order_in_which_parts_are_ready_changes_no_bit(parts: int) -> None:
    values = values_of(parts)
    expected = reference(values)
    chance = random.Random(parts)
    for _ in range(20):
        tree = TreeSum(parts, torch.Tensor.add_)
        for part in chance.sample(range(parts), parts):
            tree.put(values[part].clone(), part)
        assert torch.equal(total(tree), expected)
    if parts > 4:
        assert not torch.equal(sum(values[1:], values[0]), expected)  # the order does matter to these numbers


def test_few_values_are_alive_at_a_time() -> None:
    tree: TreeSum[int] = TreeSum(1024, int.__add__)
    most = 0
    for part in range(1024):
        tree.put(part, part)
        most = max(most, len(tree.waiting))
    assert sorted(tree.left().values()) == [sum(range(512)), sum(range(512, 1024))]
    assert most == 10


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_number_of_workers_changes_no_bit(parts: int, count: int) -> None:
    values = values_of(parts)
    for _ in range(20):
        tree = TreeSum(parts, torch.Tensor.add_)
        Workers(count).each(lambda part, tree=tree: tree.put(values[part].clone(), part), range(parts))
        assert torch.equal(total(tree), reference(values))
