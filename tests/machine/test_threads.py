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
from nmt.machine.threads import Workers, workers_on
from nmt.translation.translator import Translator

CPU = torch.device("cpu")


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


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


def test_translations_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", "general")
    found = []
    for workers in (1, 2, 3):
        translator = Translator.load(run, device="cpu", precision="fp32", workers=workers)
        assert translator.workers.count == workers
        settings = replace(translator.settings, batch_sentences=3)
        found.append(translator.translate(sentences(20, seed=4), attention=True, settings=settings))
    for one, *others in zip(*found, strict=True):
        for other in others:
            assert (one.n_best, one.tgt_pieces) == (other.n_best, other.tgt_pieces)
            assert (one.attention == other.attention).all()


def test_drawn_translations_can_be_drawn_again_with_any_number_of_workers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", "general")
    drawn = []
    for workers in (2, 2, 1):
        translator = Translator.load(run, device="cpu", precision="fp32", workers=workers)
        settings = replace(translator.settings, sample=True, batch_sentences=3)
        drawn.append([each.text for each in translator.translate(sentences(20, seed=4), settings=settings)])
    assert drawn[0] == drawn[1] == drawn[2]


def test_there_are_as_many_workers_as_threads_of_torch_or_as_are_wanted(two_threads: None) -> None:
    assert workers_on(CPU, None).count == 2
    assert workers_on(CPU, 3).count == 3
    assert workers_on(torch.device("cuda"), 3).count == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_workers_do_every_item_once_and_answer_in_order(count: int, two_threads: None) -> None:
    chance = random.Random(count)
    delays = [chance.random() / 200 for _ in range(20)]
    done: list[int] = []

    def work(item: int) -> int:
        assert torch.get_num_threads() == 1
        time.sleep(delays[item])
        done.append(item)
        return item * item

    workers = Workers(count)
    for items in (range(20), range(1), range(0), range(2)):
        done.clear()
        assert workers.each(work, items) == [item * item for item in items]
        assert sorted(done) == list(items)
        assert torch.get_num_threads() == 2


def test_workers_are_at_work_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def work(item: int) -> int:
        meeting.wait()  # for the two others
        return item

    assert Workers(3).each(work, range(6)) == list(range(6))


def test_ctrl_c_between_two_items_ends_the_others() -> None:
    done: list[int] = []

    class Items(list[int]):
        def __len__(self) -> int:  # asked between two items
            if threading.current_thread() is threading.main_thread() and len(done) > 3:
                raise KeyboardInterrupt
            return super().__len__()

    def work(item: int) -> None:
        time.sleep(0.002)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        Workers(3).each(work, Items(range(1000)))
    time.sleep(0.05)
    assert len(done) < 30


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
