"""Test sets with one file per language: segments with the same document and number belong together."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.config.languages import language_of
from nmt.config.sections import DataConfig
from nmt.data.formats.referenced import Referenced
from nmt.data.formats.sgml import SgmlSegment, read_sgml
from nmt.data.formats.tagged_lines import read_tagged_lines
from nmt.data.kinds import TAGGED_LINES, markup_of
from nmt.data.packed import unpacked
from nmt.errors import DataError, printable

MOST_SEGMENTS, MOST_CHARACTERS = 1_000_000, 1 << 28  # limits of a file, held in memory; test sets have thousands

Key = tuple[str, str]  # document and number


def read_test_set(src: Path, references: Sequence[Path], data: DataConfig) -> Iterator[Referenced]:
    """Yields the segments of the source in order, each with its references, then segments that only a reference has.

    Files with tagged lines, such as IWSLT's training files, are joined by line. Raises DataError if a file has a
    segment twice, is in another language than data.src_lang or data.tgt_lang, or is too large for a test set.
    """
    tagged = {path: _is_tagged(path) for path in [src, *references]}
    for path in references:
        if tagged[path] != tagged[src]:
            with_tags, other = (src, path) if tagged[src] else (path, src)
            raise DataError(f"{with_tags} is text with lines of tags, but {other} is not; name two files of one kind")
    if tagged[src]:
        yield from read_tagged_lines(src, references)
        return
    sources = _Side(src, data.src_lang, "data.src_lang")
    targets = [_Side(path, data.tgt_lang, "data.tgt_lang") for path in references]
    for key in dict.fromkeys([*sources.texts, *(key for target in targets for key in target.texts)]):
        found = {
            f"{target.path} {version}": text
            for target in targets
            for version, text in target.texts.get(key, {}).items()
        }
        yield Referenced(next(iter(sources.texts.get(key, {}).values()), None), found)


def _is_tagged(path: Path) -> bool:
    with unpacked(path) as stream:
        return markup_of(stream) == TAGGED_LINES


class _Side:
    """One file of a test set, in memory."""

    def __init__(self, path: Path, language: str | None, asked: str) -> None:
        self.path = path
        self.texts: dict[Key, dict[str, str]] = {}  # each segment's text, by version
        size = 0
        for count, segment in enumerate(read_sgml(path), 1):
            if count == 1:
                _refuse_other_language(path, segment, language, asked)
            size += len(segment.text) + len(segment.document) + len(segment.number) + len(segment.version)
            if count > MOST_SEGMENTS or size > MOST_CHARACTERS:
                raise DataError(
                    f"{path} has more than {MOST_SEGMENTS:,} segments or {MOST_CHARACTERS >> 20} million characters,"
                    " too many for a test set; extract its text, and read it with data=text"
                )
            versions = self.texts.setdefault((segment.document, segment.number), {})
            if segment.version in versions:
                raise DataError(
                    f"{path}, line {segment.line}: <seg id={printable(segment.number)[:40]}> of document"
                    f" {printable(segment.document)[:40]} is there twice; delete one"
                )
            versions[segment.version] = segment.text


def _refuse_other_language(path: Path, segment: SgmlSegment, language: str | None, asked: str) -> None:
    """Refuses a file that names another language; a code that is not a known language is ignored."""
    if language is None or not segment.language:
        return
    there = language_of(segment.language)
    if there is not None and there != language_of(language):
        raise DataError(
            f"{path} is in {printable(segment.language)[:40]}, but {asked}={language};"
            f" name another file, or set {asked}"
        )
