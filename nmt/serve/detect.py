"""Detects which of a server's languages a text is in. The detector is py3langid, which ships its model."""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from threading import Lock
from typing import Any

import langcodes

from nmt.data.language_filter import identifier

DETECTED_FROM = 10_000  # characters at the beginning of a text that detection reads

_lock = Lock()


def detect(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Each language with its probability (0 to 1), likeliest first. Languages unknown to py3langid come last, with 0.

    A code with a region or a script (zh-Hant) counts as its language.
    """
    by_code: dict[str, str] = {}
    for language in languages:
        by_code.setdefault(langcodes.Language.get(language).language or language, language)
    among = _identifier(tuple(sorted(by_code)))
    found: list[tuple[str, float]] = []
    if among is not None:
        with _lock:
            found = [(by_code[code], float(probability)) for code, probability in among.rank(text)]
    known = {language for language, _ in found}
    return found + [(language, 0.0) for language in languages if language not in known]


@lru_cache(maxsize=64)
def _identifier(codes: tuple[str, ...]) -> Any:
    """An identifier that chooses among these codes; None if py3langid knows none of them."""
    known = [code for code in codes if code in identifier().labels]
    if not known:
        return None
    among = copy(identifier())
    among.set_languages(known)
    return among
