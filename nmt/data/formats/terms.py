"""Concepts of a glossary, with several terms in each language, as segments."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from unicodedata import normalize

from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.segment import Segment, State, Text, without_codes
from nmt.data.text import is_visible

NOT_TO_BE_USED = (  # in the letters of a status, such as deprecatedTerm-admn-sts in TBX; without endings
    *("deprecat", "superseded", "obsolet", "forbidden", "prohibited", "rejected", "banned", "disallowed"),
    *("donotuse", "dontuse", "nottobeused", "notrecommended", "notpreferred", "nonpreferred", "notallowed"),
    *("notapproved", "unapproved"),
    *("verboten", "veraltet", "überholt", "abgelehnt", "gesperrt", "unzulässig", "nichtverwenden", "nichtbenutzen"),
    *("nichtempfohlen", "nichtzugelassen", "nichterlaubt", "nichtfreigegeben"),
    *("interdit", "obsolèt", "rejeté", "déconseillé", "périmé", "àéviter", "nepasutiliser", "nonrecommandé"),
    *("prohibid", "rechazad", "desaconsejad", "nousar", "noutilizar", "norecomendad", "noaprobad"),
    *("vietat", "rifiutat", "sconsigliat", "nonusare", "nonutilizzare", "nonconsigliat"),
    *("proibid", "rejeitad", "nãousar", "nãoutilizar", "nãorecomendad"),
    *("verboden", "verouderd", "afgekeurd", "afgewezen", "nietgebruiken", "niettoegestaan", "nietaanbevolen"),
    *("禁用", "弃用", "废弃", "勿用", "不推荐", "禁止", "廃止", "非推奨", "使用不可"),
)
NOT = ("not", "nicht", "non", "pas", "no", "não", "niet")  # before one of these words, which then forbids nothing


class Term(NamedTuple):
    """A term of a concept."""

    text: Text
    usable: bool  # False: the glossary lists it as one that nobody should use


def is_usable(statuses: Iterable[str]) -> bool:
    """Do all statuses of a term allow its use?"""
    return not any(_forbids("".join(filter(str.isalpha, normalize("NFC", status.lower())))) for status in statuses)


def _forbids(letters: str) -> bool:
    negated = "|".join(NOT)
    return any(word in letters and word in re.sub(f"(?:{negated}){word}", "", letters) for word in NOT_TO_BE_USED)


def segments_of(
    concept: str | None, terms: Mapping[str, Sequence[Term]], wanted: tuple[WantedLanguage, WantedLanguage]
) -> Iterator[Segment]:
    """Pairs of terms; `terms` by language tag, in the file's order, which has the preferred term first.

    All tags that fit a wanted language count, the best fitting first. The first source term is paired with each target
    term, and the first target term with each other source term: n and m terms give n + m - 1 pairs. A term that is not
    to be used gives an obsolete segment. A concept without a language gives one segment.
    """
    src, tgt = (_of_language(terms, side, other) for side, other in (wanted, wanted[::-1]))

    def segment(source: Text | None, target: Text | None, state: State = "approved") -> Segment:
        return Segment(concept, source, target, tuple(terms), None, state)

    if not src or not tgt:
        yield segment(src[0].text if src else None, tgt[0].text if tgt else None)
        return
    sources, targets = ([term.text for term in side if term.usable] for side in (src, tgt))
    if sources and targets:
        yield from (segment(sources[0], target) for target in targets)
        yield from (segment(source, targets[0]) for source in sources[1:])
    for term in (term for side in (src, tgt) for term in side if not term.usable):
        yield segment(term.text, term.text, "obsolete")


def _of_language(terms: Mapping[str, Sequence[Term]], side: WantedLanguage, other: WantedLanguage) -> list[Term]:
    """Different terms whose tags fit this side better than the other; empty ones count only if there is no other."""
    tags = sorted((tag for tag in terms if side.fit(tag) > other.fit(tag)), key=side.fit, reverse=True)
    found = list(dict.fromkeys(term for tag in tags for term in terms[tag]))
    return [term for term in found if is_visible(without_codes(term.text))] or found
