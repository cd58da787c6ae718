"""Errors as JSON answers."""

import sys

from starlette.responses import Response

from nmt.errors import CheckpointError, NmtError, in_one_line
from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal

DEEPL = "/v2/"


def error_response(path: str, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """A JSON error; its key is `message` in DeepL's API and `error` in the others."""
    return JsonResponse({"message" if path.startswith(DEEPL) else "error": message}, status, headers)


def refusal_of(error: NmtError) -> Refusal:
    """The refusal for an error of the translator: 400 for what a request asks; 500 for a damaged model, and a log line.

    That error names the run folder, which is not the client's business.
    """
    if not isinstance(error, CheckpointError):
        return Refusal(400, in_one_line(error))
    print(f"error: {in_one_line(error)}", file=sys.stderr, flush=True)
    return Refusal(500, "the model is damaged; the server's log says more")


def refusal_response(path: str, refusal: Refusal) -> Response:
    """The refusal as a response, with Retry-After if the refusal names a time."""
    wait = refusal.retry_after_s
    return error_response(path, refusal.status, refusal.message, None if wait is None else {"Retry-After": str(wait)})
