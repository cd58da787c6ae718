"""Tensors from process to process of one machine, by memory that they share."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

IN_TURN = 2  # boxes from one process to another


def machine_name() -> str | None:
    """The same of all processes that can share memory and see one network; None where there is no such memory."""
    if not hasattr(os, "memfd_create"):  # not Linux
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return " ".join([boot, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "net"))])
    except OSError:  # no such files here
        return None


class Boxes:
    """Two boxes from this process to each of `neighbours`, which are used in turn, and two from each of them.

    All processes meet after they have put something and before they take it. So nobody fills a box that its reader has
    not emptied: they have met once more since. The memory belongs to no file: it goes with the processes.
    """

    def __init__(self, neighbours: Sequence[int]) -> None:
        self.made = {rank: [os.memfd_create("nmt") for _ in range(IN_TURN)] for rank in neighbours}
        self.opened: dict[int, list[int]] = {}  # boxes that the neighbours made for this process
        self.puts, self.takes = (dict.fromkeys(neighbours, 0) for _ in range(2))
        self.mapped: dict[int, Tensor] = {}

    def connect(self, of_neighbours: Mapping[int, tuple[int, Sequence[int]]]) -> bool:
        """Opens what the neighbours made for this process (its number, their descriptors); False if it may not."""
        try:
            for rank, (process, made) in of_neighbours.items():
                self.opened[rank] = []
                for each in made:
                    self.opened[rank].append(os.open(f"/proc/{process}/fd/{each}", os.O_RDWR))
        except OSError:
            return False
        return True

    def put(self, rank: int, tensor: Tensor) -> None:
        """For that neighbour."""
        descriptor = self.made[rank][self.puts[rank] % IN_TURN]
        self.puts[rank] += 1
        self._box(descriptor, tensor).copy_(tensor)

    def take(self, rank: int, tensor: Tensor) -> None:
        """Fills it with what that neighbour put, which is as long."""
        descriptor = self.opened[rank][self.takes[rank] % IN_TURN]
        self.takes[rank] += 1
        tensor.copy_(self._box(descriptor, tensor))

    def close(self) -> None:
        """Gives the memory back, once the neighbours do so as well."""
        self.mapped.clear()
        for descriptors in (*self.made.values(), *self.opened.values()):
            for each in descriptors:
                os.close(each)
        self.made.clear()
        self.opened.clear()

    def _box(self, descriptor: int, like: Tensor) -> Tensor:
        """That memory as a tensor, which grows where it has to: by as much on either side."""
        if descriptor not in self.mapped or self.mapped[descriptor].nbytes < like.nbytes:
            path = f"/proc/self/fd/{descriptor}"
            self.mapped[descriptor] = torch.from_file(path, shared=True, size=like.nbytes, dtype=torch.uint8)
        return self.mapped[descriptor][: like.nbytes].view(like.dtype)
