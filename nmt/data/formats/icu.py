"""Messages of ICU: a text for each form of a plural or another choice.

Source: https://unicode-org.github.io/icu/userguide/format_parse/messages/
"""

import re

MOST_FORMS = 64  # of one message
MOST_NESTED = 8  # choices within choices
_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(?:plural|selectordinal|select)\s*,\s*(?:offset:\s*\d+\s+)?")
_SELECTOR = re.compile(r"\s*(=\d+|[\w\-]+)\s*\{")


def forms_of(message: str) -> dict[tuple[str, ...], str]:
    """Each text that the message may become, by the selectors of its choices; one text with () for a plain message.

    A message that is not well-formed is a plain text, and so is one with more than 64 texts.
    """
    if not _CHOICE.search(message):
        return {(): message}
    forms = _expanded(message, MOST_NESTED)
    return {(): message} if forms is None else forms


def _expanded(message: str, depth: int) -> dict[tuple[str, ...], str] | None:
    """The texts of a message or of a part of it; None if it is not well-formed or has too many."""
    found = _CHOICE.search(message)
    if found is None:
        return {(): message}
    branches = _branches(message, found.end())
    if branches is None or not depth:
        return None
    texts, end = branches
    rest = _expanded(message[end:], depth)
    if rest is None:
        return None
    whole: dict[tuple[str, ...], str] = {}
    for selector, text in texts.items():
        inner = _expanded(text, depth - 1)
        if inner is None or len(whole) + len(inner) * len(rest) > MOST_FORMS:
            return None
        for within, middle in inner.items():
            for after, last in rest.items():
                whole[(selector, *within, *after)] = f"{message[: found.start()]}{middle}{last}"
    return whole


def _branches(message: str, at: int) -> tuple[dict[str, str], int] | None:
    """The text of each selector of a choice, and where the choice ends; None if that is not well-formed."""
    texts: dict[str, str] = {}
    while selector := _SELECTOR.match(message, at):
        end = _closing(message, selector.end())
        if end is None:
            return None
        texts[selector[1]] = message[selector.end() : end]
        at = end + 1
    closing = re.compile(r"\s*\}").match(message, at)
    return (texts, closing.end()) if texts and closing else None


def _closing(message: str, at: int) -> int | None:
    """The place of the brace that closes the one before `at`."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(message, at):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None
