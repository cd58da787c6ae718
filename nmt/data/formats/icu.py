"""Messages of ICU and Java: a text for each form of a plural or another choice.

Source: https://unicode-org.github.io/icu/userguide/format_parse/messages/
"""

import re

MOST_CHOICES, MOST_FORMS = 8, 64  # of one message
_CHOICE = re.compile(r"\{\s*[\w.\-]+\s*,\s*(plural|selectordinal|select|choice)\s*,\s*(?:offset:\s*\d+\s+)?")
_SELECTOR = re.compile(r"\s*(=\d+|[\w\-]+)\s*\{")
_BRACE = re.compile(r"''|'[{}][^']*'|[{}]")  # or a quoted part, whose braces do not count
_QUOTED = re.compile(r"'([{}#|][^']*)'")

Forms = dict[tuple[str, ...], str]


def forms_of(message: str) -> Forms | None:
    """Each text that the message may become, by the selectors of its choices; one text with () for a plain message.

    None: it has a choice that is not well-formed, is one of Java's `choice`, or has too many forms.
    """
    choices = _CHOICE.findall(message)
    if not choices:
        return {(): message}
    if len(choices) > MOST_CHOICES or "choice" in choices:
        return None
    forms = _expanded(message)
    return None if forms is None else {selectors: unquoted(text) for selectors, text in forms.items()}


def has_choice(message: str) -> bool:
    """Does the message have several forms?"""
    return _CHOICE.search(message) is not None


def unquoted(message: str) -> str:
    """The message without the apostrophes that double an apostrophe or quote braces."""
    return _QUOTED.sub(r"\1", message).replace("''", "'")


def _expanded(message: str) -> Forms | None:
    """The texts of a message or of a part of it; None if it is not well-formed or has too many."""
    found = _CHOICE.search(message)
    if found is None:
        return {(): message}
    branches = _branches(message, found.end())
    if branches is None:
        return None
    texts, end = branches
    rest = _expanded(message[end:])
    whole: Forms = {}
    for selector, text in texts.items():
        inner = _expanded(text)
        if inner is None or rest is None or len(whole) + len(inner) * len(rest) > MOST_FORMS:
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
    for token in _BRACE.finditer(message, at):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.start()
    return None
