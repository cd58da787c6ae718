"""Exchange of tensors between processes of one machine, through shared memory."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

IN_TURN = 2  # boxes from one process to another, used in turn


def machine_name() -> str | None:
    """A name that processes have in common if they can share memory and see the same network; None: they cannot."""
    if not hasattr(os, "memfd_create"):  # not Linux
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return " ".join([boot, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "net"))])
    except OSError:  # no such files here
        return None


class Boxes:
    """Two boxes from this process to each of `neighbours`, used in turn, and two from each neighbour to this process.

    All processes meet after they have put tensors and before they take them. Before a process uses a box again, it has
    met the others once more, so the reader has emptied the box. The memory belongs to no file: it is freed with the
    processes.
    """

    def __init__(self, neighbours: Sequence[int]) -> None:
        self.made = {rank: [os.memfd_create("nmt") for _ in range(IN_TURN)] for rank in neighbours}
        self.opened: dict[int, list[int]] = {}  # boxes that the neighbours made for this process
        self.puts, self.takes = (dict.fromkeys(neighbours, 0) for _ in range(2))
        self.mapped: dict[int, Tensor] = {}

    def connect(self, of_neighbours: Mapping[int, tuple[int, Sequence[int]]]) -> bool:
        """Opens boxes from the neighbours: rank -> process id and descriptors. False if the system forbids it."""
        try:
            for rank, (process, made) in of_neighbours.items():
                self.opened[rank] = []
                for each in made:
                    self.opened[rank].append(os.open(f"/proc/{process}/fd/{each}", os.O_RDWR))
        except OSError:
            return False
        return True

    def put(self, rank: int, tensor: Tensor) -> None:
        """Puts a tensor into the next box to this neighbour."""
        descriptor = self.made[rank][self.puts[rank] % IN_TURN]
        self.puts[rank] += 1
        self._box(descriptor, tensor).copy_(tensor)

    def take(self, rank: int, tensor: Tensor) -> None:
        """Fills the tensor from this neighbour's next box, which must hold one of the same length."""
        descriptor = self.opened[rank][self.takes[rank] % IN_TURN]
        self.takes[rank] += 1
        tensor.copy_(self._box(descriptor, tensor))

    def close(self) -> None:
        """Closes the boxes. Their memory is freed once the neighbours have closed them as well."""
        self.mapped.clear()
        for descriptors in (*self.made.values(), *self.opened.values()):
            for each in descriptors:
                os.close(each)
        self.made.clear()
        self.opened.clear()

    def _box(self, descriptor: int, like: Tensor) -> Tensor:
        """A box's memory as a tensor of the type and length of `like`. Both sides let it grow to the same size."""
        if descriptor not in self.mapped or self.mapped[descriptor].nbytes < like.nbytes:
            path = f"/proc/self/fd/{descriptor}"
            self.mapped[descriptor] = torch.from_file(path, shared=True, size=like.nbytes, dtype=torch.uint8)
        return self.mapped[descriptor][: like.nbytes].view(like.dtype)
