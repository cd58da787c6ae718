"""The engine's workers, with translators that are told what to do."""

import asyncio
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.toy_search import CFG

from nmt.errors import CheckpointError, DataError
from nmt.search.prefix import Prefix
from nmt.serve.engine import Engine, Part, Watcher
from nmt.serve.jobs import Recipe
from nmt.serve.refusal import Gone, Refusal
from nmt.serve.server import awaited
from nmt.serve.ticket import Ticket
from nmt.translation.translations import Candidate, Translation

DAMAGED = "the model is damaged; the server's log says more"


class Slow:
    """Translates each sentence to its pieces, when it may; notes what it searched together."""

    def __init__(self) -> None:
        self.batches: list[list[list[int]]] = []
        self.may = threading.Event()
        self.may.set()
        self.fails: list[BaseException] = []
        self.stopped = 0

    def batch_or_none(self, ids: list[list[int]], attention: bool, settings: Any, steering: Any) -> list[Any]:
        self.batches.append(ids)
        while not self.may.wait(0.005):
            if len(steering.gone()) == len(ids):
                self.stopped += 1
                return [None] * len(ids)
        if self.fails:
            raise self.fails.pop(0)
        gone = steering.gone()
        return [None if n in gone else said(" ".join(map(str, pieces))) for n, pieces in enumerate(ids)]


def said(text: str) -> Translation:
    return Translation("", [Candidate(text, 0.0, 0.0)], [], [], None)


