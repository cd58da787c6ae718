"""Finds the format of a file by its content and, for tables and text only, by its name."""

import re
from pathlib import Path

from nmt.config.sections import DataConfig, Format
from nmt.data.formats.languages import WantedLanguage
from nmt.data.json_files import EXAMPLE
from nmt.data.kinds import HEAD, STRINGS_SUFFIXES, kind_of
from nmt.data.packed import plain_suffix, refuse_document, unpacked, zipped_names
from nmt.data.pairing import natural_order
from nmt.data.tatoeba_files import is_export
from nmt.errors import DataError, counted

SPREADSHEETS = ("csv", "tsv", "xlsx")  # formats of tables that people edit
SUFFIXES: dict[str, Format] = {
    **{
        ".csv": "csv",
        ".tsv": "tsv",
        ".tab": "tsv",
        ".po": "po",
        ".pot": "po",
        ".srt": "subtitles",
        ".vtt": "subtitles",
    },
    **dict.fromkeys(STRINGS_SUFFIXES, "strings"),
}
SAMPLE_LINES = 20


def found_format(path: Path) -> Format:
    """The value of data.format that reads a file; `text` means one sentence a line in one language.

    Raises DataError for a file of a known kind that nothing reads.
    """
    names = zipped_names(path)
    if "xl/workbook.xml" in names:
        return "xlsx"
    refuse_document(path, names)
    if len(names) > 1:
        return "moses_zip"
    with unpacked(path) as stream:
        head = stream.peek(HEAD)[:HEAD]
    if is_export(head):
        return "tatoeba"
    kind = kind_of(head)
    if kind is None:
        return _format_by_name(plain_suffix(path), head) or "text"
    if kind.format is None:
        raise DataError(f"{path} is {kind}")
    return kind.format


def format_of_one_side(path: Path) -> Format:
    """The format of a file in one language: JSON is strings of an app then, since rows have both languages."""
    found = found_format(path)
    return "strings" if found == "jsonl" else found


def looks_like_json(path: Path) -> bool:
    """Does the file begin as an object or a list of JSON does?"""
    with unpacked(path) as stream:
        head = stream.peek(HEAD)[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith((b'{"', b"{\n", b"{\r", b'["', b"[[", b"[{", b"[\n", b"[\r"))


def _format_by_name(suffix: str, head: bytes) -> Format | None:
    """The format that the suffix of the file's name says; else tsv if each of the first lines has a tab.

    A cell between quotes may have several lines.
    """
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    lines = head.replace(b"\0", b"").split(b"\n")[:SAMPLE_LINES]
    whole = [line for line in lines[: -1 if len(lines) > 1 else None] if line.strip()]
    quotes = 0
    for line in whole:
        within = quotes % 2 == 1
        quotes += line.count(b'"')
        if b"\t" not in line and not within and quotes % 2 == 0:
            return None
    return "tsv" if whole else None


def paired_texts(paths: list[Path], data: DataConfig, key: str) -> list[tuple[Path, Path]]:
    """Pairs of source and target files, told apart by the languages in their names; refuses unclear names.

    Where a name says nothing, that of its folder counts.
    """
    remedy = "name the sides: data.train.src=FILE data.train.tgt=FILE".replace("data.train", key)
    if data.src_lang is None or data.tgt_lang is None:
        raise DataError(
            f"{paths[0]}, {key}.files, is in one language; {remedy}, or set data.src_lang and data.tgt_lang, by "
            "which names of files are told apart"
        )
    src, tgt = WantedLanguage(data.src_lang), WantedLanguage(data.tgt_lang)
    sides: tuple[list[Path], list[Path]] = ([], [])
    for path in paths:
        words = re.findall(r"[^\W\d_]+", f"{path.parent.name} {path.name}")
        fits = [(src.fit(word) > 0, tgt.fit(word) > 0) for word in reversed(words)]
        side = next((is_tgt for is_src, is_tgt in fits if is_src != is_tgt), None)
        if side is None and looks_like_json(path):
            raise DataError(
                f"{path}, {key}.files, holds JSON, but not rows with both languages; write an array of objects, such "
                f"as [{EXAMPLE}, …]"
            )
        if side is None:
            raise DataError(f"{path}, {key}.files, is in one language: is it {src.name} or {tgt.name}? {remedy}")
        sides[side].append(path)
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{key}.files names {counted(len(sides[0]), 'file')} in {src.name} but {len(sides[1]):,} in "
            f"{tgt.name}; {remedy}"
        )
    ordered = (sorted(side, key=lambda path: natural_order(str(path))) for side in sides)
    return list(zip(*ordered, strict=True))
