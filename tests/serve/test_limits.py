"""Limits: what a bucket lets through in any time, that nobody waits longer than told, and whose bucket it is."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.serve.keys import Key
from nmt.serve.limits import MINUTE_NS, Limits, network_of
from nmt.serve.refusal import Refusal

ADDRESS = "192.0.2.1"
SECOND_NS = 10**9


@dataclass
class Clock:
    """Nanoseconds that pass when a test says so."""

    now: int = 10**15

    def __call__(self) -> int:
        return self.now


@dataclass
class Client:
    """Charges one address, and keeps what was let through: (time, requests, characters)."""

    characters: int | None
    requests: int | None
    clock: Clock = field(default_factory=Clock)
    passed: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limits = Limits(self.characters, self.requests, self.clock)

    def ask(self, requests: int, characters: int) -> float | None:
        wait_s = self.limits.charge(ADDRESS, requests, characters, None)
        if wait_s is None:
            self.passed.append((self.clock.now, requests, characters))
        return wait_s


capacities = st.integers(1, 1000)
times_ns = st.one_of(st.integers(0, 5 * 10**6), st.integers(0, 2 * MINUTE_NS))


@given(capacities, capacities, st.data())
def test_in_any_time_at_most_the_capacity_and_what_that_time_refills(
    characters: int, requests: int, data: st.DataObject
) -> None:
    client = Client(characters, requests)
    asks = st.tuples(times_ns, st.integers(0, requests), st.integers(0, characters))
    for passes, *amounts in data.draw(st.lists(asks, max_size=30)):
        client.clock.now += passes
        client.ask(*amounts)
    for which, capacity in ((1, requests), (2, characters)):
        for first in range(len(client.passed)):
            total, start = 0, client.passed[first][0]
            for each in client.passed[first:]:
                total += each[which]
                assert total <= capacity + Fraction(capacity * (each[0] - start), MINUTE_NS)


@given(capacities)
def test_twice_the_amount_in_one_minute_is_possible_and_no_more(capacity: int) -> None:
    client = Client(None, capacity)
    assert client.ask(capacity, 0) is None
    for _ in range(capacity):
        client.clock.now += ceil(MINUTE_NS / capacity)
        assert client.ask(1, 0) is None
    assert client.ask(1, 0) is not None


@pytest.mark.slow
@given(capacities, capacities, st.data())
def test_who_waits_as_told_is_let_through_and_no_earlier(characters: int, requests: int, data: st.DataObject) -> None:
    client = Client(characters, requests)
    for _ in range(data.draw(st.integers(1, 10))):
        amounts = data.draw(st.tuples(st.integers(0, requests), st.integers(0, characters)))
        client.clock.now += data.draw(times_ns)
        if (wait_s := client.ask(*amounts)) is None:
            continue
        assert 0 < wait_s <= 60
        wait_ns = round(wait_s * SECOND_NS)
        client.clock.now += wait_ns - 1
        assert client.ask(*amounts) == 1 / SECOND_NS
        client.clock.now += 1
        assert client.ask(*amounts) is None


@given(capacities, st.lists(st.integers(0, 1000), max_size=50))
def test_who_keeps_to_the_rate_is_never_refused(capacity: int, late_ns: list[int]) -> None:
    client = Client(capacity, None)
    for late in late_ns:
        assert client.ask(1, 1) is None
        client.clock.now += ceil(MINUTE_NS / capacity) + late


@given(capacities, st.integers(0, 10))
def test_a_refused_request_costs_nothing(capacity: int, tries: int) -> None:
    client = Client(capacity, capacity)
    assert client.ask(capacity, 0) is None
    waits = [client.ask(1, capacity) for _ in range(tries)]
    assert len(set(waits)) <= 1
    assert client.ask(0, capacity) is None  # the characters were not counted


@pytest.mark.parametrize(
    ("requests", "characters", "told"),
    [(4, 0, "4 requests at once are more than the 3 a minute"), (1, 10_001, "10,001 characters at once are more than")],
)
def test_what_never_fits_is_refused_clearly_instead_of_for_ever(requests: int, characters: int, told: str) -> None:
    client = Client(10_000, 3)
    with pytest.raises(Refusal, match=told) as refused:
        client.ask(requests, characters)
    assert (refused.value.status, refused.value.retry_after_s) == (413, None)
    assert client.ask(3, 10_000) is None  # and has cost nothing


def test_no_limit_is_none() -> None:
    client = Client(None, None)
    assert all(client.ask(10**9, 10**12) is None for _ in range(100))
    assert len(client.limits) == 0
    limits = Limits(1, 1, Clock())
    assert all(limits.charge(ADDRESS, 10, 10**9, Key("free", None, None)) is None for _ in range(100))


def test_a_key_has_its_own_limits_wherever_it_is_used_and_is_no_address() -> None:
    limits, key = Limits(100, 1, Clock()), Key(ADDRESS, 5, 2)  # a key may be named like an address
    assert limits.charge(ADDRESS, 1, 100, None) is None
    assert limits.charge(ADDRESS, 1, 5, key) is None
    assert limits.charge("198.51.100.9", 1, 0, key) is None
    assert limits.charge("203.0.113.5", 1, 0, key) == 30
    assert limits.charge("203.0.113.5", 1, 0, Key("other", 5, 2)) is None
    assert limits.charge("203.0.113.5", 1, 0, None) is None


@given(st.lists(st.tuples(times_ns, st.integers(1, 50), st.integers(0, 50)), max_size=30))
def test_a_limit_that_changes_holds_from_then_on(changes: list[tuple[int, int, int]]) -> None:
    clock = Clock()
    limits = Limits(None, None, clock)
    for passes, capacity, amount in changes:
        clock.now += passes
        key = Key("changing", None, capacity)
        wait_s = limits.charge("", min(amount, capacity), 0, key)
        assert wait_s is None or 0 < wait_s <= 60
        if wait_s is not None:
            clock.now += round(wait_s * SECOND_NS)
            assert limits.charge("", min(amount, capacity), 0, key) is None


@given(st.lists(st.tuples(times_ns, st.integers(0, 9), st.integers(0, 5)), max_size=60))
def test_forgetting_who_has_no_debts_changes_nothing(asks: list[tuple[int, int, int]]) -> None:
    clock = Clock()
    together = Limits(None, 5, clock)
    apart = [Limits(None, 5, clock) for _ in range(10)]
    for passes, who, amount in asks:
        clock.now += passes
        assert together.charge(f"192.0.2.{who}", amount, 0, None) == apart[who].charge(ADDRESS, amount, 0, None)
        assert len(apart[who]) == 1
    clock.now += MINUTE_NS
    together.charge("198.51.100.1", 1, 0, None)
    assert len(together) == 1


def test_clients_are_bounded_and_the_least_recently_used_is_forgotten() -> None:
    clock = Clock()
    limits = Limits(None, 1, clock, most_clients=3)
    for number in range(3):
        assert limits.charge(f"192.0.2.{number}", 1, 0, None) is None
        clock.now += 1
    assert limits.charge("192.0.2.0", 1, 0, None) is not None  # used again, though refused
    assert limits.charge("192.0.2.3", 1, 0, None) is None
    assert len(limits) == 3
    assert limits.charge("192.0.2.0", 1, 0, None) is not None
    assert limits.charge("192.0.2.3", 1, 0, None) is not None
    assert limits.charge("192.0.2.1", 1, 0, None) is None


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_addresses_of_one_subscriber_are_one_client(address: object, low: int) -> None:
    from ipaddress import IPv6Address

    assert isinstance(address, IPv6Address)
    if address.ipv4_mapped is None:
        other = IPv6Address(int(address) >> 64 << 64 | low)
        if other.ipv4_mapped is None:
            assert network_of(str(other)) == network_of(str(address))
        assert network_of(str(IPv6Address(int(address) ^ 1 << 64))) != network_of(str(address))


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:DB8:0:0:ffff::", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix:", "unix:"),
        ("", ""),
    ],
)
def test_whose_address_it_is(address: str, network: str) -> None:
    assert network_of(address) == network
    limits = Limits(None, 1, Clock())
    assert limits.charge(address, 1, 0, None) is None
    assert limits.charge(network.removesuffix("/64"), 1, 0, None) == 60
