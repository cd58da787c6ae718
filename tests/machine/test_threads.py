"""Pieces of work side by side."""

import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.small_runs import make_run, sentences

from nmt.data.batching import SEARCHED_PIECES, even_batches
from nmt.machine.threads import Workers, side_by_side
from nmt.translation.translator import Translator

CPU = torch.device("cpu")


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_results_come_in_order_from_workers_with_one_thread_each() -> None:
    meeting = threading.Barrier(2, timeout=10)  # passed only by two at a time

    def work(number: int) -> tuple[int, int]:
        meeting.wait()
        return number, torch.get_num_threads()

    assert list(side_by_side(work, range(6), CPU)) == [(number, 1) for number in range(6)]
    assert torch.get_num_threads() == 2
    assert torch.ones(300, 300).mm(torch.ones(300, 300))[0, 0] == 300


@pytest.mark.usefixtures("two_threads")
def test_a_single_item_and_a_gpu_get_the_calling_thread() -> None:
    here = threading.get_ident()
    for items, device in (([1], CPU), ([1, 2, 3], torch.device("cuda"))):
        assert set(side_by_side(lambda _: threading.get_ident(), items, device)) == {here}


@pytest.mark.usefixtures("two_threads")
def test_after_an_error_nothing_more_is_begun() -> None:
    begun = []

    def work(number: int) -> None:
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        list(side_by_side(work, range(1000), CPU))
    assert len(begun) < 1000
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("rows", "most"), [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 320), (17, 1)])
def test_batches_are_few_and_even(rows: int, most: int) -> None:
    batches = even_batches([7] * rows, most)
    assert [row for batch in batches for row in batch] == list(range(rows))
    fewest = -(-rows // most)
    assert len(batches) == fewest if fewest < 2 else fewest <= len(batches) < fewest + 4
    assert len(batches) < 2 or len(batches) % 4 == 0 or len(batches) == rows
    sizes = [len(batch) for batch in batches] or [0]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


def test_of_long_rows_fewer_are_batched_and_the_longest_come_first() -> None:
    lengths = [1000] * 50 + [30] * 100 + [0, 0]
    batches = even_batches(lengths[::-1], 40)
    assert sorted(row for batch in batches for row in batch) == list(range(152))
    longest = [max(lengths[::-1][row] for row in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    assert all(len(batch) * most <= 40 * SEARCHED_PIECES for batch, most in zip(batches, longest, strict=True))
    assert even_batches([10**6] * 3, 2) == [[0], [1], [2]]


def test_translations_do_not_depend_on_the_number_of_threads(tmp_path: Path, two_threads: None) -> None:
    translator = Translator.load(make_run(tmp_path / "run", "general"), device="cpu", precision="fp32")
    settings = replace(translator.settings, batch_sentences=3)
    texts = sentences(20, seed=4)
    side_by_side = translator.translate(texts, attention=True, settings=settings)
    torch.set_num_threads(1)
    for one, other in zip(side_by_side, translator.translate(texts, attention=True, settings=settings), strict=True):
        assert (one.n_best, one.tgt_pieces) == (other.n_best, other.tgt_pieces)
        assert (one.attention == other.attention).all()


def test_drawn_translations_can_be_drawn_again_with_any_number_of_threads(tmp_path: Path, two_threads: None) -> None:
    run = make_run(tmp_path / "run", "general")
    drawn = []
    for threads in (2, 2, 1):
        torch.set_num_threads(threads)
        translator = Translator.load(run, device="cpu", precision="fp32")
        settings = replace(translator.settings, sample=True, batch_sentences=3)
        drawn.append([each.text for each in translator.translate(sentences(20, seed=4), settings=settings)])
    assert drawn[0] == drawn[1] == drawn[2]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_workers_do_every_item_once_and_answer_in_order(count: int) -> None:
    chance = random.Random(count)
    delays = [chance.random() / 200 for _ in range(20)]
    done: list[int] = []

    def work(item: int) -> int:
        assert count == 1 or torch.get_num_threads() == 1
        time.sleep(delays[item])
        done.append(item)
        return item * item

    before = torch.get_num_threads()
    workers = Workers(count)
    with workers.at_work():
        for items in (range(20), range(1), range(0), range(2)):
            done.clear()
            assert workers.each(work, items) == [item * item for item in items]
            assert sorted(done) == list(items)
    assert torch.get_num_threads() == before


def test_workers_are_at_work_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def work(item: int) -> int:
        meeting.wait()  # for the two others
        return item

    assert Workers(3).each(work, range(6)) == list(range(6))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_an_error_of_a_worker_is_raised_and_ends_the_others(count: int) -> None:
    done: list[int] = []

    def work(item: int) -> int:
        if item == 2:
            raise ValueError("of item 2")
        time.sleep(0.002)
        done.append(item)
        return item

    workers = Workers(count)
    with pytest.raises(ValueError, match="of item 2"):
        workers.each(work, range(1000))
    assert len(done) < 20
    assert workers.each(str, range(3)) == ["0", "1", "2"]  # they work on
