"""JSON answers that people can read: letters beyond ASCII are not escaped."""

import json
from typing import Any

from starlette.responses import Response


class JsonResponse(Response):
    """A response of compact JSON in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
