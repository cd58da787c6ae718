"""Sentences that wait for a search, in the order in which they are due, and bounded in source pieces."""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

from nmt.config.sections import SearchConfig
from nmt.search.beam import batch_size
from nmt.search.prefix import Prefix
from nmt.serve.ticket import Ticket
from nmt.translation.translator import Translator

ALIKE = 1.5  # sentences of one batch have at most so many times the pieces of the most urgent one,
ROOM = 8  # and so many more
SMALL = 8  # sentences that are never shared
SHARE = 2 / 3  # of what waits that a worker takes while others are busy


@dataclass(frozen=True)
class Recipe:
    """How sentences are translated that can share a batch."""

    translator: Translator
    settings: SearchConfig
    attention: bool


@dataclass(eq=False)
class Job:
    """A sentence to translate, or another piece of work that a worker does alone."""

    ticket: Ticket
    future: "Future[Any]"
    loop: AbstractEventLoop
    pieces: int  # of the source: what the work is measured by
    recipe: Recipe | None = None  # None: `call` is the work
    ids: list[int] = field(default_factory=list)
    prefix: Prefix | None = None
    call: Callable[[], Any] | None = None
    due: int = 0  # set when it is queued

    def goes_with(self, other: "Job") -> bool:
        """May both be in one batch? A prefix changes how all of a batch are searched: without the shortlist."""
        return self.recipe == other.recipe and (self.prefix is None) == (other.prefix is None)


class Full(Exception):  # noqa: N818 (what happened, and no fault)
    """The queue has no room; `pieces` wait in it."""

    def __init__(self, pieces: int) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class Jobs:
    """What waits. A request of many sentences does not hold up one that comes later and is short.

    A job is due when as many pieces have been served as had been when its request came, and besides as many as its
    request has before it. What comes later is due later, so that every job is the most urgent one at last.
    """

    def __init__(self, most_pieces: int, workers: int = 1) -> None:
        self.most_pieces = most_pieces
        self.workers = workers
        self.pieces = 0  # that wait
        self.served = 0  # pieces, ever
        self.waiting: list[Job] = []
        self.idle = 0  # workers
        self.closed = False
        self.changed = Condition()

    def put(self, jobs: list[Job]) -> None:
        """Queues the jobs of one request, all or none; raises Full."""
        with self.changed:
            pieces = sum(job.pieces for job in jobs)
            if self.pieces + pieces > self.most_pieces:
                self._drop_gone()
            if self.pieces + pieces > self.most_pieces and self.waiting:
                raise Full(self.pieces)
            due = self.served
            for job in jobs:
                job.due = due
                due += job.pieces
            self.waiting += jobs
            self.pieces += pieces
            self.changed.notify(len(jobs))

    def take(self) -> list[Job]:
        """Waits for work. Returns the most urgent job and those that fit its batch, or an empty list at the end."""
        with self.changed:
            self.idle += 1
            while True:
                self._drop_gone()
                if self.waiting:
                    break
                if self.closed:
                    self.idle -= 1
                    return []
                self.changed.wait()
            taken = self._batch()
            chosen = set(map(id, taken))
            self.waiting = [job for job in self.waiting if id(job) not in chosen]
            pieces = sum(job.pieces for job in taken)
            self.pieces -= pieces
            self.served += pieces
            self.idle -= 1
            return taken

    def close(self) -> None:
        """No job comes any more: workers end when none is left."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _batch(self) -> list[Job]:
        first = min(self.waiting, key=lambda job: job.due)
        if first.recipe is None:
            return [first]
        low, high = first.pieces / ALIKE - ROOM, first.pieces * ALIKE + ROOM
        alike = [job for job in self.waiting if job.goes_with(first) and low <= job.pieces <= high]
        alike.sort(key=lambda job: job.due)
        return alike[: min(self._share(len(alike)), batch_size(first.recipe.settings))]

    def _share(self, alike: int) -> int:
        """How many of those alike a worker takes.

        It leaves some to the others. If it took all, clients that are answered together would come back together, and
        one worker would search nearly all sentences at once while the others search a few.
        """
        if self.idle > 1:
            return -(-alike // self.idle)
        return alike if self.workers == 1 else max(SMALL, round(SHARE * alike))

    def _drop_gone(self) -> None:
        waiting: list[Job] = []
        gone: list[Job] = []
        for job in self.waiting:
            (gone if job.ticket.gone else waiting).append(job)
        if gone:
            self.waiting = waiting
            self.pieces = sum(job.pieces for job in waiting)
            for job in gone:
                answer(job.loop, [(job, None)])


def answer(loop: AbstractEventLoop, found: "list[tuple[Job, Any]]") -> None:
    """Gives each job its result (None: nobody waits, an exception: that), in the event loop it came from."""

    def give() -> None:
        for job, result in found:
            if job.future.done():
                continue
            if result is None:
                job.future.cancel()
            elif isinstance(result, BaseException):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)

    try:
        loop.call_soon_threadsafe(give)
    except RuntimeError:  # the loop is closed: nobody waits
        return