class Counting(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.sentences = self.hits = self.misses = 0

    def searched(self, recipe: Recipe, sentences: int, pieces: int, seconds: float) -> None:
        self.sentences += sentences
        assert pieces >= sentences
        assert seconds >= 0

    def looked_up(self, hits: int, misses: int) -> None:
        self.hits += hits
        self.misses += misses


def recipe_of(translator: Slow) -> Recipe:
    return Recipe(translator, replace(CFG, batch_sentences=8, beam=5), False)  # type: ignore[arg-type]


def parts(*lengths: int) -> list[Part]:
    return [Part(list(range(length))) for length in lengths]


def run(engine: Engine, work: Any) -> Any:
    try:
        return asyncio.run(work())
    finally:
        engine.stop()


async def texts(engine: Engine, recipe: Recipe, given: list[Part], ticket: Ticket | None = None) -> list[str]:
    futures = engine.translate(given, recipe, ticket or Ticket(60))
    return [(await future).text for future in futures]


def test_every_request_gets_its_own_sentences_in_order() -> None:
    translator, watcher = Slow(), Counting()
    engine = Engine(3, 100_000, 0, watcher)

    async def work() -> list[list[str]]:
        recipe = recipe_of(translator)
        wanted = [parts(*range(1 + n % 7, 1 + n % 7 + 9)) for n in range(40)]
        return await asyncio.gather(*(texts(engine, recipe, each) for each in wanted))

    found = run(engine, work)
    for n, each in enumerate(found):
        lengths = range(1 + n % 7, 1 + n % 7 + 9)
        assert each == [" ".join(map(str, range(length))) for length in lengths]
    assert watcher.sentences == 360
    assert max(map(len, translator.batches)) > 1


def test_nobody_waits_for_company_and_what_waits_is_done_together() -> None:
    translator = Slow()
    engine = Engine(1, 100_000, 0, Watcher())

    async def work() -> None:
        recipe = recipe_of(translator)
        assert await texts(engine, recipe, parts(3)) == ["0 1 2"]
        translator.may.clear()
        first = asyncio.gather(*engine.translate(parts(3), recipe, Ticket(60)))
        while len(translator.batches) < 2:
            await asyncio.sleep(0.001)
        others = [asyncio.gather(*engine.translate(parts(4), recipe, Ticket(60))) for _ in range(5)]
        translator.may.set()
        await asyncio.gather(first, *others)

    run(engine, work)
    assert [len(batch) for batch in translator.batches] == [1, 1, 5]


def test_who_hangs_up_is_dropped_before_and_in_the_middle_of_the_search() -> None:
    translator = Slow()
    engine = Engine(1, 100_000, 0, Watcher())

    async def work() -> None:
        recipe = recipe_of(translator)
        translator.may.clear()
        searched, waiting = Ticket(60), Ticket(60)
        first = engine.translate(parts(3), recipe, searched)
        while not translator.batches:
            await asyncio.sleep(0.001)
        second = engine.translate(parts(4), recipe, waiting)
        waiting.hang_up()
        searched.hang_up()
        await asyncio.wait([*first, *second], timeout=5)
        assert all(each.cancelled() for each in [*first, *second])
        translator.may.set()
        assert await texts(engine, recipe, parts(2)) == ["0 1"]

    run(engine, work)
    assert translator.stopped == 1
    assert [3] in [[len(each) for each in batch] for batch in translator.batches]
    assert [4] not in [[len(each) for each in batch] for batch in translator.batches]


@pytest.mark.parametrize(("hung_up", "raised"), [(True, Gone), (False, Refusal)])
def test_a_result_that_a_worker_gave_up_is_no_answer(hung_up: bool, raised: type[Exception]) -> None:
    async def work() -> None:
        ticket = Ticket(60)
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        if hung_up:
            ticket.hang_up()
        with pytest.raises(raised):
            await awaited(future, ticket)

    asyncio.run(work())


def test_a_full_queue_says_when_to_try_again() -> None:
    translator = Slow()
    engine = Engine(1, 50, 0, Watcher())
    engine.rate = 10.0

    async def work() -> None:
        recipe = recipe_of(translator)
        translator.may.clear()
        running = engine.translate(parts(5), recipe, Ticket(60))
        while not translator.batches:
            await asyncio.sleep(0.001)
        waiting = engine.translate(parts(40), recipe, Ticket(60))
        with pytest.raises(Refusal) as refused:
            engine.translate(parts(20), recipe, Ticket(60))
        assert (refused.value.status, refused.value.retry_after_s) == (503, 4)
        engine.refuse_when_full()  # there is room for a few yet
        waiting += engine.translate(parts(8), recipe, Ticket(60))
        with pytest.raises(Refusal):
            engine.translate(parts(20), recipe, Ticket(60))
        with pytest.raises(Refusal, match="the server is busy; try again later"):
            engine.refuse_when_full()
        translator.may.set()
        await asyncio.gather(*running, *waiting)
        engine.refuse_when_full()

    run(engine, work)


def test_mistakes_are_answered_and_the_worker_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    translator = Slow()
    engine = Engine(1, 1000, 0, Watcher())

    async def work() -> None:
        recipe = recipe_of(translator)
        for fault, status, message in (
            (CheckpointError("probabilities are NaN, runs/a"), 500, "the model is damaged; the server's log says more"),
            (ValueError("a bug"), 500, "the server made a mistake; its log says more"),
            (RuntimeError("a bug"), 500, "the server made a mistake"),
            (MemoryError(), 503, "the server has too little memory for this text; send a shorter one"),
        ):
            translator.fails = [fault]
            with pytest.raises(Refusal) as refused:
                await texts(engine, recipe, parts(2))
            assert refused.value.status == status
            assert message in refused.value.message
        assert await texts(engine, recipe, parts(2)) == ["0 1"]

    run(engine, work)
    said = capsys.readouterr().err
    assert "ValueError: a bug" in said
    assert "error: probabilities are NaN, runs/a\n" in said


def test_too_little_memory_for_a_batch_halves_it() -> None:
    translator = Slow()
    engine = Engine(1, 1000, 0, Watcher())

    async def work() -> list[str]:
        translator.fails = [MemoryError()]
        return await texts(engine, recipe_of(translator), parts(2, 2, 2, 2))

    assert run(engine, work) == ["0 1"] * 4
    assert [len(batch) for batch in translator.batches] == [4, 2, 2]


def test_the_cache_answers_without_the_queue() -> None:
    translator, watcher = Slow(), Counting()
    engine = Engine(1, 1000, 100_000, watcher)

    async def work() -> None:
        recipe = recipe_of(translator)
        assert await texts(engine, recipe, parts(2, 3)) == await texts(engine, recipe, parts(2, 3))
        other = replace(recipe, attention=True)
        await texts(engine, other, parts(2))

    run(engine, work)
    assert [len(batch) for batch in translator.batches] == [2, 1]
    assert (watcher.hits, watcher.misses) == (2, 3)


def test_other_work_is_done_by_a_worker() -> None:
    engine = Engine(2, 1000, 0, Watcher())

    async def work() -> str:
        return await engine.call(lambda: threading.current_thread().name, 10, Ticket(60))

    assert run(engine, work).startswith("nmt-")


def test_what_was_taken_is_done_before_the_end() -> None:
    translator = Slow()
    engine = Engine(1, 1000, 0, Watcher())

    async def work() -> list[str]:
        translator.may.clear()
        futures = engine.translate(parts(2, 2, 30), recipe_of(translator), Ticket(60))
        ending = asyncio.create_task(asyncio.to_thread(engine.stop))
        await asyncio.sleep(0.05)
        translator.may.set()
        await ending
        return [(await future).text.split()[-1] for future in futures]

    start = time.monotonic()
    assert run(engine, work) == ["1", "1", "29"]
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(("prefix", "most", "status"), [(4, 3, 400), (3, 3, 500), (4, None, 500), (None, 3, 500)])
def test_who_waits_and_gets_no_translation_is_told_why(prefix: int | None, most: int | None, status: int) -> None:
    """Without room for the prefix, the request is wrong; otherwise the model computes NaN."""
    translator = Slow()
    translator.batch_or_none = lambda ids, *_: [None] * len(ids)  # type: ignore[method-assign]
    translator.model = SimpleNamespace(max_length=most)  # type: ignore[attr-defined]
    translator.no_numbers = lambda: CheckpointError("are NaN")  # type: ignore[attr-defined]
    engine = Engine(1, 1000, 0, Watcher())

    async def work() -> None:
        begun = None if prefix is None else Prefix([{}] * prefix, [])
        with pytest.raises(Refusal) as refused:
            await texts(engine, recipe_of(translator), [Part([1, 2], begun)])
        told = "the prefix has up to 4 pieces, and this model writes 3 at most; shorten it"
        assert (refused.value.status, refused.value.message) == (status, told if status == 400 else DAMAGED)

    run(engine, work)


def test_the_error_of_one_sentence_is_not_that_of_others() -> None:
    translator = Slow()
    search = translator.batch_or_none

    def refusing(ids: list[list[int]], *rest: Any) -> list[Any]:
        if any(len(pieces) == 5 for pieces in ids):
            raise DataError("a sentence reaches 5 tokens")
        return search(ids, *rest)

    translator.batch_or_none = refusing  # type: ignore[method-assign]
    engine = Engine(1, 1000, 0, Watcher())

    async def work() -> list[Any]:
        futures = engine.translate(parts(2, 3, 5, 4), recipe_of(translator), Ticket(60))
        return await asyncio.gather(*futures, return_exceptions=True)

    first, second, refused, third = run(engine, work)
    assert [each.text for each in (first, second, third)] == ["0 1", "0 1 2", "0 1 2 3"]
    assert (refused.status, refused.message) == (400, "a sentence reaches 5 tokens")
