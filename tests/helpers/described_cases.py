"""Cases that schemathesis makes of the description of the API, and the checks of their answers."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode, openapi
from schemathesis.checks import CHECKS, load_all_checks

load_all_checks()
NAMES = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
LIMITS = {"beam": 4, "n_best": 3, "count": 3, "alternatives": 2}  # so that searches are short
LONGEST = 40  # characters of a text


def conforms(case: Any, response: Any) -> None:
    """Raises where the answer is not as the description says, or is a mistake of the server."""
    assert response.status_code < 500 or response.status_code == 503, response.text
    case.validate_response(response, checks=CHECKS.get_by_names(list(NAMES)))


def narrowed(description: dict[str, Any], languages: list[str]) -> dict[str, Any]:
    """The same description for short texts in these languages, so that most of the valid cases are translated."""
    found = copy.deepcopy(description)
    schemas = found["components"]["schemas"]
    schemas["Source"] = {"enum": ["auto", *languages]}
    schemas["Target"] = {"enum": languages}
    for name, schema in schemas.items():
        if not name.endswith("Request"):
            continue
        properties = schema["properties"]
        for field in ("model", "api_key"):  # others than the right ones are only refused
            properties.pop(field, None)
        for field in ("source_lang", "target_lang"):
            if field in properties:
                properties[field] = {"enum": languages}
        for field, most in LIMITS.items():
            if field in properties:
                properties[field]["maximum"] = most
    _shorten([schemas[name] for name in schemas if name.endswith("Request")] + [schemas["TextOrTexts"]])
    return found


def _shorten(schema: Any) -> None:
    """Limits the length of every text and list."""
    if isinstance(schema, list):
        for each in schema:
            _shorten(each)
    elif isinstance(schema, dict):
        if schema.get("type") == "string":
            schema.setdefault("maxLength", LONGEST)
        if schema.get("type") == "array":
            schema.setdefault("maxItems", 3)
        for each in schema.values():
            _shorten(each)


def operations(description: dict[str, Any]) -> list[Any]:
    """All of them."""
    return [found.ok() for found in openapi.from_dict(description).get_all_operations()]


def modes(operation: Any) -> list[GenerationMode]:
    """Cases that keep to the description and, where there is something to break, cases that do not."""
    return list(GenerationMode) if operation.body or operation.query else [GenerationMode.POSITIVE]


def tried(operation: Any, mode: GenerationMode, cases: int, start: int, check: Callable[[Any], None]) -> int:
    """How many cases of the operation were tried; raises, with the smallest found, where one fails."""
    count = 0

    @seed(start)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        nonlocal count
        count += 1
        check(case)

    one()
    return count


def every_kind(description: dict[str, Any]) -> Iterator[tuple[Any, GenerationMode]]:
    """Each operation with each of its modes."""
    for operation in operations(description):
        for mode in modes(operation):
            yield operation, mode
