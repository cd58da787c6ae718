"""The processes that train together, on one machine or several, started by torchrun.

They exchange numbers and JSON, never pickles: nothing that a peer sends is executed.
"""

import contextlib
import json
import math
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]  # torch does not list them

from nmt.errors import ConfigError, PeerError, counted
from nmt.machine.boxes import Boxes, machine_name
from nmt.machine.heartbeats import Listener, beating, noting_failure
from nmt.machine.launch import number, processes
from nmt.machine.signals import unwinding
from nmt.machine.timed_store import TimedStore

ASKED_EACH_S = 0.02  # seconds between two looks for what others leave: waiting in the store would not hear Ctrl-C
ANSWER_S = 3.0  # seconds to report after a failure; a process that does not has failed


class Peers:
    """Connects this process with the others that train the same run. `ALONE` has no others."""

    def __init__(
        self, rank: int = 0, count: int = 1, store: dist.Store | None = None, timeout_s: float = math.inf
    ) -> None:
        self.rank = rank
        self.count = count
        self.first = rank == 0  # does this process write files and talk to the user?
        self._store = None if store is None else TimedStore(store, timeout_s)
        self._quick_store = None if store is None else TimedStore(store, ANSWER_S)
        self._timeout_s = timeout_s  # a process that is silent for longer hangs
        self._boxes = Boxes([])  # to and from the processes of the same machine, once they are connected
        self._boxes_anywhere = False  # has any of the processes boxes?
        self._turns = 0  # calls of `first_of_machine_before_others` so far

    def block(self, parts: int) -> range:
        """Numbers of the parts that this process computes, out of `parts`."""
        return self.block_of(self.rank, parts)

    def block_of(self, rank: int, parts: int) -> range:
        """Numbers of the parts that process `rank` computes, out of `parts`."""
        return range(parts * rank // self.count, parts * (rank + 1) // self.count)

    def total(self, *numbers: int) -> list[int]:
        """The sum of each number over all processes."""
        if self.count == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.int64)
        with self._meeting():
            dist.all_reduce(sums)
        return [int(each) for each in sums]

    def meet(self) -> None:
        """Waits until all processes are here."""
        self.total(1)  # gloo does not wait where there is nothing to add

    def gathered(self, value: Any) -> list[Any]:
        """The values of all processes, by rank. Each is plain data for JSON."""
        if self.count == 1:
            return [value]
        mine = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        with self._meeting():
            sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
            dist.all_gather(sizes, torch.tensor([len(mine)]))
            padded = torch.zeros(max(int(size) for size in sizes), dtype=torch.uint8)
            padded[: len(mine)] = mine
            texts = [torch.empty_like(padded) for _ in range(self.count)]
            dist.all_gather(texts, padded)
        return [json.loads(text[: int(size)].numpy().tobytes()) for text, size in zip(texts, sizes, strict=True)]

    def dealt(self, chunks: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
        """Sends chunk r to process r, and returns a chunk of `sizes[r]` elements from each r. Keeps its own chunk."""
        received = [chunks[0].new_empty(0 if rank == self.rank else size) for rank, size in enumerate(sizes)]
        self._swap(chunks, received)
        received[self.rank] = chunks[self.rank]
        return received

    def joined_up(self, chunk: Tensor) -> Tensor:
        """The chunks of all processes, which have equal lengths, joined in order of rank."""
        whole = chunk.new_empty(len(chunk) * self.count)
        stretches = torch.split(whole, len(chunk))
        stretches[self.rank].copy_(chunk)
        self._swap([chunk] * self.count, stretches)
        return whole

    def connect_neighbours(self) -> None:
        """From now on, processes of one machine exchange tensors through shared memory, if the system permits it."""
        names = self.gathered(machine_name())
        name = names[self.rank]
        boxes = Boxes([rank for rank in range(self.count) if rank != self.rank and name and names[rank] == name])
        offers = self.gathered([os.getpid(), [boxes.made.get(rank, []) for rank in range(self.count)]])
        found = boxes.connect({rank: (offers[rank][0], offers[rank][1][self.rank]) for rank in boxes.made})
        if all(self.gathered(found)):
            self._boxes = boxes
            self._boxes_anywhere = any(self.gathered(bool(boxes.made)))
        else:
            boxes.close()

    def disconnect_neighbours(self) -> None:
        """Frees the shared memory."""
        self._boxes.close()

    def _swap(self, sent: Sequence[Tensor], received: Sequence[Tensor]) -> None:
        """Sends `sent[r]` to every other process r, and receives a tensor from r into `received[r]`.

        Gloo tells a sender that the receiver has room over the connection that carries data the other way. So all
        receives are posted before all sends: otherwise, one direction waits for the other to end, which takes twice
        the time.
        """
        by_memory = self._boxes_anywhere and sent[0].device.type == "cpu"
        near = self._boxes.made if by_memory else ()
        far = [rank for rank in range(self.count) if rank != self.rank and rank not in near]
        for rank in near:
            self._boxes.put(rank, sent[rank])
        operations = [dist.P2POp(dist.irecv, received[rank], rank) for rank in far if len(received[rank])]
        operations += [dist.P2POp(dist.isend, sent[rank], rank) for rank in far if len(sent[rank])]
        with self._meeting():
            for work in dist.batch_isend_irecv(operations) if operations else ():
                work.wait()
        if by_memory:
            self.meet()
        for rank in near:
            self._boxes.take(rank, received[rank])

    @contextmanager
    def first_of_machine_before_others(self) -> Iterator[None]:
        """Runs the block in the first process of each machine, then in the machine's other processes.

        All processes leave it together. Each is waited for however long it takes, unless it hangs.
        """
        if self.count == 1:
            yield
            return
        assert self._store is not None
        self._turns += 1
        place = number("LOCAL_RANK", 0, least=0)  # torchrun numbers the processes of a machine one after another
        with beating(self._store, self.rank):
            if place:
                self._wait_for([self.rank - place])
            yield
            with self._meeting():
                self._store.set(self._through(self.rank))
            self._wait_for([rank for rank in range(self.count) if rank != self.rank])

    def _through(self, rank: int) -> str:
        return f"process {rank} is through turn {self._turns}"

    def _wait_for(self, ranks: Sequence[int]) -> None:
        """Until all of these processes are through this turn. Waiting in the store would not hear Ctrl-C."""
        assert self._store is not None
        store, listener = self._store, Listener(self._store, self._timeout_s)
        with self._meeting():
            while not store.has([self._through(rank) for rank in ranks]):
                # who is through does not beat any more
                if silent := [rank for rank in listener.silent(ranks) if not store.has([self._through(rank)])]:
                    time.sleep(ANSWER_S)  # one that failed may say why
                    raise self._gone(self._named(silent))
                time.sleep(ASKED_EACH_S)

    @contextmanager
    def _meeting(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # a connection failed
            self._lost(error)

    def _lost(self, error: RuntimeError) -> NoReturn:
        """Raises an error that names the lost processes. Every waiting process, like this one, leaves a note."""
        who = "the first process"
        with contextlib.suppress(RuntimeError):
            assert self._quick_store is not None
            self._quick_store.set(f"waits {self.rank}")
            time.sleep(ANSWER_S)
            missing = [rank for rank in range(self.count) if not self._quick_store.has([f"waits {rank}"])]
            who = self._named(missing) or "another process"
        raise self._gone(who) from error

    def _named(self, ranks: Sequence[int]) -> str:
        assert self._quick_store is not None
        return " and ".join(f"process {rank} on {self._quick_store.get(f'host {rank}')}" for rank in ranks)

    def _gone(self, who: str) -> PeerError:
        return PeerError(
            f"{who} of {self.count} has gone or does not answer; read its own messages, and go on from the last "
            "checkpoint: nmt train resume=RUN"
        )


class SilentError(RuntimeError):
    """Processes that have not joined in time; the message names them."""


ALONE = Peers()
_stores: list[tuple[dist.Store, dist.Store]] = []  # for the whole job, and for this attempt at it; once known


def several() -> bool:
    """Was this process started as one of several?"""
    return processes() > 1 or "TORCHELASTIC_RUN_ID" in os.environ


@contextmanager
def joined(timeout_s: int, device: str) -> Iterator[Peers]:
    """Joins the processes that torchrun started, if it did; inside the block, only the first one prints.

    A process that waits longer than `timeout_s` for another gives up. If the `device` may be a GPU, each takes one.
    """
    if not several():
        yield ALONE
        return
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ConfigError(
                f"WORLD_SIZE={os.environ.get('WORLD_SIZE')}, but {name} is not set; start processes with torchrun"
            )
    rank, count = number("RANK", 0, least=0), processes()
    take_gpu(device)
    try:
        limit = timedelta(seconds=timeout_s)
        _, store = _known_stores(limit)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=limit)
    except RuntimeError as error:
        others = str(error) if isinstance(error, SilentError) else "the others"
        raise PeerError(
            f"process {rank} of {count} does not reach {others} at {os.environ['MASTER_ADDR']}:"
            f"{os.environ['MASTER_PORT']}; check that all were started and that no firewall separates them "
            "(GLOO_SOCKET_IFNAME names the network interface)"
        ) from None
    store.set(f"host {rank}", socket.gethostname())
    try:
        with contextlib.ExitStack() as silence, unwinding(), noting_failure(TimedStore(store, ANSWER_S), rank):
            if rank:
                nowhere = silence.enter_context(Path(os.devnull).open("w"))
                silence.enter_context(contextlib.redirect_stdout(nowhere))
                silence.enter_context(contextlib.redirect_stderr(nowhere))
            peers = Peers(rank, count, store, timeout_s)
            peers.connect_neighbours()
            try:
                yield peers
            finally:
                peers.disconnect_neighbours()
    finally:
        dist.destroy_process_group()


def take_gpu(device: str) -> None:
    """Gives this process the GPU of its number on this machine; refuses more processes than GPUs."""
    if device == "cpu" or not torch.cuda.is_available():
        return
    number, there = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
    if number >= there:
        raise ConfigError(
            f"LOCAL_RANK={number}, but this machine has {counted(there, 'GPU')}; start one process for each, or set "
            "train.device=cpu"
        )
    torch.cuda.set_device(number)


def begun_before(run: Path) -> bool:
    """Did an earlier attempt of this job begin this run? torchrun starts a job again after a failure."""
    if not several() or not (run / "manifest.json").exists():
        return False
    job, _ = _known_stores()
    return bool(job.check([f"begun {run.absolute()}"]))


def note_begun(run: Path) -> None:
    """Notes that a later attempt of this job must resume this run."""
    if several():
        job, _ = _known_stores()
        job.set(f"begun {run.absolute()}", "")


def is_first_to_say(error: Exception) -> bool:
    """Should this process show the error to the user?

    If several processes have the same error, only the first of them shows it. A process that lost another process
    shows this only if no error has been shown yet.
    """
    try:
        store = TimedStore(_known_stores()[1], ANSWER_S)
        if isinstance(error, PeerError) and store.has(["said"]):
            return False
        store.set("said")
        return store.add(f"said {error}", 1) == 1
    except (RuntimeError, KeyError, ConfigError):  # the store cannot be reached
        return True


def _known_stores(limit: timedelta = timedelta(seconds=ANSWER_S)) -> tuple[dist.Store, dist.Store]:
    """The store that all processes of this job share, and the store of this attempt at it."""
    if not _stores:
        rank = number("RANK", 0, least=0)
        hosting = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and rank == 0
        address, port = os.environ["MASTER_ADDR"], number("MASTER_PORT", 0)
        job = TCPStore(address, port, is_master=hosting, wait_for_workers=False, timeout=limit)
        attempt = _attempt(job, rank, processes(), limit)
        _stores.append((job, PrefixStore(f"nmt attempt {attempt}", job)))
    return _stores[0]


def _attempt(job: dist.Store, rank: int, count: int, limit: timedelta) -> str:
    """A word that all processes of this attempt share, and those of no earlier attempt.

    Torchrun counts its restarts on each machine alone, so its counts may differ. Here every process leaves a new word.
    The first one answers each of them with the word of the attempt, until all have taken it. What killed processes have
    left is answered, too, but nobody takes that.
    """
    own, end = uuid4().hex, time.monotonic() + limit.total_seconds()
    if rank:
        job.set(f"process {rank}", own)
        while not job.check([f"answer to {own}"]):
            if time.monotonic() > end:
                raise SilentError("process 0")
            time.sleep(ASKED_EACH_S)
        attempt: str = job.get(f"answer to {own}").decode()
        job.set(f"{attempt} taken by {rank}", "")
        return attempt
    others = set(range(1, count))
    while others := {other for other in others if not job.check([f"{own} taken by {other}"])}:
        if time.monotonic() > end:
            raise SilentError(" and ".join(f"process {other}" for other in sorted(others)))
        for other in others:
            if job.check([f"process {other}"]):
                job.set(f"answer to {job.get(f'process {other}').decode()}", own)
        time.sleep(ASKED_EACH_S)
    return own
