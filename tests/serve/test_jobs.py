"""The queue of the engine: bounded, fair, batches of like sentences, nothing done for clients that have gone."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from helpers.toy_search import CFG

from nmt.search.prefix import Prefix
from nmt.serve.jobs import ALIKE, ROOM, Full, Job, Jobs, Recipe, answer
from nmt.serve.ticket import Ticket

RECIPE = Recipe(None, CFG, False)  # type: ignore[arg-type]  # no translator is asked for anything


@pytest.fixture
def loop() -> Any:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def job(loop: asyncio.AbstractEventLoop, pieces: int, ticket: Ticket | None = None, recipe: Recipe = RECIPE) -> Job:
    return Job(ticket or Ticket(60), loop.create_future(), loop, pieces, recipe, [4] * pieces)


def test_sentences_of_one_kind_and_like_length_share_a_batch(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(10_000)
    other = replace(RECIPE, attention=True)
    same = [job(loop, length) for length in (10, 12, 20)]
    apart = [job(loop, 300), job(loop, 10, recipe=other)]
    for each in [*same, *apart]:
        jobs.put([each])
    assert jobs.take() == same
    assert {len(each.ids) for each in same} <= set(range(int(10 / ALIKE - ROOM), int(10 * ALIKE + ROOM) + 1))
    assert [jobs.take(), jobs.take()] == [[apart[0]], [apart[1]]]
    assert jobs.pieces == 0


def test_sentences_with_and_without_a_prefix_are_searched_apart(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(1000)
    free, begun = job(loop, 10), job(loop, 10)
    begun.prefix = Prefix([], [])
    jobs.put([free, begun])
    assert [jobs.take(), jobs.take()] == [[free], [begun]]


def test_a_long_request_does_not_hold_up_a_short_one_that_comes_later(loop: asyncio.AbstractEventLoop) -> None:
    few = replace(RECIPE, settings=replace(CFG, batch_sentences=4, beam=5))
    jobs = Jobs(100_000)
    long = [job(loop, 10, recipe=few) for _ in range(100)]
    jobs.put(long)
    first = jobs.take()
    assert first == long[:4]
    short = job(loop, 10, recipe=few)
    jobs.put([short])
    assert short in jobs.take()
    order = [each for _ in range(24) for each in jobs.take()]
    assert order == [each for each in long if each not in first][-len(order) :]


def test_whoever_waits_long_enough_is_next_whatever_comes_after(loop: asyncio.AbstractEventLoop) -> None:
    one = replace(RECIPE, settings=replace(CFG, batch_sentences=1, beam=5))
    jobs = Jobs(100_000)
    long = [job(loop, 10, recipe=one) for _ in range(5)]
    jobs.put(long)
    for _ in range(40):  # short ones keep coming, one for each that is done
        jobs.put([job(loop, 10, recipe=one)])
        jobs.take()
    assert not [each for each in jobs.waiting if each in long]


def test_work_that_is_no_sentence_is_done_alone(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(1000)
    call = Job(Ticket(60), loop.create_future(), loop, 10, call=lambda: 1)
    jobs.put([call])
    jobs.put([job(loop, 10)])
    assert jobs.take() == [call]


def test_beyond_the_bound_nothing_is_queued_and_what_has_gone_makes_room(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(100)
    ticket = Ticket(60)
    given_up = job(loop, 90, ticket)
    jobs.put([given_up])
    with pytest.raises(Full):
        jobs.put([job(loop, 10), job(loop, 10)])
    assert jobs.waiting == [given_up]
    ticket.hang_up()
    fresh = [job(loop, 50), job(loop, 50)]
    jobs.put(fresh)
    assert jobs.waiting == fresh
    loop.run_until_complete(asyncio.sleep(0))
    assert given_up.future.cancelled()


def test_one_request_alone_may_be_larger_than_the_queue(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(100)
    jobs.put([job(loop, 500)])
    assert len(jobs.take()) == 1


def test_what_is_late_is_never_taken(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(1000)
    late, due = job(loop, 10, Ticket(-1)), job(loop, 10)
    jobs.put([late])
    jobs.put([due])
    assert jobs.take() == [due]
    loop.run_until_complete(asyncio.sleep(0))
    assert late.future.cancelled()


def test_the_end_comes_when_nothing_is_left(loop: asyncio.AbstractEventLoop) -> None:
    jobs = Jobs(1000)
    last = job(loop, 10)
    jobs.put([last])
    jobs.close()
    assert jobs.take() == [last]
    assert jobs.take() == []


def test_answers_go_to_the_loop_they_were_asked_in(loop: asyncio.AbstractEventLoop) -> None:
    good, bad, gone = job(loop, 1), job(loop, 1), job(loop, 1)
    answer(loop, [(good, "yes"), (bad, ValueError("no")), (gone, None)])
    loop.run_until_complete(asyncio.sleep(0))
    assert good.future.result() == "yes"
    assert isinstance(bad.future.exception(), ValueError)
    assert gone.future.cancelled()
    answer(loop, [(good, "again")])  # done already: nothing happens
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    answer(loop, [(good, "too late")])


def test_a_long_prefix_does_not_hold_up_a_short_one(loop: asyncio.AbstractEventLoop) -> None:
    """A batch is answered as a whole, once its longest prefix is spelled."""
    jobs = Jobs(1000)
    short, alike, long = (job(loop, 10) for _ in range(3))
    for each, size in ((short, 10), (alike, 15), (long, 1000)):
        each.prefix = Prefix([{}] * size, [])
    jobs.put([short, long, alike])
    assert jobs.take() == [short, alike]
    assert jobs.take() == [long]
    assert jobs.served == 30
