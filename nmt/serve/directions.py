"""Chooses the model for a request, from language codes as other programs write them or by detection."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import langcodes

from nmt.serve.catalogue import Catalogue, Served
from nmt.serve.detect import DETECTED_FROM, detect
from nmt.serve.refusal import Refusal

AUTO = "auto"
LONGEST_CODE = 35  # characters: as many as BCP 47 (4.4.1) asks programs to take
MOST_CODES = 10_000  # langcodes keeps each code that it has read, and a client may send any number of them
# LibreTranslate's own codes, and a language that has two codes
ALIASES = {"pb": "pt-BR", "zt": "zh-Hant", "no": "nb", "nb": "no"}


@dataclass(frozen=True)
class Direction:
    """Source and target language, the model, and the confidence of the detection (0 to 1; None without detection)."""

    source: str
    target: str
    served: Served | None  # None: the text is in the target language already
    confidence: float | None


def meant(code: str, served: Iterable[str]) -> str | None:
    """The served language that another program's code means, or None. Case and region need not be the same.

    zh-CN and zh-Hans mean zh; zh-TW does not, because it is written in another script. en-US means en, and pt means
    pt-BR if pt is not served.
    """
    codes = list(served)
    wanted = code.strip().replace("_", "-").lower()
    candidates = [wanted, ALIASES[wanted].lower()] if wanted in ALIASES else [wanted]
    for candidate in candidates:
        for each in codes:
            if each.replace("_", "-").lower() == candidate:
                return each
    known = {each: _language_and_script(each) for each in codes}
    for candidate in candidates:
        language = _language_and_script(candidate)
        found = [each for each in codes if language is not None and known[each] == language]
        if found:
            return min(found, key=len)  # a general code before one with a region
    return None


def direction(
    catalogue: Catalogue, source: str, target: str, texts: Sequence[str], name: str | None = None
) -> Direction:
    """The direction that a request asks for; with source=auto, all texts together decide. Raises Refusal(400).

    `name` is the name of a model; None takes the first model of the direction.
    """
    served = catalogue.directions()
    languages = sorted({language for each in served for language in each})
    into = meant(target, sorted({each for _, each in served}))
    if into is None:
        raise Refusal(400, f"{target[:80]} is not supported as a target; this server translates {listed(served)}")
    if source.lower() == AUTO:
        found = detected("\n".join(texts), languages)
        origin, confidence = found[0] if found else (default_source(served, into), 0.0)
    else:
        named = meant(source, languages)
        if named is None:
            raise Refusal(400, f"{source[:80]} is not supported; this server translates {listed(served)}")
        origin, confidence = named, None
    if origin == into:
        return Direction(origin, into, None, confidence)
    if (origin, into) not in served:
        how = " (detected)" if confidence is not None else ""
        message = f"{origin}{how} to {into} is not supported; this server translates {listed(served)}"
        raise Refusal(400, message)
    return Direction(origin, into, catalogue.find(origin, into, name), confidence)


def detected(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """The languages with their probabilities, likeliest first; an empty list if the text has no letters."""
    start = text[:DETECTED_FROM]
    return detect(start, languages) if any(char.isalpha() for char in start) else []


def default_source(served: Sequence[tuple[str, str]], into: str) -> str:
    """The source language assumed for a text without letters."""
    return next(source for source, target in served if target == into)


def listed(served: Sequence[tuple[str, str]]) -> str:
    """The directions in words, for error messages."""
    return ", ".join(f"{source} to {target}" for source, target in served)


def _language_and_script(code: str) -> tuple[str | None, str | None] | None:
    """The likely language and script, which all codes of one written language share; None if the code is invalid."""
    if len(code) > LONGEST_CODE:
        return None
    for kept in (langcodes.Language._PARSE_CACHE, langcodes.Language._INSTANCES):
        if len(kept) > MOST_CODES:
            kept.clear()
    try:
        likely = langcodes.Language.get(code).maximize()
    except ValueError:  # langcodes' own errors are of this class
        return None
    return likely.language, likely.script
