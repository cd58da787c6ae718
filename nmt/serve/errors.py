"""Errors as JSON answers."""

from starlette.responses import Response

from nmt.serve.quick_json import JsonResponse
from nmt.serve.refusal import Refusal

DEEPL = "/v2/"


def error_response(path: str, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """A JSON error; its key is `message` in DeepL's API and `error` in the others."""
    return JsonResponse({"message" if path.startswith(DEEPL) else "error": message}, status, headers)


def refusal_response(path: str, refusal: Refusal) -> Response:
    """The refusal as a response, with Retry-After if the refusal names a time."""
    wait = refusal.retry_after_s
    return error_response(path, refusal.status, refusal.message, None if wait is None else {"Retry-After": str(wait)})
