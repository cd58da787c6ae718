"""File translation for LibreTranslate's clients: a file is uploaded, translated and downloaded once."""

import asyncio
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from time import monotonic
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from nmt.serve.addresses import scheme_of
from nmt.serve.catalogue import Served
from nmt.serve.directions import Direction, direction
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal
from nmt.serve.results import Result
from nmt.serve.search_wish import Search
from nmt.serve.server import Server, secret_of
from nmt.serve.text_files import read_text_file
from nmt.serve.texts import Answer
from nmt.serve.uploads import Upload, read_upload

SUPPORTED = [".txt"]
LINES_AT_ONCE, CHARACTERS_AT_ONCE = 32, 5000
ATTEMPTS, LONGEST_PAUSE_S = 10, 5  # for a portion of a file, if the queue is full
LONGEST_NAME = 100  # characters kept of the client's file name


async def translate_file(request: Request) -> Response:
    """POST /translate_file: {"translatedFileUrl": …}.

    Whatever can be refused without the file is refused before it is read.
    """
    server: Server = request.app.state.server
    if secret_of(request) is not None:
        server.key_of(request)
    with server.room_for_file():
        result = await _result(request, server, await read_upload(request))
        token = await run_in_threadpool(server.files.keep, result)
    url = request.url_for("download_file", token=token)
    return JsonResponse({"translatedFileUrl": str(url.replace(scheme=scheme_of(request, server.settings.trust_proxy)))})


async def _result(request: Request, server: Server, upload: Upload) -> Result:
    """The translated file. Raises Refusal."""
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
    return Result(_named(upload.name, chosen.target), file.with_lines(lines))


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
    """The lines, translated a few at a time, so that a long file leaves room for other requests.

    Lines without letters stay as they are.
    """
    done = list(lines)
    if chosen.served is None:
        return done
    until = monotonic() + server.settings.file_timeout_s
    for some in await run_in_threadpool(_portions, lines, server.settings.characters):
        answers = await _patiently(request, server, chosen.served, [lines[number] for number in some], until)
        for number, answer in zip(some, answers, strict=True):
            done[number] = answer.text
    return done


def _portions(lines: Sequence[str], most: int) -> list[list[int]]:
    """Indices of lines to translate together. Raises Refusal if a line has more characters than `most`."""
    for number, line in enumerate(lines, 1):
        if len(line) > most:
            message = f"line {number:,} has {len(line):,} characters, more than {most:,}; break it into several"
            raise Refusal(400, message)
    portions: list[list[int]] = [[]]
    characters = 0
    for number, line in enumerate(lines):
        if any(char.isalpha() for char in line):
            some = portions[-1]
            if some and (len(some) == LINES_AT_ONCE or characters + len(line) > CHARACTERS_AT_ONCE):
                portions.append([])
                characters = 0
            portions[-1].append(number)
            characters += len(line)
    return [some for some in portions if some]


async def _patiently(
    request: Request, server: Server, served: Served, texts: Sequence[str], until: float
) -> list[Answer]:
    """The translations of one portion of a file. A full queue is tried again, up to `ATTEMPTS` times in all.

    Each attempt has the time limit of a request; none begins after `until`, a time of the monotonic clock.
    """
    left = ATTEMPTS
    while True:
        if monotonic() > until:
            limit = server.settings.file_timeout_s
            raise Refusal(413, f"the file was not translated within {limit:g} s; send a shorter one")
        server.start_time(request)
        left -= 1
        try:
            return await server.translate(request, served, texts, Search())
        except Refusal as refusal:
            if refusal.status != 503 or server.stopping or not left:
                raise
            await asyncio.sleep(min(refusal.retry_after_s or 1, LONGEST_PAUSE_S))


def _named(client_name: str, target: str) -> str:
    """The translated file's name: the client's, without folders and special characters, plus the target language."""
    name = PureWindowsPath(PurePosixPath(client_name).name).name
    stem = "".join(char for char in PurePosixPath(name).stem if char.isprintable() and char not in '"\\/;')
    return f"{stem[:LONGEST_NAME] or 'file'}_{target}{PurePosixPath(name).suffix.lower()}"
