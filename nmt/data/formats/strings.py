"""The strings of an app, in a file for each language: what has the same key belongs together."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from nmt.data.formats.android import read_android
from nmt.data.formats.keyed import Keyed, Place, Strings, counterpart
from nmt.data.formats.named_texts import read_apple, read_properties
from nmt.data.formats.nested_texts import read_json_strings, read_yaml
from nmt.data.formats.segment import Segment
from nmt.data.formats.two_files import TwoFiles
from nmt.data.formats.whole_text import read_whole
from nmt.data.kinds import HEAD, StringsKind, strings_kind
from nmt.data.packed import plain_suffix, unpacked
from nmt.errors import DataError

READERS: dict[StringsKind, Callable[[Path, str], Strings]] = {
    "apple": read_apple,
    "properties": read_properties,
    "yaml": read_yaml,
    "json": read_json_strings,
}


class StringsFiles(TwoFiles):
    """Two files with the strings of an app. Each string gives a segment, each form of a plural one of its own."""

    noun: ClassVar[str] = "string"

    def segments(self) -> Iterator[Segment]:
        """The strings of the source in its order, then the strings of the translation alone."""
        sources, targets = (self._read(side, path) for side, path in enumerate((self.path, self._tgt_path)))
        languages = (sources.language or "", targets.language or "")
        language = (self._languages[1] or targets.language or "").split("-")[0].split("_")[0]
        unused = dict.fromkeys(targets.texts)
        for place, source in sources.texts.items():
            found = counterpart(place, targets.texts, language)
            target = None if found is None else targets.texts[found]
            if found is not None:
                unused.pop(found, None)
            yield _segment(place, source, target, languages)
        for place in unused:
            yield _segment(place, None, targets.texts[place], languages)

    def _read(self, side: int, path: Path) -> Strings:
        found = read_strings(path, self._encoding)
        self._refuse_other_language(side, found.language)
        return found


def _segment(place: Place, source: Keyed | None, target: Keyed | None, languages: tuple[str, str]) -> Segment:
    exempt = any(side is not None and side.is_exempt for side in (source, target))
    src, tgt = (None if side is None else side.text for side in (source, target))
    return Segment(place.key, src, tgt, languages, None, "exempt" if exempt else None)


def read_strings(path: Path, encoding: str | None) -> Strings:
    """The strings of a file of any kind, which its content shows, or else its name."""
    with unpacked(path) as stream:
        kind = strings_kind(stream.peek(HEAD)[:HEAD], plain_suffix(path))
    if kind is None:
        raise DataError(
            f"{path} does not hold strings of an app (Android's XML, JSON, YAML, Apple's .strings, Java's "
            ".properties); name another file, or another data="
        )
    if kind == "android":
        return read_android(path)
    return READERS[kind](path, read_whole(path, encoding, "divide it, one file per part of the app"))
