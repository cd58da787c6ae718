"""The fields of a request, sent as a JSON object, a form or a query."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from nmt.serve.refusal import Refusal
from nmt.serve.uploads import read_text_form

WHOLE = re.compile("-?[0-9]{1,20}")
MOST_FIELDS = 2000  # in a form or query; JSON is limited by the size of the body alone
CHARACTER_BYTES = 12  # of a character at its longest: an emoji, escaped in JSON or in a form
OTHER_BYTES = 65_536  # of a body beside its texts


async def body_of(request: Request) -> dict[str, Any]:
    """The fields; a repeated field of a form or query is a list. An API key in a field counts as the request's key."""
    query = _fields(request.url.query)
    raw = await request.body()
    most = CHARACTER_BYTES * request.app.state.server.settings.characters + OTHER_BYTES
    if len(raw) > most:  # reading it would hold up other requests
        raise Refusal(413, f"the body has more than {most:,} bytes; send less at once")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if not raw.strip():
        found = query
    elif kind == "application/x-www-form-urlencoded" and not raw.lstrip().startswith(b"{"):
        found = {**query, **_fields(_text(raw))}
    elif kind == "multipart/form-data":
        found = {**query, **_merged(await read_text_form(request, MOST_FIELDS, len(raw)))}
    elif kind in ("", "application/json", "text/plain", "application/x-www-form-urlencoded") or kind.endswith("+json"):
        found = {**query, **_object(raw)}
    else:
        raise Refusal(400, f"a body of type {kind} cannot be read; send application/json")
    for name in ("api_key", "auth_key"):  # LibreTranslate's and DeepL's
        if isinstance(found.get(name), str) and found[name]:
            request.state.secret = found[name]
    return found


def _fields(encoded: str) -> dict[str, Any]:
    if not encoded:
        return {}
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, "the text is not valid UTF-8; send it as UTF-8") from None
    except ValueError:
        raise Refusal(400, f"more than {MOST_FIELDS:,} fields; send fewer, or JSON") from None
    return _merged(pairs)


def _merged(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The fields; those with one name are a list."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        key = key.removesuffix("[]")
        if key not in found:
            found[key] = value
        elif isinstance(found[key], list):
            found[key].append(value)
        else:
            found[key] = [found[key], value]
    return found


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not valid UTF-8; send it as UTF-8") from None


def _object(raw: bytes) -> dict[str, Any]:
    text = _text(raw.removeprefix(b"\xef\xbb\xbf"))
    try:
        found = json.loads(text)
        if "\\u" in text:  # an escape, perhaps of half a surrogate pair
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refusal(400, "the text holds half of a surrogate pair; send valid Unicode") from None
    except (ValueError, RecursionError):
        raise Refusal(400, 'the body is not valid JSON; send an object such as {"q": "Hello"}') from None
    if not isinstance(found, dict):
        raise Refusal(400, 'the body is not a JSON object; send one such as {"q": "Hello"}')
    return found


def text_field(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """A field that is one text."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise Refusal(400, f"{name} is missing; give a text" if value is None else f"{name} is not a text; give one")
    return value


def texts_field(body: dict[str, Any], name: str) -> list[str]:
    """A field that is one text or a list of them."""
    value = body.get(name)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value) or not value:
        raise Refusal(400, f"{name} is {'missing' if value is None else 'not a text'}; give a text or a list of texts")
    return value


def number_field(body: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A whole number from `least` to `most`, which a form sends as text; `default` if it is missing or null."""
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, str) and WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refusal(400, f"{name} must be a whole number from {least} to {most}")
    return value


def flag_field(body: dict[str, Any], name: str, default: bool) -> bool:
    """A field that is true or false, which a form sends as text; `default` if it is missing or null."""
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if not isinstance(value, bool):
        raise Refusal(400, f"{name} must be true or false")
    return value
