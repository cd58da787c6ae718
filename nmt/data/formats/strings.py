"""The strings of an app, in a file for each language: what has the same key belongs together."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from nmt.config.languages import language_of
from nmt.data.formats.android import read_android
from nmt.data.formats.keyed import Keyed, Place, Strings, counterparts
from nmt.data.formats.languages import standard_tag
from nmt.data.formats.named_texts import read_apple, read_properties
from nmt.data.formats.nested_texts import read_json_strings, read_yaml
from nmt.data.formats.resx import read_resx
from nmt.data.formats.segment import Segment
from nmt.data.formats.two_files import TwoFiles
from nmt.data.formats.whole_text import read_whole
from nmt.data.kinds import HEAD, StringsKind, strings_kind
from nmt.data.packed import plain_suffix, unpacked
from nmt.errors import DataError

XML_READERS: dict[StringsKind, Callable[[Path], Strings]] = {"android": read_android, "resx": read_resx}
TEXT_READERS: dict[StringsKind, Callable[[Path, str], Strings]] = {
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
        sides = without_roots([read_strings(path, self._encoding) for path in (self.path, self._tgt_path)])
        for side, strings in enumerate(sides):
            self._refuse_other_language(side, strings.language)
        sources, targets = (strings.texts for strings in sides)
        tags = [own or strings.language or "" for own, strings in zip(self._languages, sides, strict=True)]
        src, tgt = (standard_tag(tag).split("-")[0] for tag in tags)
        keys = [{place.key for place in texts} for texts in (sources, targets)]
        unused = dict.fromkeys(targets)
        for place, found in counterparts(sources, targets, (src, tgt)):
            source = sources[place]
            if found is None:
                yield _alone(place, source, 0, place.key in keys[1])
                continue
            unused.pop(found, None)
            target = targets[found]
            yield Segment(place.key, source.text, target.text, (), None, source.state or target.state)
        for place in unused:
            yield _alone(place, targets[place], 1, place.key in keys[0])


def _alone(place: Place, keyed: Keyed, side: int, has_others: bool) -> Segment:
    """A text without a translation; if it is a form of a plural, and the other file `has_others`, a surplus one."""
    if place.form and has_others and keyed.state is None:
        return Segment(place.key, keyed.text, keyed.text, (), None, "surplus")
    src, tgt = (keyed.text, None) if side == 0 else (None, keyed.text)
    return Segment(place.key, src, tgt, (), None, keyed.state)


def without_roots(sides: list[Strings]) -> list[Strings]:
    """The strings without a single name around all of them, if both files have one, or one that is of a language.

    If the two names differ, they may be languages: en in one file and de in the other. If they are equal, they are not.
    """
    names = [{place.key.partition(".")[0] for place in strings.texts} for strings in sides]
    are_nested = [all("." in place.key for place in strings.texts) for strings in sides]
    have_root = [len(own) == 1 and nested for own, nested in zip(names, are_nested, strict=True)]
    found = []
    for side, strings in enumerate(sides):
        [root, *_] = [*names[side], ""]
        of_language = root not in names[1 - side] and language_of(root) is not None
        if have_root[side] and (of_language or all(have_root)):
            texts = {Place(place.key[len(root) + 1 :], place.form): keyed for place, keyed in strings.texts.items()}
            is_code = of_language and len(root.replace("_", "-").split("-")[0]) == 2  # app and nav are languages, too
            found.append(Strings(strings.language or (root if is_code else None), texts))
        else:
            found.append(strings)
    return found


def read_strings(path: Path, encoding: str | None) -> Strings:
    """The strings of a file of any kind, which its content shows, or else its name."""
    with unpacked(path) as stream:
        kind = strings_kind(stream.peek(HEAD)[:HEAD], plain_suffix(path))
    if kind is None:
        raise DataError(
            f"{path} does not hold strings of an app (Android's XML, JSON, YAML, Apple's .strings, Java's .properties, "
            ".NET's .resx); name another file, or another data="
        )
    if kind in XML_READERS:
        return XML_READERS[kind](path)
    return TEXT_READERS[kind](path, read_whole(path, encoding, "divide it, one file per part of the app"))
