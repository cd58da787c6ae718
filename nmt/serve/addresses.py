"""Whose request it is, and how it came."""

from collections.abc import Sequence

from starlette.requests import Request


def address_of(request: Request, proxies: Sequence[str]) -> str:
    """The client's address; behind one of these proxies, the last one in X-Forwarded-For that is none of them."""
    peer = request.client.host if request.client is not None else "local"
    if peer not in proxies:
        return peer
    for header in reversed(request.headers.getlist("x-forwarded-for")):
        for each in reversed(header.split(",")):
            if each.strip() and each.strip() not in proxies:
                return each.strip()[:64]
    return peer


def scheme_of(request: Request, proxies: Sequence[str]) -> str:
    """http or https: what the client used, as one of these proxies tells in X-Forwarded-Proto."""
    peer = request.client.host if request.client is not None else "local"
    told = request.headers.get("x-forwarded-proto", "").strip().lower()
    return told if peer in proxies and told in ("http", "https") else request.url.scheme
