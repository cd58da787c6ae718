"""Strings of apps in trees of names: JSON (Flutter's ARB, i18next, Chrome's extensions) and YAML (Rails)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from nmt.data.formats.keyed import QUANTITIES, Keyed, Place, Strings, joined_halves, keyed_forms
from nmt.errors import DataError, printable

MOST_NESTED = 50
CHROME = {"message", "description", "placeholders"}  # names within a string of a browser extension
Tree = dict[str, Any] | list[Any] | str | None  # of names and texts; None: a number, a truth value or nothing
_RESOLVER = yaml.resolver.Resolver()
_SYMBOL = re.compile(r":[A-Za-z_]\w*")  # of Ruby
_TEXT = "tag:yaml.org,2002:str"


def read_json_strings(path: Path, text: str) -> Strings:
    """The strings of a JSON file, whose whole content is `text`: an object. Names with @ describe others."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = printable(str(error).split(": line")[0])
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(
            f"{path}{line}: not valid JSON ({reason}); correct the file, or read JSON lines with data=jsonl"
        ) from error
    if not isinstance(tree, dict):
        raise DataError(f"{path} is JSON without a name for each text; read rows with data=jsonl")
    language = tree.get("@@locale")
    named = {name: each for name, each in tree.items() if not name.startswith("@")}
    if named and all(map(_is_of_chrome, named.values())):
        named = {name: each["message"] for name, each in named.items()}
    return Strings(language if isinstance(language, str) else None, dict(_texts(path, named, ())))


def _is_of_chrome(entry: Tree) -> bool:
    """Is this a string of a browser extension, beside its description?"""
    return isinstance(entry, dict) and isinstance(entry.get("message"), str) and entry.keys() <= CHROME


def read_yaml(path: Path, text: str) -> Strings:
    """The strings of a YAML file, whose whole content is `text`. Tags are ignored, and aliases are no text."""
    try:
        tree = _tree(path, text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        reason = printable(getattr(error, "problem", None) or str(error).split("\n")[0])[:80]
        raise DataError(f"{path}{line}: not valid YAML ({reason}); correct the file") from error
    if not isinstance(tree, dict):
        raise DataError(f"{path} is YAML without a name for each text; name another file, or another data=")
    return Strings(None, dict(_texts(path, tree, ())))


def _tree(path: Path, text: str) -> Tree:
    """The content of a YAML file, from its events: nothing is made of tags, and aliases cannot multiply anything."""
    documents: list[Tree] = []
    open_trees: list[tuple[dict[str, Any] | list[Any], str | None]] = []  # from the outside, with a mapping's last name

    def add(value: Tree, name: str | None) -> None:
        if not open_trees:
            documents.append(value)
            return
        holder, waiting = open_trees[-1]
        if isinstance(holder, list):
            holder.append(value)
        elif waiting is None:
            open_trees[-1] = (holder, name if name is not None else "")
        else:
            holder[waiting] = value
            open_trees[-1] = (holder, None)

    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.ScalarEvent):
            tag = event.tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
            is_symbol = event.implicit[0] and _SYMBOL.fullmatch(event.value)
            add(None if is_symbol or tag != _TEXT else event.value, event.value)
        elif isinstance(event, yaml.AliasEvent):
            add(None, None)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(open_trees) == MOST_NESTED:
                raise _too_deep(path)
            open_trees.append(({} if isinstance(event, yaml.MappingStartEvent) else [], None))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            add(open_trees.pop()[0], None)
    named = [each for each in documents if isinstance(each, dict)]
    return {name: each for document in named for name, each in document.items()} if named else documents


def _texts(path: Path, tree: Tree, names: tuple[str, ...]) -> Iterator[tuple[Place, Keyed]]:
    """Every text below these names, with its place."""
    if len(names) > MOST_NESTED:
        raise _too_deep(path)
    if isinstance(tree, str):
        yield from keyed_forms(".".join(names), tree)
    elif isinstance(tree, list):
        for number, each in enumerate(tree):
            yield from _texts(path, each, (*names, str(number)))
    elif isinstance(tree, dict):
        for name, each in tree.items():
            stem, quantity = _parts(name, tree)
            if quantity is not None and isinstance(each, str):
                yield Place(".".join((*names, *stem)), (quantity,)), Keyed((joined_halves(each),))
            else:
                yield from _texts(path, each, (*names, name))


def _parts(name: str, siblings: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
    """Of a plural's form, the rest of its name and the quantity.

    Such forms are one beside other, files_one beside files_many, and files beside files_plural.
    """
    if name in QUANTITIES and siblings.keys() <= set(QUANTITIES) and (len(siblings) > 1 or name == "other"):
        return (), name
    stem, _, quantity = name.rpartition("_")
    if stem and quantity in QUANTITIES and (quantity == "other" or _forms_beside(stem, siblings) > 1):
        return (stem,), quantity
    if f"{name}_plural" in siblings:
        return (name,), "one"
    return ((stem,), "other") if quantity == "plural" and stem in siblings else ((name,), None)


def _forms_beside(stem: str, siblings: dict[str, Any]) -> int:
    return sum(f"{stem}_{quantity}" in siblings for quantity in QUANTITIES)


def _too_deep(path: Path) -> DataError:
    return DataError(f"{path}: names are nested more than {MOST_NESTED} deep; name another file, or another data=")
