"""Processes of one machine prepare one after another. They wait as long as the others work, and name one that hangs."""

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch.distributed as dist

from nmt.errors import DataError, NmtError, PeerError
from nmt.machine import heartbeats, peers
from nmt.machine.heartbeats import noting_failure
from nmt.machine.peers import Peers
from nmt.machine.timed_store import TimedStore

TIMEOUT_S = 0.5


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "BEAT_S", 0.05)
    monkeypatch.setattr(peers, "ANSWER_S", 0.05)


def turns(
    count: int,
    prepare: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    absent: int | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[int, NmtError | None]:
    """The errors of threads that stand for the processes of one machine, by rank."""
    store = dist.HashStore()
    found: dict[int, NmtError | None] = {}

    def take_turn() -> None:
        rank = int(threading.current_thread().name)
        try:
            joined = Peers(rank, count, store, timeout_s)
            with noting_failure(TimedStore(store, 1), rank), joined.first_of_machine_before_others():
                prepare(rank)
            found[rank] = None
        except NmtError as error:
            found[rank] = error

    monkeypatch.setattr(peers, "number", lambda *_, **__: int(threading.current_thread().name))
    threads = [threading.Thread(target=take_turn, name=str(rank)) for rank in range(count) if rank != absent]
    for rank in range(count):
        store.set(f"host {rank}", "here")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_who_prepares_is_waited_for_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def prepare(rank: int) -> None:
        begun.append(rank)
        time.sleep(0 if rank == 1 else 3 * TIMEOUT_S)

    assert turns(3, prepare, monkeypatch) == dict.fromkeys(range(3))
    assert begun[0] == 0, "the others read what the first one has prepared"


@pytest.mark.parametrize(("absent", "others"), [(0, [1, 2]), (2, [0, 1])])
def test_who_does_not_beat_is_named(absent: int, others: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    found = turns(3, lambda rank: None, monkeypatch, absent)
    assert sorted(found) == others
    for error in found.values():
        assert isinstance(error, PeerError)
        assert str(error).startswith(f"process {absent} on here of 3 has gone or does not answer; read its own")


@pytest.mark.parametrize("failing", [0, 1])
def test_who_fails_is_not_waited_for(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(rank: int) -> None:
        if rank == failing:
            raise DataError("the corpus is empty")

    found = turns(2, prepare, monkeypatch, timeout_s=math.inf)
    assert str(found[failing]) == "the corpus is empty"
    assert str(found[1 - failing]).startswith(f"process {failing} on here of 2 has gone")


class Frozen:
    """A store whose host has been stopped."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.over.wait() and None


def test_a_store_that_does_not_answer_is_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = Frozen()
    try:
        with (
            pytest.raises(PeerError, match=r"^the first process of 2 has gone or does not answer; read its own"),
            Peers(1, 2, store, TIMEOUT_S).first_of_machine_before_others(),
        ):
            pass
        with pytest.raises(RuntimeError, match=r"^the store does not answer$"):
            TimedStore(store, 0.01).get("note")
    finally:
        store.over.set()


def test_a_store_that_is_gone_is_the_first_process() -> None:
    class Gone(dist.HashStore):
        def set(self, key: str, value: str) -> None:
            raise RuntimeError("Broken pipe")

    with (
        pytest.raises(PeerError, match=r"^the first process of 2 has gone or does not answer"),
        Peers(0, 2, Gone(), TIMEOUT_S).first_of_machine_before_others(),
    ):
        pass


def test_calls_of_a_store_have_its_answers() -> None:
    store = TimedStore(dist.HashStore(), 10)
    store.set("one", "note")
    assert (store.get("one"), store.has(["one"]), store.has(["one", "other"])) == ("note", True, False)
    assert [store.add("sum", number) for number in (2, 0, 3)] == [2, 2, 5]
