"""The OpenAPI description of the server: `openapi.yaml` beside this file, without routes that the server lacks."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nmt.serve.quick_json import JsonResponse

FILE = Path(__file__).with_name("openapi.yaml")


def described(paths: Iterable[str]) -> dict[str, Any]:
    """The description, limited to these paths."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the loader in C is faster, but not available everywhere
    found: dict[str, Any] = yaml.load(FILE.read_bytes(), loader)
    found["info"]["version"] = version("nmt")
    served = set(paths)
    found["paths"] = {path: about for path, about in found["paths"].items() if path in served}
    return found


def routes(others: Iterable[BaseRoute]) -> list[Route]:
    """/spec, which describes the other routes and itself."""
    description = described(["/spec", *(route.path for route in others if isinstance(route, Route))])
    content = JsonResponse(description)

    async def spec(request: Request) -> Response:
        return content

    return [Route("/spec", spec)]
