"""The queue of sentences that wait for a search: ordered by when they are due, bounded in source pieces."""

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

ALIKE = 1.5  # a batch takes sentences of size n / ALIKE - ROOM to n * ALIKE + ROOM,
ROOM = 8  # where n is the size of the most urgent one
SMALL = 8  # a worker takes at least so many matching sentences (or all) while the others are busy,
SHARE = 2 / 3  # or this share of them, if it is more
ANSWERS_A_TURN = 4


@dataclass(frozen=True)
class Recipe:
    """How to translate a sentence. Sentences with the same recipe can share a batch."""

    translator: Translator
    settings: SearchConfig
    attention: bool


@dataclass(eq=False)
class Job:
    """A sentence to translate, or another piece of work that a worker does alone."""

    ticket: Ticket
    future: "Future[Any]"
    loop: AbstractEventLoop
    pieces: int  # of the source, as the measure of the work
    recipe: Recipe | None = None  # None: `call` is the work
    ids: list[int] = field(default_factory=list)
    prefix: Prefix | None = None
    call: Callable[[], Any] | None = None
    due: int = 0  # a time in served pieces, set when the job is queued

    @property
    def size(self) -> int:
        """How long its search is, about: the pieces of the source and the bytes of the prefix."""
        return self.pieces + (0 if self.prefix is None else len(self.prefix))

    def goes_with(self, other: "Job") -> bool:
        """Can both be in one batch? Not if only one has a prefix: it turns off the shortlist for the whole batch."""
        return self.recipe == other.recipe and (self.prefix is None) == (other.prefix is None)


class Full(Exception):  # noqa: N818 (what happened, and no fault)
    """The queue has no room; `pieces` wait in it."""

    def __init__(self, pieces: int) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class Jobs:
    """The jobs that wait. A long request does not hold up a short one that comes later.

    Time is counted in served pieces. A job is due at the time when its request came plus the pieces of the jobs before
    it in the same request. Later requests are due later, so every job becomes the most urgent one in the end.
    """

    def __init__(self, most_pieces: int, workers: int = 1) -> None:
        self.most_pieces = most_pieces
        self.workers = workers
        self.pieces = 0  # of all waiting jobs
        self.served = 0  # pieces that workers have ever taken
        self.waiting: list[Job] = []
        self.idle = 0  # workers that wait in `take`
        self.closed = False
        self.changed = Condition()

    def put(self, jobs: list[Job]) -> None:
        """Queues all jobs of a request. Raises Full, and queues none, if there is no room."""
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
        """Waits for work. Returns the most urgent job and the jobs that fit its batch, or an empty list at the end."""
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
        """Announces that no more jobs will come. Workers end when no job is left."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _batch(self) -> list[Job]:
        first = min(self.waiting, key=lambda job: job.due)
        if first.recipe is None:
            return [first]
        low, high = first.size / ALIKE - ROOM, first.size * ALIKE + ROOM
        alike = [job for job in self.waiting if job.goes_with(first) and low <= job.size <= high]
        alike.sort(key=lambda job: job.due)
        return alike[: min(self._share(len(alike)), batch_size(first.recipe.settings))]

    def _share(self, alike: int) -> int:
        """How many of the matching jobs a worker takes.

        It leaves some to the other workers. If it took all, the clients of these jobs would be answered together
        and come back together. One worker would then search nearly all sentences while the others search a few.
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
    """Sets the results of the jobs' futures, in their event loop. None cancels a future; an exception fails it.

    A few are set in each turn of the loop, so that the answers to a large batch do not hold up other requests.
    """

    def give(first: int) -> None:
        for job, result in found[first : first + ANSWERS_A_TURN]:
            if job.future.done():
                continue
            if result is None:
                job.future.cancel()
            elif isinstance(result, BaseException):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)
        if first + ANSWERS_A_TURN < len(found):
            loop.call_soon(give, first + ANSWERS_A_TURN)

    try:
        loop.call_soon_threadsafe(give, 0)
    except RuntimeError:  # the loop is closed: nobody waits
        return
