"""A request's client address and scheme, also behind proxies."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

LONGEST = 64  # characters kept of an address


def peer_of(request: Request) -> str:
    """The address at the other end of the connection."""
    return "local" if request.client is None else plain_address(request.client.host)


@lru_cache(1024)
def plain_address(text: str) -> str:
    """The canonical form of an IP address, without port or brackets; other text is stripped and cut to `LONGEST`."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$", r"\1", re.sub(r"^(\d+\.\d+\.\d+\.\d+):\d+$", r"\1", text.strip()))
    try:
        found = ip_address(bare)
    except ValueError:
        return bare[:LONGEST]
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def address_of(request: Request, proxies: Sequence[str]) -> str:
    """The client's address: the peer's or, behind known proxies, the last in X-Forwarded-For that is not a proxy's."""
    peer = peer_of(request)
    if peer not in proxies:
        return peer
    for header in reversed(request.headers.getlist("x-forwarded-for")):
        for each in reversed(header.split(",")):
            if each.strip() and (told := plain_address(each.strip()[:LONGEST])) not in proxies:
                return told
    return peer


def scheme_of(request: Request, proxies: Sequence[str]) -> str:
    """http or https, as the client used it; known proxies report it in X-Forwarded-Proto."""
    peer = peer_of(request)
    told = request.headers.get("x-forwarded-proto", "").strip().lower()
    return told if peer in proxies and told in ("http", "https") else request.url.scheme
