"""Translating files as LibreTranslate's clients ask for it: upload, translate, download once."""

import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from nmt.serve.directions import Direction, direction
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal
from nmt.serve.results import Result
from nmt.serve.search_wish import Search
from nmt.serve.server import Server
from nmt.serve.text_files import read_text_file
from nmt.serve.uploads import read_upload

SUPPORTED = [".txt"]
LINES_AT_ONCE = 32
LONGEST_NAME = 100  # characters of the client's file name


async def translate_file(request: Request) -> Response:
    """POST /translate_file: {"translatedFileUrl": …}."""
    server: Server = request.app.state.server
    upload = await read_upload(request)
    if upload.name is None:
        raise Refusal(400, "Invalid request: missing file parameter")
    for name in ("source", "target"):
        if not upload.fields.get(name):
            raise Refusal(400, f"Invalid request: missing {name} parameter")
    kind = PurePosixPath(upload.name).suffix.lower()
    if kind not in SUPPORTED:
        raise Refusal(
            400, f"{kind or 'a file without an ending'} is not supported; send one of: {', '.join(SUPPORTED)}"
        )
    file = await run_in_threadpool(read_text_file, upload.content)
    server.charge(request, sum(map(len, file.lines)))
    chosen = direction(server.catalogue, upload.fields["source"], upload.fields["target"], file.lines)
    lines = await _translated(request, server, chosen, file.lines)
    result = Result(_named(upload.name, chosen.target), file.with_lines(lines))
    token = await run_in_threadpool(server.files.keep, result)
    return JsonResponse({"translatedFileUrl": str(request.url_for("download_file", token=token))})


async def download_file(request: Request) -> Response:
    """GET /download_file/…: the translated file, which is deleted once it has been sent."""
    server: Server = request.app.state.server
    token = request.path_params["token"]
    result = await run_in_threadpool(server.files.find, token)
    ascii_name = unicodedata.normalize("NFKD", result.name).encode("ascii", "ignore").decode().replace("?", "")
    headers = {
        "Content-Disposition": f"attachment; filename=\"{ascii_name or 'translated'}\"; filename*=UTF-8''"
        + quote(result.name, safe=""),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    gone = None if request.method == "HEAD" else BackgroundTask(server.files.remove, token)
    return Response(result.content, media_type="text/plain; charset=utf-8", headers=headers, background=gone)


async def _translated(request: Request, server: Server, chosen: Direction, lines: Sequence[str]) -> list[str]:
    """The lines, a few at once, so that a long file leaves room for others; what has no letters stays as it is."""
    if chosen.served is None:
        return list(lines)
    done = list(lines)
    wanted = [number for number, line in enumerate(lines) if any(char.isalpha() for char in line)]
    for start in range(0, len(wanted), LINES_AT_ONCE):
        some = wanted[start : start + LINES_AT_ONCE]
        answers = await server.translate_admitted(request, chosen.served, [lines[number] for number in some], Search())
        for number, answer in zip(some, answers, strict=True):
            done[number] = answer.text
    return done


def _named(client_name: str, target: str) -> str:
    """The name for the translated file: the client's, without folders and what is not printed, with the language."""
    name = PureWindowsPath(PurePosixPath(client_name).name).name
    stem = "".join(char for char in PurePosixPath(name).stem if char.isprintable() and char not in '"\\/;')
    return f"{stem[:LONGEST_NAME] or 'file'}_{target}{PurePosixPath(name).suffix.lower()}"
