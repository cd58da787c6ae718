"""JSON answers as people read them: text in its own letters, not in escapes."""

import json
from typing import Any

from starlette.responses import Response


class JsonResponse(Response):
    """Compact UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
