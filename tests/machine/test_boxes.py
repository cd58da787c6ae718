"""Tensors by shared memory: they arrive as they were put, whatever their sizes, and beside those by the network."""

import os
from collections.abc import Sequence

import pytest
import torch
from helpers.forked import Forked
from helpers.processes import free_port

from nmt.machine import boxes, peers
from nmt.machine.boxes import Boxes, machine_name

linux = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a file")


def chunk(of: int, to: int, turn: int) -> torch.Tensor:
    """What a process sends another: sizes differ, and some are empty."""
    generator = torch.Generator().manual_seed(100 * of + 10 * to + turn)
    return torch.rand((of + 2 * to + turn) % 5 * 1000, generator=generator)


def swaps(name: str) -> None:
    """One of three processes that swap tensors, on a machine of this name; prints how many went by memory."""
    rank = int(os.environ["RANK"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "machine_name", lambda: name or None)
        with peers.joined(30, "cpu") as here:
            for turn in range(8):
                wanted = [chunk(of, rank, turn) for of in range(3)]
                received = here.dealt([chunk(rank, to, turn) for to in range(3)], [len(each) for each in wanted])
                assert all(torch.equal(*each) for each in zip(received, wanted, strict=True)), turn
                mine = [torch.rand(7 * turn + 1, generator=torch.Generator().manual_seed(of)) for of in range(3)]
                assert torch.equal(here.joined_up(mine[rank]), torch.cat(mine)), turn
            used = sum(here._boxes.puts.values())
    print(used)


def swapped(names: Sequence[str]) -> list[str]:
    """What each of the processes says."""
    place = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    processes = [Forked(swaps, name, env=os.environ | place | {"RANK": str(rank)}) for rank, name in enumerate(names)]
    said = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    return [out.strip() for out, _ in said]


@linux
@pytest.mark.parametrize(
    ("names", "put"),
    [
        (["a", "b", "a"], [16, 0, 16]),
        (["a", "a", "a"], [32, 32, 32]),
        (["a", "b", "c"], [0, 0, 0]),
        (["", "", ""], [0] * 3),
    ],
)
def test_tensors_arrive_by_memory_by_the_network_and_by_both(names: list[str], put: list[int]) -> None:
    assert swapped(names) == [str(each) for each in put]


@linux
def test_boxes_are_used_in_turn_and_grow() -> None:
    first, second = Boxes([1]), Boxes([0])
    assert first.connect({1: (os.getpid(), second.made[0])})
    assert second.connect({0: (os.getpid(), first.made[1])})
    for length in (3, 0, 1000, 5, 70_000):
        mine, others = torch.rand(length), torch.rand(length, dtype=torch.float64)
        first.put(1, mine)
        second.put(0, others)
        taken, taken_others = torch.empty(length), torch.empty(length, dtype=torch.float64)
        second.take(0, taken)
        first.take(1, taken_others)
        assert torch.equal(taken, mine)
        assert torch.equal(taken_others, others)
    first.put(1, torch.ones(2))
    first.put(1, torch.zeros(2))  # the other one of two
    second.take(0, taken := torch.empty(2))
    assert taken.tolist() == [1, 1]
    first.close()
    second.close()


@linux
def test_boxes_that_cannot_be_opened_are_said() -> None:
    boxes = Boxes([1])
    assert not boxes.connect({1: (os.getpid(), [10**6, 10**6 + 1])})
    boxes.close()


@linux
def test_closed_boxes_leave_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    made = Boxes([1, 2])
    made.put(1, torch.rand(10))
    made.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_system_without_such_memory_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert machine_name() is None


@linux
def test_a_machine_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_name() == machine_name() is not None
    monkeypatch.setattr(boxes.Path, "read_text", lambda *_: (_ for _ in ()).throw(PermissionError))
    assert machine_name() is None
