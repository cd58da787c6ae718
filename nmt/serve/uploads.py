"""Reads multipart forms, with one file or none, as a stream. The guard limits the size of all requests."""

import logging
from dataclasses import dataclass

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from nmt.serve.refusal import Refusal

MOST_FIELDS = 16
FIELD_BYTES = 4096  # longest field that is not a file

# A malformed form is the client's error. The client gets an answer, and nothing goes into the server's log.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Upload:
    """The fields of the form, and the file with the name that the client gave it."""

    fields: dict[str, str]
    name: str | None  # None: there is no file
    content: bytes


async def read_text_form(request: Request, most_fields: int, longest: int) -> list[tuple[str, str]]:
    """The names and texts of a form without files. Raises Refusal(400)."""
    form = await _parsed(request, 0, most_fields, longest)
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


async def read_upload(request: Request) -> Upload:
    """Reads the form. Until it is complete, a large file waits in an unnamed temporary file. Raises Refusal(400)."""
    kind, _ = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        raise Refusal(400, "send the file as multipart/form-data, with the fields file, source and target")
    form = await _parsed(request, 1, MOST_FIELDS, FIELD_BYTES)
    if fields_secret := form.get("api_key"):
        request.state.secret = fields_secret
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    file = form.get("file")
    if not isinstance(file, UploadFile):
        await form.close()
        return Upload(fields, None, b"")
    try:
        content = await file.read()
    finally:
        await form.close()
    return Upload(fields, file.filename or "", content)


async def _parsed(request: Request, files: int, fields: int, longest: int) -> FormData:
    """The form, with at most so many files and other fields, and no longer field than this (bytes)."""
    _, parameters = parse_options_header(request.headers.get("content-type", ""))
    if parameters.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise Refusal(400, "the form is not in UTF-8; send it as UTF-8, without a charset")
    parser = MultiPartParser(
        request.headers,
        request.stream(),
        max_files=files,
        max_fields=fields,
        max_part_size=longest,
    )
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise Refusal(400, f"the form cannot be read: {error.message}") from None
