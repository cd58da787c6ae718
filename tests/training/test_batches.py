"""The training split as batches: the file's own tokens, in an order that can be taken up anywhere."""

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from helpers.small_corpora import make_pairs, text_data, tokenizer_config

from nmt.data.batch import Batch, make_batch
from nmt.data.encoded import open_sides
from nmt.data.prepare import IDS, TABLES_SCHEMA, Prepared, prepare
from nmt.data.tables import TableWriter, load_table
from nmt.data.tokenizer import Tokenizer
from nmt.training.batches import TrainingData
from nmt.training.progress import Progress


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """300 pairs to train on."""
    folder = tmp_path_factory.mktemp("corpus")
    data = text_data(folder, make_pairs(300), dev_size=0, test_size=0)
    return prepare(data, tokenizer_config("unigram", vocab_size=300, byte_fallback=False), folder / "cache")


def same(a: Batch, b: Batch) -> bool:
    """Equal in every tensor."""
    names = ("src", "src_mask", "tgt_in", "tgt_out", "tgt_mask")
    pairs = [(getattr(a, name), getattr(b, name)) for name in names]
    return all(x.dtype == y.dtype and torch.equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_ids_are_those_of_the_table_in_any_order_and_any_record_batches(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    with TableWriter(tmp_path / "train.arrow", TABLES_SCHEMA) as table:
        for size in random.integers(0, 9, 12):  # some record batches are empty, some sentences too
            ids = [[random.integers(4, 99, random.integers(0, 6)).tolist() for _ in range(size)] for _ in sides]
            for side, own in zip(sides, ids, strict=True):
                side += own
            text = ["ä" * int(n) for n in random.integers(0, 9, size)]
            columns = {"src": text, "tgt": text, "index": range(size)}
            encoded = {f"{name}_ids": pa.array(own, IDS) for name, own in zip(("src", "tgt"), ids, strict=True)}
            table.write(columns | encoded)
    opened = open_sides(tmp_path / "train.arrow")
    assert load_table(tmp_path / "train.arrow")["src_ids"][:] == sides[0]
    for side, expected in zip(opened, sides, strict=True):
        assert len(side) == len(expected)
        for count in (0, 1, len(expected), 50):
            rows = random.integers(0, len(expected), count)
            chosen = [expected[row] for row in rows]
            found = side.gather(rows)
            assert side[rows].tolist() == [len(ids) + 1 for ids in chosen]
            assert found.lengths.tolist() == [len(ids) for ids in chosen]
            assert found.tokens.tolist() == [token for ids in chosen for token in ids]


def test_a_split_without_pairs_has_two_empty_sides(tmp_path: Path) -> None:
    with TableWriter(tmp_path / "train.arrow", TABLES_SCHEMA):
        pass
    assert [len(side) for side in open_sides(tmp_path / "train.arrow")] == [0, 0]


def test_batches_hold_the_pairs_of_their_rows(prepared: Prepared) -> None:
    data = TrainingData(prepared, 400, 2, 1, 1, None)
    seen: list[int] = []
    progress = Progress()
    while progress.epoch == 0:
        rows = data.advance(progress)
        for batch, numbers in zip(data.load(rows, 1), rows, strict=True):
            pairs = prepared.train[numbers.tolist()]
            assert same(batch, make_batch(pairs["src_ids"], pairs["tgt_ids"]))
            seen += numbers.tolist()
        assert data.sentences(rows) == sorted(int(i) for numbers in rows for i in numbers)
    assert sorted(seen) == list(range(len(prepared.train)))


@pytest.mark.parametrize("accumulate", [1, 3, 1000])
@pytest.mark.parametrize("alpha", [None, 0.3])
@pytest.mark.parametrize("parts", [1, 3])
def test_the_batches_can_be_taken_up_anywhere(
    prepared: Prepared, accumulate: int, alpha: float | None, parts: int
) -> None:
    whole, progress = TrainingData(prepared, 400, accumulate, parts, 1, alpha), Progress()
    updates = whole.updates_in_first_epoch
    for number in range(1, 2 * updates + 3):
        before = Progress(epoch=progress.epoch, batch=progress.batch)
        rows = whole.advance(progress)
        assert (progress.epoch > 0) == (number >= updates)
        other = TrainingData(prepared, 400, accumulate, parts, 1, alpha)
        again = other.advance(before)
        assert (before.epoch, before.batch) == (progress.epoch, progress.batch)
        assert [r.tolist() for r in again] == [r.tolist() for r in rows]
        if number % 7 == 0:
            both = zip(whole.load(rows, number), other.load(again, number), strict=True)
            assert all(same(a, b) for a, b in both)


def loaded(prepared: Prepared, alpha: float | None, share: float, update: int) -> list[Batch]:
    """All batches of one epoch, as if each update were this one."""
    data, progress = TrainingData(prepared, 400, 1, 2, 1, alpha, share), Progress()
    found = []
    while progress.epoch == 0:
        found += data.load(data.advance(progress), update)
    return found


@pytest.fixture
def with_capitals(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are segmented anew, each as pieces 7."""
    asked: list[str] = []

    def encode(_: Tokenizer, texts: list[str]) -> list[list[int]]:
        asked.extend(texts)
        return [[7] * (len(text) % 5 + 1) for text in texts]

    monkeypatch.setattr(Tokenizer, "encode_batch", encode)
    return asked


def test_a_share_of_the_sources_is_read_in_lower_case(prepared: Prepared, with_capitals: list[str]) -> None:
    plain = loaded(prepared, None, 0.0, 1)
    assert not with_capitals
    lowered = loaded(prepared, None, 0.3, 1)
    count = sum(len(batch.src) for batch in plain)
    changed = 0
    for before, after in zip(plain, lowered, strict=True):
        assert torch.equal(before.tgt_out, after.tgt_out)
        for row in range(len(before.src)):
            old, new = (b.src[row][b.src_mask[row]].tolist()[:-1] for b in (before, after))
            changed += set(new) == {7}
            assert new == old or set(new) == {7}
    assert changed == len(with_capitals)
    assert abs(changed - 0.3 * count) < 4 * (0.3 * 0.7 * count) ** 0.5
    assert all(text == text.lower() for text in with_capitals)
    again = list(with_capitals)
    with_capitals.clear()
    assert all(same(a, b) for a, b in zip(lowered, loaded(prepared, None, 0.3, 1), strict=True))
    assert with_capitals == again
    with_capitals.clear()
    loaded(prepared, None, 0.3, 2)
    assert with_capitals != again  # others in another update
    with_capitals.clear()
    loaded(prepared, None, 1.0, 1)
    assert len(with_capitals) == count


def test_sampled_segmentations_are_of_lower_case_too(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def sample(_: Tokenizer, texts: list[str], alpha: float, seed: int) -> list[list[int]]:
        asked.append(texts)
        return [[5] for _ in texts]

    monkeypatch.setattr(Tokenizer, "sample_batch", sample)
    loaded(prepared, 0.3, 1.0, 1)
    sources = sorted(text for texts in asked[0::2] for text in texts)
    assert sources == sorted(text.lower() for text in prepared.train["src"])
    assert sorted(text for texts in asked[1::2] for text in texts) == sorted(prepared.train["tgt"])


@pytest.mark.parametrize("parts", [1, 2, 3, 10_000])
def test_the_parts_of_a_batch_are_its_rows_and_have_like_lengths(prepared: Prepared, parts: int) -> None:
    whole, split = (TrainingData(prepared, 400, 2, each, 1, None) for each in (1, parts))
    one, many = Progress(), Progress()
    while one.epoch == 0:
        batches, pieces = whole.advance(one), split.advance(many)
        assert (one.epoch, one.batch) == (many.epoch, many.batch)
        for batch in batches:
            own, pieces = pieces[: min(parts, len(batch))], pieces[min(parts, len(batch)) :]
            assert sorted(int(row) for piece in own for row in piece) == sorted(batch.tolist())
            sizes = [len(piece) for piece in own]
            assert max(sizes) - min(sizes) <= 1
            tokens = [sum(len(ids) for ids in prepared.train[piece.tolist()]["tgt_ids"]) for piece in own]
            if min(sizes) > 3:
                assert max(tokens) < 1.5 * min(tokens)
        assert not pieces


def test_a_position_can_be_gone_back_to(prepared: Prepared) -> None:
    data = TrainingData(prepared, 400, 1, 1, 1, None)
    first = [data.advance(Progress(epoch=1, batch=n))[0].tolist() for n in (2, 0, 0, 1)]
    expected = [rows.tolist() for rows in islice(data.order.epoch(1), 3)]
    assert first == [expected[2], expected[0], expected[0], expected[1]]


def test_the_time_for_batches_is_known(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 1.0
        return now

    monkeypatch.setattr("nmt.training.batches.perf_counter", clock)
    data, progress = TrainingData(prepared, 400, 1, 1, 1, None), Progress()
    for update in range(3):
        data.load(data.advance(progress), update)
        assert data.waited_s == 2.0  # of each update alone


@pytest.mark.slow
def test_the_sides_of_no_batch_of_any_update_and_run_are_segmented_with_one_seed(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def sample(_: Tokenizer, texts: list[str], alpha: float, seed: int) -> list[list[int]]:
        seen.append(seed)
        return [[5] for _ in texts]

    monkeypatch.setattr(Tokenizer, "sample_batch", sample)
    parts = 1001
    for run_seed, updates in ((1, (1, 2, 1_000_004)), (2, (1, 2))):
        batches = TrainingData(prepared, 400, parts, 1, run_seed, 0.3)
        for update in updates:
            batches.load([np.array([0])] * parts, update)
    assert len(seen) == 5 * 2 * parts
    assert len(set(seen)) == len(seen)
