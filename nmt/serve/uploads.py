"""A form with one file, read as a stream: its size is known to be bounded before it is stored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from nmt.serve.refusal import Refusal

MOST_FIELDS = 16
FIELD_BYTES = 4096  # of one that is no file
FORM_BYTES = 1 << 17  # around the file: fields, and the lines between parts


@dataclass(frozen=True)
class Upload:
    """The fields of the form, and the file with the name that the client gave it."""

    fields: dict[str, str]
    name: str | None  # None: there is no file
    content: bytes


async def read_upload(request: Request, most_bytes: int) -> Upload:
    """The form. Beyond memory the file is in an unnamed temporary file. Raises Refusal(400 or 413)."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Refusal(400, "send the file as multipart/form-data, with the fields file, source and target")
    too_large = Refusal(413, f"the file is larger than the {most_bytes:,} bytes that this server takes")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most_bytes + FORM_BYTES:
        raise too_large

    async def bounded() -> AsyncIterator[bytes]:
        received = 0
        async for chunk in request.stream():
            received += len(chunk)
            if received > most_bytes + FORM_BYTES:
                raise too_large
            yield chunk

    parser = MultiPartParser(
        request.headers,
        bounded(),  # type: ignore[arg-type]  # it is a generator
        max_files=1,
        max_fields=MOST_FIELDS,
        max_part_size=FIELD_BYTES,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise Refusal(400, f"the form cannot be read: {error.message}") from None
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    file = form.get("file")
    if not isinstance(file, UploadFile):
        await form.close()
        return Upload(fields, None, b"")
    try:
        content = await file.read(most_bytes + 1)
    finally:
        await form.close()
    if len(content) > most_bytes:
        raise too_large
    return Upload(fields, file.filename or "", content)
