"""Refuses searches while the queue is full, before a request costs any work."""

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nmt.serve.engine import Engine
from nmt.serve.errors import refusal_response
from nmt.serve.refusal import Refusal


class SearchRoute(Route):
    """A route whose POST requests search. While the queue is full, the server refuses them."""


class Admission:
    """An ASGI middleware next to the router. Refusals are most of what an overloaded server does."""

    def __init__(self, app: ASGIApp, engine: Engine, routes: Sequence[BaseRoute]) -> None:
        self.app, self.engine = app, engine
        self.searching = {route.path: route for route in routes if isinstance(route, SearchRoute)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        route = self.searching.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route is not None:
            try:
                self.engine.refuse_when_full()
            except Refusal as refusal:
                scope["route"] = route  # as the router would, for the metrics
                app = refusal_response(route.path, refusal)
        await app(scope, receive, send)
