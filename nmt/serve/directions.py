"""Which of the served models translates: codes of languages as other programs write them, and detection."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import langcodes

from nmt.serve.catalogue import Catalogue, Served
from nmt.serve.detect import DETECTED_FROM, detect
from nmt.serve.refusal import Refusal

AUTO = "auto"
# codes of LibreTranslate's own, and one language under two codes
ALIASES = {"pb": "pt-BR", "zt": "zh-Hant", "no": "nb", "nb": "no"}


@dataclass(frozen=True)
class Direction:
    """From which language into which, by which model; the confidence is that of detection, from 0 to 1."""

    source: str
    target: str
    served: Served | None  # None: the text is in the target language already
    confidence: float | None


def meant(code: str, served: Iterable[str]) -> str | None:
    """The served language that another program's code names: in any case, with a region or a script that we lack.

    zh-CN and zh-Hans are zh, but zh-TW, which is written in another script, is not; en-US is en, and pt is pt-BR.
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
            return min(found, key=len)  # the general one before that of a region
    return None


def direction(
    catalogue: Catalogue, source: str, target: str, texts: Sequence[str], name: str | None = None
) -> Direction:
    """The direction that is asked for; source=auto: the texts, taken together, decide. Raises Refusal(400).

    `name`: of the model; None: the first of its direction.
    """
    served = catalogue.directions()
    languages = sorted({language for each in served for language in each})
    into = meant(target, sorted({each for _, each in served}))
    if into is None:
        raise Refusal(400, f"{target} is not supported as a target; this server translates {listed(served)}")
    if source.lower() == AUTO:
        found = detected("\n".join(texts), languages)
        origin, confidence = found[0] if found else (default_source(served, into), 0.0)
    else:
        named = meant(source, languages)
        if named is None:
            raise Refusal(400, f"{source} is not supported; this server translates {listed(served)}")
        origin, confidence = named, None
    if origin == into:
        return Direction(origin, into, None, confidence)
    if (origin, into) not in served:
        how = " (detected)" if confidence is not None else ""
        message = f"{origin}{how} to {into} is not supported; this server translates {listed(served)}"
        raise Refusal(400, message)
    return Direction(origin, into, catalogue.find(origin, into, name), confidence)


def detected(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Which of the languages the text is probably in, the likeliest first; none where it has no letters."""
    start = text[:DETECTED_FROM]
    return detect(start, languages) if any(char.isalpha() for char in start) else []


def default_source(served: Sequence[tuple[str, str]], into: str) -> str:
    """A source language for a text that says nothing about its own."""
    return next(source for source, target in served if target == into)


def listed(served: Sequence[tuple[str, str]]) -> str:
    """The directions, for people."""
    return ", ".join(f"{source} to {target}" for source, target in served)


def _language_and_script(code: str) -> tuple[str | None, str | None] | None:
    """What two codes of one written language have in common; None: it is no code."""
    try:
        likely = langcodes.Language.get(code).maximize()
    except ValueError:  # langcodes' own errors are of this class
        return None
    return likely.language, likely.script
