"""Which of the languages that a server reads a text is in: py3langid, whose model is in its package."""

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

import langcodes

_lock = Lock()


def detect(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Each language with its probability from 0 to 1, the likeliest first; one that py3langid does not know comes last.

    A code with a region or a script (zh-Hant) counts as its language.
    """
    by_code: dict[str, str] = {}
    for language in languages:
        by_code.setdefault(langcodes.Language.get(language).language or language, language)
    identifier = _identifier(tuple(sorted(by_code)))
    found: list[tuple[str, float]] = []
    if identifier is not None:
        with _lock:
            found = [(by_code[code], float(probability)) for code, probability in identifier.rank(text)]
    known = {language for language, _ in found}
    return found + [(language, 0.0) for language in languages if language not in known]


@lru_cache(maxsize=64)
def _identifier(codes: tuple[str, ...]) -> Any:
    """One that tells these codes apart; None where it knows none of them."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = [code for code in codes if code in identifier.nb_classes]
    if not known:
        return None
    identifier.set_languages(known)
    return identifier
