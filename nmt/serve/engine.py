"""Workers that translate waiting sentences in batches, and never wait for a batch to fill."""

import asyncio
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

import torch

from nmt.errors import NmtError
from nmt.machine.allocator import lacks_memory
from nmt.search.prefix import Prefix, Prefixes
from nmt.search.steering import Steering
from nmt.serve.cache import Cache
from nmt.serve.errors import refusal_of
from nmt.serve.jobs import Full, Job, Jobs, Recipe, answer
from nmt.serve.refusal import Refusal
from nmt.serve.ticket import Ticket
from nmt.translation.translations import Translation
from nmt.translation.translator import not_found

Result = TypeVar("Result")
Found = asyncio.Future[Translation | None]  # None: its client had given up

FIRST_RATE = 1000.0  # source pieces per second, assumed before the first batch
SLOWEST_RETRY_S = 60
ROOM_AGAIN = 0.9  # of the queue's capacity: below it, a full queue accepts requests again
STOPPING_S = 30.0  # for all workers together to end


@dataclass(frozen=True)
class Part:
    """The pieces of a sentence, or of one part of a long sentence."""

    ids: list[int]
    prefix: Prefix | None = None


class Watcher:
    """An observer of the engine's work, such as the server's metrics."""

    def searched(self, recipe: Recipe, sentences: int, pieces: int, seconds: float) -> None:
        """Called after each batch."""

    def looked_up(self, hits: int, misses: int) -> None:
        """Called after a request's parts were looked up in the cache."""


class Engine:
    """Worker threads with one torch thread each, and the queue that they take their work from."""

    def __init__(self, workers: int, most_pieces: int, cache_bytes: int, watcher: Watcher) -> None:
        self.jobs = Jobs(most_pieces, workers)
        self.cache = Cache(cache_bytes)
        self.watcher = watcher
        self.full = False
        self.rate = FIRST_RATE  # source pieces per second of all workers together
        self.threads = [Thread(target=self._work, name=f"nmt-{number}", daemon=True) for number in range(workers)]
        for thread in self.threads:
            thread.start()

    def translate(self, parts: Sequence[Part], recipe: Recipe, ticket: Ticket) -> list[Found]:
        """Futures of the translations, in the order of `parts`. Raises Refusal if the queue is full."""
        loop = asyncio.get_running_loop()
        keys = [(recipe, tuple(part.ids)) if part.prefix is None else None for part in parts]
        found: list[Found] = []
        jobs: list[Job] = []
        for part, key in zip(parts, keys, strict=True):
            future: Found = loop.create_future()
            known = None if key is None else self.cache.get(key)
            if known is not None:
                future.set_result(known)
            else:
                jobs.append(Job(ticket, future, loop, len(part.ids), recipe, part.ids, part.prefix))
            found.append(future)
        self._queue(jobs)
        if self.cache.size:
            self.watcher.looked_up(len(parts) - len(jobs), len(jobs))
        return found

    def call(self, work: Callable[[], Result], pieces: int, ticket: Ticket) -> "asyncio.Future[Result]":
        """The future result of work that one worker does alone. It counts as `pieces` source pieces."""
        loop = asyncio.get_running_loop()
        job = Job(ticket, loop.create_future(), loop, pieces, call=work)
        self._queue([job])
        return job.future

    def stop(self) -> None:
        """Waits until all queued jobs are done, at most `STOPPING_S`. Nothing may be queued afterwards."""
        self.jobs.close()
        until = monotonic() + STOPPING_S
        for thread in self.threads:
            thread.join(max(0.0, until - monotonic()))

    def refuse_when_full(self) -> None:
        """Raises Refusal while the queue is full, before any work is spent on a request.

        A queue that was full counts as full until it has room for more than a few sentences (`ROOM_AGAIN`).
        """
        self.full = self.full and self.jobs.pieces > ROOM_AGAIN * self.jobs.most_pieces
        if self.full:
            raise self._busy(self.jobs.pieces)

    def _queue(self, jobs: list[Job]) -> None:
        try:
            self.jobs.put(jobs)
        except Full as full:
            self.full = full.pieces > ROOM_AGAIN * self.jobs.most_pieces
            raise self._busy(full.pieces) from None

    def _busy(self, pieces: int) -> Refusal:
        """The refusal while `pieces` wait, with an estimate of when to try again."""
        wait = min(SLOWEST_RETRY_S, max(1, round(pieces / self.rate)))
        return Refusal(503, "the server is busy; try again later", wait)

    def _work(self) -> None:
        torch.set_num_threads(1)
        while jobs := self.jobs.take():
            start = monotonic()
            self._do(jobs)
            if (recipe := jobs[0].recipe) is not None:
                seconds, pieces = monotonic() - start, sum(job.pieces for job in jobs)
                rate = len(self.threads) * pieces / max(seconds, 1e-6)
                self.rate += 0.1 * (rate - self.rate)
                self.watcher.searched(recipe, len(jobs), pieces, seconds)

    def _do(self, jobs: list[Job]) -> None:
        try:
            results: Sequence[Any] = self._results(jobs)
        except (NmtError, MemoryError, RuntimeError) as error:
            if not isinstance(error, NmtError) and not lacks_memory(error):
                traceback.print_exc(file=sys.stderr)
                results = [Refusal(500, "the server made a mistake; its log says more")] * len(jobs)
            elif len(jobs) > 1:  # halves may fit, and one sentence's error is not that of the others
                self._do(jobs[: len(jobs) // 2])
                self._do(jobs[len(jobs) // 2 :])
                return
            elif isinstance(error, NmtError):
                results = [refusal_of(error)]
            else:
                results = [Refusal(503, "the server has too little memory for this text; send a shorter one", 5)]
        except Exception:
            traceback.print_exc(file=sys.stderr)
            results = [Refusal(500, "the server made a mistake; its log says more")] * len(jobs)
        answer(jobs[0].loop, list(zip(jobs, results, strict=True)))

    def _results(self, jobs: list[Job]) -> Sequence[Any]:
        """The result of each job; None if its client has given up."""
        recipe = jobs[0].recipe
        if recipe is None:
            [job] = jobs
            assert job.call is not None
            return [job.call()]
        begun = [job.prefix for job in jobs]
        steering = Steering(
            Prefixes(begun) if any(begun) else None,
            lambda: [number for number, job in enumerate(jobs) if job.ticket.gone],
        )
        found = recipe.translator.batch_or_none([job.ids for job in jobs], recipe.attention, recipe.settings, steering)
        results: list[Any] = []
        for job, translation in zip(jobs, found, strict=True):
            if translation is not None and job.prefix is None:
                self.cache.put((recipe, tuple(job.ids)), translation)
            if job.ticket.gone:
                results.append(None)
            else:
                results.append(translation or refusal_of(not_found(recipe.translator, job.prefix)))
        return results
