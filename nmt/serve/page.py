"""Routes of the web page: the files in `page/`, read once; nothing else is served, whatever a request names."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

FOLDER = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # kept by the browser, and asked about by its ETag: a new version shows at once
}


@dataclass(frozen=True)
class Asset:
    """One file of the page, ready to be sent."""

    content: bytes
    headers: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Asset":
        content = path.read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        return cls(content, {**HEADERS, "Content-Type": TYPES[path.suffix], "ETag": etag})

    def response(self, request: Request) -> Response:
        """The file, or 304 where the browser has it."""
        known = request.headers.get("If-None-Match", "")
        if self.headers["ETag"] in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(status_code=304, headers={key: self.headers[key] for key in ("ETag", "Cache-Control")})
        return Response(self.content, headers=self.headers)


def routes() -> list[Route | Mount]:
    """`/` is the page, `/page/NAME` a file of it. Names are looked up among the files, never used as paths."""
    assets = {path.name: Asset.read(path) for path in FOLDER.iterdir() if path.suffix in TYPES}

    async def index(request: Request) -> Response:
        return assets["index.html"].response(request)

    async def asset(request: Request) -> Response:
        found = assets.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("The page has no such file.", status_code=404, headers=HEADERS)
        return found.response(request)

    return [Route("/", index), Route("/page/{name}", asset)]
