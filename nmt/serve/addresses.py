"""Whose request it is, and how it came."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

LONGEST = 64  # characters of an address that are looked at


def peer_of(request: Request) -> str:
    """The address at the other end of the connection."""
    return "local" if request.client is None else plain_address(request.client.host)


@lru_cache(1024)
def plain_address(text: str) -> str:
    """An address in its one usual form, without port or brackets; other text as it is, cut."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$", r"\1", re.sub(r"^(\d+\.\d+\.\d+\.\d+):\d+$", r"\1", text.strip()))
    try:
        found = ip_address(bare)
    except ValueError:
        return bare[:LONGEST]
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def address_of(request: Request, proxies: Sequence[str]) -> str:
    """The client's address; behind one of these proxies, the last one in X-Forwarded-For that is none of them."""
    peer = peer_of(request)
    if peer not in proxies:
        return peer
    for header in reversed(request.headers.getlist("x-forwarded-for")):
        for each in reversed(header.split(",")):
            if each.strip() and (told := plain_address(each.strip()[:LONGEST])) not in proxies:
                return told
    return peer


def scheme_of(request: Request, proxies: Sequence[str]) -> str:
    """http or https: what the client used, as one of these proxies tells in X-Forwarded-Proto."""
    peer = peer_of(request)
    told = request.headers.get("x-forwarded-proto", "").strip().lower()
    return told if peer in proxies and told in ("http", "https") else request.url.scheme
