"""Routes for the server's operator: its health and its metrics."""

import hmac

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt.serve.metrics import Metrics
from nmt.serve.refusal import Refusal
from nmt.serve.server import Server

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def routes(metrics: Metrics | None) -> list[Route]:
    """/health, and /metrics unless the settings turn it off."""
    found = [Route("/health", health)]
    return found if metrics is None else [*found, metrics_route(metrics)]


def metrics_route(metrics: Metrics) -> Route:
    """/metrics."""

    async def figures(request: Request) -> Response:
        server: Server = request.app.state.server
        token = server.settings.metrics_token
        sent = request.headers.get("authorization", "").encode()
        if token is not None and not hmac.compare_digest(sent, f"Bearer {token}".encode()):
            raise Refusal(403, "metrics need the operator's token; send it as Authorization: Bearer TOKEN")
        return Response(metrics.text(), media_type=PROMETHEUS)

    return Route("/metrics", figures)


async def health(request: Request) -> Response:
    """Status 200, or 503 as soon as the server is stopping, so that no more requests are sent here."""
    server: Server = request.app.state.server
    if server.stopping:
        return JSONResponse({"status": "stopping"}, 503)
    return JSONResponse({"status": "ok"})
