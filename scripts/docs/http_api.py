"""The page of the HTTP API, made from nmt/serve/openapi.yaml, which the server's tests hold to what it answers."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from command_line import ROOT
from docs.markdown import code, plain, table

DESCRIPTION = ROOT / "nmt" / "serve" / "openapi.yaml"
VERBS = ("get", "post", "put", "delete")
Plain = Mapping[str, Any]


def page(description: Path = DESCRIPTION) -> str:
    """The page; without the description, where to find what there is."""
    head = ["# HTTP API", ""]
    guide = "[A page to translate in, and an API for programs](../serve.md)"
    if not description.is_file():
        return "\n".join([*head, f"{guide} lists the routes and the fields of `nmt serve`.", ""])
    api = yaml.safe_load(description.read_text("utf-8"))
    lines = [*head, plain(api["info"]["description"].strip()), ""]
    lines += [
        f"`GET /spec` answers with this description as JSON (OpenAPI {api['openapi']}). {guide} has examples.",
        "",
    ]
    for tag in api["tags"]:
        routes = [
            (path, verb, operation)
            for path, verbs in api["paths"].items()
            for verb, operation in verbs.items()
            if verb in VERBS and tag["name"] in operation["tags"]
        ]
        if routes:
            lines += [f"## {tag['name']}", "", plain(tag["description"]), ""]
        for path, verb, operation in routes:
            lines += _route(api, path, verb, operation)
    lines += ["## Objects", ""]
    for name, schema in api["components"]["schemas"].items():
        lines += [f"### {name} {{ #{name} }}", ""]
        if "description" in schema:
            lines += [plain(schema["description"]), ""]
        if fields := _fields(api, schema):
            lines += table(["field", "type", "meaning"], fields)
        else:
            lines += [f"{_type(schema)}.", ""]
    return "\n".join(lines)


def _route(api: Plain, path: str, verb: str, operation: Plain) -> Iterator[str]:
    anchor = re.sub(r"[^a-z0-9]+", "-", f"{verb}{path}".lower()).strip("-")
    yield f"### {verb.upper()} {plain(path)} {{ #{anchor} }}"
    yield ""
    yield plain(operation["summary"])
    yield ""
    if "description" in operation:
        yield from [plain(operation["description"].strip()), ""]
    parameters = [_followed(api, each) for each in operation.get("parameters", [])]
    if parameters:
        rows = [
            [code(each["name"]), _type(each.get("schema", {})), plain(each.get("description", ""))]
            for each in parameters
        ]
        yield from table(["parameter", "type", "meaning"], rows)
    if "requestBody" in operation:
        body = _followed(api, operation["requestBody"])
        kinds = {kind: _type(content.get("schema", {})) for kind, content in body["content"].items()}
        bodies = {shown: [code(kind) for kind, own in kinds.items() if own == shown] for shown in kinds.values()}
        yield from ["Body: " + "; ".join(f"{shown} as {' or '.join(own)}" for shown, own in bodies.items()) + ".", ""]
    rows = []
    for status, answer in operation["responses"].items():
        answer = _followed(api, answer)
        contents = dict.fromkeys(_type(content.get("schema", {})) for content in answer.get("content", {}).values())
        rows.append([code(status), plain(answer["description"].strip()), ", ".join(contents)])
    yield from table(["status", "meaning", "body"], rows)


def _followed(api: Plain, node: Plain) -> Plain:
    """What a reference points to."""
    while "$ref" in node:
        found: Any = api
        for word in node["$ref"].removeprefix("#/").split("/"):
            found = found[word]
        node = found
    return node


def _fields(api: Plain, schema: Plain) -> list[list[str]]:
    """Rows of an object's fields, those of the schemas that it extends included."""
    rows = []
    for part in [schema, *schema.get("allOf", [])]:
        part = _followed(api, part)
        required = part.get("required", [])
        for name, own in part.get("properties", {}).items():
            said = plain(own.get("description", _followed(api, own).get("description", "")).strip())
            rows.append([code(name) + (" *required*" if name in required else ""), _type(own), said])
    return rows


def _type(schema: Plain) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "enum" in schema:
        return ", ".join(code(str(word)) for word in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    limits = [f"from {schema['minimum']:,}"] if "minimum" in schema else []
    limits += [f"to {schema['maximum']:,}"] if "maximum" in schema else []
    limits += [f"{word} {code(str(schema['default']))}" for word in ("default",) if word in schema]
    return " ".join([str(kind), *limits])
