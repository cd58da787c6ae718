"""The application: all routes, and the answers to errors."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from nmt.serve import deepl, libretranslate, native, operation, page, spec
from nmt.serve.admission import Admission
from nmt.serve.errors import error_response, refusal_response
from nmt.serve.guard import Guard
from nmt.serve.metrics import Metrics
from nmt.serve.refusal import Gone, Refusal
from nmt.serve.server import Server

METHODS = ("GET", "POST", "OPTIONS")


def application(server: Server, metrics: Metrics) -> Starlette:
    """The server's ASGI application: routes, middleware and error handlers."""
    routes: list[BaseRoute] = [
        *native.routes(),
        *libretranslate.routes(),
        *deepl.routes(),
        *operation.routes(metrics if server.settings.metrics else None),
    ]
    if server.settings.page:
        routes += page.routes()
    routes += spec.routes(routes)
    middleware = [Middleware(Guard, server=server, answered=metrics.answered)]
    if server.settings.origins:
        allowed = {"allow_origins": server.settings.origins, "allow_methods": METHODS, "allow_headers": ["*"]}
        middleware.append(Middleware(CORSMiddleware, **allowed, allow_credentials=False))  # type: ignore[arg-type]
    middleware.append(Middleware(Admission, engine=server.engine, routes=routes))
    handlers = {Refusal: refused, Gone: gone, ClientDisconnect: gone, HTTPException: not_served, Exception: mistaken}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)  # type: ignore[arg-type]
    app.state.server = server
    return app


async def refused(request: Request, refusal: Refusal) -> Response:
    """The answer to a request that a route has refused."""
    return refusal_response(request.url.path, refusal)


async def gone(request: Request, error: Gone | ClientDisconnect) -> Response:
    """Status 499, which nobody reads: the client has hung up."""
    return Response(status_code=499)


async def not_served(request: Request, raised: HTTPException) -> Response:
    """The answer to an unknown path or a wrong method."""
    path, method = request.url.path[:200], request.method
    match raised.status_code:
        case 404:
            message = f"there is no {path} here; see /spec"
        case 405:
            message = f"{path} does not take {method}; see /spec"
        case _:
            message = raised.detail
    return error_response(request.url.path, raised.status_code, message, dict(raised.headers or {}))


async def mistaken(request: Request, raised: Exception) -> Response:
    """Status 500 for a bug in the server; its traceback goes to the log."""
    return error_response(request.url.path, 500, "the server made a mistake; its log says more")
