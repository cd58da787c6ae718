"""Routes of the web page. The files in `page/` are read once, and no request can reach any other file."""

import gzip
import hashlib
from collections.abc import Mapping
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
    "Vary": "Accept-Encoding",
}
ASK_EACH_TIME = "no-cache"
KEEP = "public, max-age=31536000, immutable"


class Asset:
    """One file of the page, ready to be sent."""

    def __init__(self, content: bytes, suffix: str, cache: str) -> None:
        self.plain = content
        self.packed = gzip.compress(content, mtime=0)
        etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        self.headers = {**HEADERS, "Content-Type": TYPES[suffix], "ETag": etag, "Cache-Control": cache}

    def response(self, asked: Mapping[str, str]) -> Response:
        """The file, compressed if the request allows it, or status 304 if the browser already has it."""
        known = (tag.strip().removeprefix("W/") for tag in asked.get("If-None-Match", "").split(","))
        if self.headers["ETag"] in known:
            return Response(
                status_code=304, headers={key: self.headers[key] for key in ("ETag", "Cache-Control", "Vary")}
            )
        if "gzip" in asked.get("Accept-Encoding", ""):
            weak = {"Content-Encoding": "gzip", "ETag": f"W/{self.headers['ETag']}"}
            return Response(self.packed, headers={**self.headers, **weak})
        return Response(self.plain, headers=self.headers)


def routes() -> list[Route | Mount]:
    """`/` is the page, `/page/VERSION/NAME` one of its files. Names are looked up among the files, never used as paths.

    The version is a hash of all files. Browsers may therefore keep files for good, and a new page gets its own files.
    """
    files = {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}
    version = hashlib.sha256(b"\0".join(files.values())).hexdigest()[:12]
    html = files.pop("index.html").replace(b'"page/', f'"page/{version}/'.encode())
    index = Asset(html, ".html", ASK_EACH_TIME)
    assets = {name: Asset(content, Path(name).suffix, KEEP) for name, content in files.items()}

    async def page(request: Request) -> Response:
        return index.response(request.headers)

    async def asset(request: Request) -> Response:
        found = assets.get(request.path_params["name"])
        if found is None or request.path_params["version"] != version:
            return PlainTextResponse("The page has no such file.", status_code=404, headers=HEADERS)
        return found.response(request.headers)

    return [Route("/", page), Route("/page/{version}/{name}", asset)]
