"""Test sets in the XML that WMT has used since 2019: documents with source, references and system outputs."""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.referenced import Referenced
from nmt.data.formats.xml_stream import local_name, read_elements, refuse_entity
from nmt.errors import ConfigError, DataError, printable


def read_wmt_xml(path: Path, src: WantedLanguage | None, tgt: WantedLanguage | None) -> Iterator[Referenced]:
    """Yields the segments of a file; system outputs (<hyp>) are never read.

    The source is <src>, or a <ref> if only that is in the language `src`. References are the other <ref>, and <src> if
    it is in the language `tgt` and not the source. None: any language.

    Raises DataError for XML that cannot be read, a segment without id, an id that a text has twice, and two references
    by one translator in a document. Raises ConfigError if the references are in several languages and `tgt` is not set.
    """
    for document in read_elements(path, ["doc"], ["dataset"]):
        texts = [each for each in document.iterchildren() if isinstance(each.tag, str)]
        sources = [each for each in texts if local_name(each) == "src"]
        references = [each for each in texts if local_name(each) == "ref"]
        if src is not None:
            sources = [each for each in [*sources, *references] if _fits(src, each, "src")][:1]
        targets = [each for each in references if each not in sources]
        if tgt is not None:
            others = [each for each in texts if local_name(each) == "src" and each not in sources]
            targets = [each for each in [*targets, *others] if _fits(tgt, each, "ref")]
        _refuse_several_languages(path, targets)
        yield from _segments(path, document, sources[:1], targets)


def _fits(language: WantedLanguage, text: etree._Element, role: str) -> bool:
    """Is the text in the language? A text that names no language is, if its element is called `role`."""
    tag = text.get("lang")
    return language.fit(tag) > 0 if tag else local_name(text) == role


def _refuse_several_languages(path: Path, targets: list[etree._Element]) -> None:
    languages = dict.fromkeys((each.get("lang") or "").partition("-")[0] for each in targets)
    if len(languages) > 1:
        there = ", ".join(printable(language)[:40] or "none" for language in languages)
        raise ConfigError(
            f"data.tgt_lang is null, and {path}, line {targets[0].sourceline}, has references in several languages"
            f" ({there}); set data.tgt_lang to one of them"
        )


def _segments(
    path: Path, document: etree._Element, sources: list[etree._Element], targets: list[etree._Element]
) -> Iterator[Referenced]:
    source_texts = _texts(path, sources[0]) if sources else {}
    versions: dict[str, dict[str, str]] = {}
    for place, target in enumerate(targets, 1):
        name = target.get("translator") or f"reference {place}"
        if name in versions:
            raise DataError(
                f"{path}, line {target.sourceline}: two references by translator {printable(name)[:40]} in one <doc>;"
                " name one of them differently"
            )
        versions[name] = _texts(path, target)
    for number in dict.fromkeys([*source_texts, *(each for texts in versions.values() for each in texts)]):
        found = {name: texts[number] for name, texts in versions.items() if number in texts}
        yield Referenced(source_texts.get(number), found)


def _texts(path: Path, holder: etree._Element) -> dict[str, str]:
    """The text of each segment, by its id."""
    texts: dict[str, str] = {}
    for segment in holder.iter("{*}seg"):
        number = segment.get("id")
        if number is None:
            raise DataError(f"{path}, line {segment.sourceline}: <seg> without id; write id=… there")
        if number in texts:
            raise DataError(
                f"{path}, line {segment.sourceline}: <seg id={printable(number)[:40]}> is there twice in one text;"
                " delete one"
            )
        for inner in segment.iter():
            refuse_entity(path, inner)
        texts[number] = " ".join("".join(segment.itertext()).split("\n")).strip()
    return texts
