"""Limits for each key or address: token buckets of requests and characters, which hold the amount of one minute.

Within any t seconds, a bucket of capacity C lets through at most C + C·t/60, so at most 2·C in any minute. All
arithmetic is in whole numbers, so the bound is exact. A refused client that waits for the stated time may then pass.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from nmt.serve.keys import Key
from nmt.serve.refusal import Refusal

MINUTE_NS = 60 * 10**9
MOST_CLIENTS = 100_000  # at most so many clients' debts are kept
IPV6_PREFIX = 64  # bits that one subscriber's addresses share; the subscriber chooses the rest

Client = tuple[str, str]  # ("key", its name) or ("address", its network)


@dataclass(slots=True)
class Debt:
    """Requests and characters that a client has used and time has not yet made up for, each × MINUTE_NS."""

    requests: int
    characters: int
    at_ns: int


class Limits:
    """The buckets of all clients of this process. Only the thread of the event loop may use them."""

    def __init__(
        self,
        characters_per_minute: int | None,
        requests_per_minute: int | None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        most_clients: int = MOST_CLIENTS,
    ) -> None:
        """The amounts are for each address without a key; None is no limit."""
        self._without_key = Key("", characters_per_minute, requests_per_minute)
        self._clock_ns = clock_ns
        self._most_clients = most_clients
        self._debts: OrderedDict[Client, Debt] = OrderedDict()  # the least recently used first

    def charge(self, who: str, requests: int, characters: int, allowed: Key | None) -> float | None:
        """Counts a request that may pass and returns None. Otherwise counts nothing and returns the seconds to wait.

        `allowed` is the request's key; without one, the address `who` is charged. A request for more than a minute's
        amount could never pass, so it raises Refusal.
        """
        limit = self._without_key if allowed is None else allowed
        capacities = (limit.requests_per_minute, limit.characters_per_minute)
        for capacity, amount, what in zip(capacities, (requests, characters), ("requests", "characters"), strict=True):
            if capacity is not None and amount > capacity:
                raise Refusal(
                    413, f"{amount:,} {what} at once are more than the {capacity:,} a minute allowed here; send less"
                )
        if capacities == (None, None):
            return None
        debt = self._debt_now(("address", network_of(who)) if allowed is None else ("key", allowed.name), capacities)
        wait_ns = max(
            _wait_ns(debt.requests, requests, capacities[0]), _wait_ns(debt.characters, characters, capacities[1])
        )
        if wait_ns > 0:
            return wait_ns / 10**9
        debt.requests += requests * MINUTE_NS
        debt.characters += characters * MINUTE_NS
        return None

    def _debt_now(self, client: Client, capacities: Sequence[int | None]) -> Debt:
        """The client's debt now, less the amount that time has made up for; makes the client the most recently used."""
        now = self._clock_ns()
        debt = self._debts.setdefault(client, Debt(0, 0, now))
        self._debts.move_to_end(client)
        passed = now - debt.at_ns
        debt.requests = _left(debt.requests, capacities[0], passed)
        debt.characters = _left(debt.characters, capacities[1], passed)
        debt.at_ns = now
        self._forget(now)
        return debt

    def _forget(self, now: int) -> None:
        """Forgets clients idle for a minute, whose debts are gone by then; and, above the maximum, the longest idle."""
        while len(self) > self._most_clients or next(iter(self._debts.values())).at_ns <= now - MINUTE_NS:
            self._debts.popitem(last=False)

    def __len__(self) -> int:
        """How many clients' debts are kept."""
        return len(self._debts)


def _left(debt: int, capacity: int | None, passed_ns: int) -> int:
    """The rest of a debt after `passed_ns`. If a key's limit was lowered, the debt is first cut to the new capacity."""
    return 0 if capacity is None else max(0, min(debt, capacity * MINUTE_NS) - capacity * passed_ns)


def _wait_ns(debt: int, amount: int, capacity: int | None) -> int:
    """Nanoseconds until the bucket holds the amount; 0 or less if it holds it now."""
    return 0 if capacity is None else -((capacity * MINUTE_NS - debt - amount * MINUTE_NS) // capacity)


def network_of(address: str) -> str:
    """The network of one subscriber: one IPv4 address, or the /64 of an IPv6 address. Other text stays as it is."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), IPV6_PREFIX), strict=False))
