"""Compressed files: the same lines however they are packed, one clear line for what is damaged, bounded memory."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.packed import zipped_names
from nmt.data.paths import LONGEST_LINE, read_lines
from nmt.errors import DataError


def zipped(content, *beside):
    """A zip of one text, licences and other files beside it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/corpus.en", content)
        for name in beside:
            archive.writestr(name, "other")
    return file.getvalue()


PACK = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "Zstandard": zstandard.ZstdCompressor().compress,
    "zip": zipped,
}
TEXT = "".join(f"Zeile {number}: Fährt er um {number * 7919 % 1013} Uhr?\n" for number in range(3000)).encode()


def lines_of(path, content):
    path.write_bytes(content)
    return list(read_lines(path))


@pytest.mark.parametrize("kind", PACK)
def test_packed_files_give_the_lines_of_the_file(tmp_path, kind):
    expected = TEXT.decode().splitlines()
    assert lines_of(tmp_path / "any.name", PACK[kind](TEXT)) == expected
    assert lines_of(tmp_path / "empty", PACK[kind](b"")) == []
    if kind != "zip":  # one after another, and padded
        assert lines_of(tmp_path / "two", PACK[kind](TEXT) + PACK[kind](b"last\n") + b"\0" * 4000) == [
            *expected,
            "last",
        ]


@pytest.mark.parametrize("kind", PACK)
def test_a_packed_file_that_is_cut_off_anywhere_is_refused(tmp_path, kind):
    whole = PACK[kind](TEXT)
    for length in (len(whole) - 1, len(whole) // 2, 20):
        with pytest.raises(DataError, match=f"{tmp_path / 'f'} is a damaged {kind} file: .*; compress it again"):
            lines_of(tmp_path / "f", whole[:length])


@pytest.mark.parametrize("kind", ["gzip", "xz", "bzip2", "Zstandard"])
def test_junk_after_a_packed_file_is_refused(tmp_path, kind):
    with pytest.raises(DataError, match=f"damaged {kind} file"):
        lines_of(tmp_path / "f", PACK[kind](TEXT) + b"junk")


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(PACK)), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1))
def test_changed_bytes_give_lines_or_one_clear_line(tmp_path_factory, kind, changes):
    content = bytearray(PACK[kind](TEXT[:2000]))
    for place, byte in changes:
        content[place % len(content)] = byte
    refused = ""
    try:
        lines_of(tmp_path_factory.getbasetemp() / "changed", bytes(content))
    except DataError as error:
        refused = str(error)
    assert "\n" not in refused
    assert not refused or ";" in refused


@pytest.mark.parametrize("kind", PACK)
def test_a_line_without_an_end_is_refused_in_bounded_memory(tmp_path, kind):
    pieces = b"a" * (LONGEST_LINE // 8)
    content = zipped(pieces * 12) if kind == "zip" else PACK[kind](pieces) * 12  # streams after one another
    (tmp_path / "bomb").write_bytes(content)
    del content, pieces
    tracemalloc.start()
    with pytest.raises(DataError, match=r"bomb, line 1: longer than 64 MB;"):
        list(read_lines(tmp_path / "bomb"))
    assert tracemalloc.get_traced_memory()[1] < 4 * LONGEST_LINE
    tracemalloc.stop()


def test_a_zip_with_one_text_beside_licences_is_read(tmp_path):
    beside = ("LICENSE", "README.txt", "folder/readme.md", "__MACOSX/folder/._corpus.en")
    assert lines_of(tmp_path / "f.zip", zipped(b"a\nb\n", *beside)) == ["a", "b"]


def test_other_zips_are_refused_by_name_with_the_remedy(tmp_path):
    for beside, said in (
        (["folder/corpus.de"], r"f is a zip with 2 files \(folder/corpus.en, folder/corpus.de\); unpack it, and name"),
        (["../../etc/passwd"], r"a zip with 2 files \(folder/corpus.en, ../../etc/passwd\); unpack it"),
        ([f"{number}\x1b.txt" for number in range(8)], r"9 files \(folder/corpus.en, 0\\x1b.txt, .* and 5 more\);"),
        (["xl/workbook.xml"], "f is an Excel workbook; read it with data=xlsx"),
        (["word/document.xml"], "f is a Word document; save its text as plain text"),
    ):
        with pytest.raises(DataError, match=said):
            lines_of(tmp_path / "f", zipped(b"a\n", *beside))
    with zipfile.ZipFile(tmp_path / "g", "w") as archive:
        archive.writestr("README", "x")
    with pytest.raises(DataError, match="g is a zip with no text file; unpack it"):
        list(read_lines(tmp_path / "g"))


def test_a_zip_with_a_password_is_refused(tmp_path):
    content = bytearray(zipped(b"a\n"))
    for start in (content.index(b"PK\3\4") + 6, content.index(b"PK\1\2") + 8):
        content[start] |= 1
    with pytest.raises(DataError, match="is a zip with a password; unpack it"):
        lines_of(tmp_path / "f", bytes(content))


def test_a_file_without_a_name_in_a_zip_is_none(tmp_path):
    whole = zipped("text\n")
    place = whole.index(b"folder/corpus.en", whole.index(b"PK\x01\x02"))  # Python ends a name at a NUL
    (tmp_path / "a.zip").write_bytes(whole[:place] + b"\0" + whole[place + 1 :])
    with pytest.raises(DataError, match=r"a\.zip is a zip with no text file; unpack it"):
        list(read_lines(tmp_path / "a.zip"))


@pytest.mark.parametrize("damage", ["name in the head", "name in the list", "version"])
def test_a_zip_that_python_cannot_open_is_one_line(tmp_path, damage):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("é.en", "text\n")
    content = bytearray(whole.getvalue())
    in_list = content.index(b"PK\x01\x02")
    if damage == "version":
        content[in_list + 6] = 128
    else:
        name = content.index("é.en".encode(), 0 if damage == "name in the head" else in_list)
        content[name + 1] = ord("x")
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.zip is a zip that cannot be read \(.*\); unpack it, and name the file"):
        list(read_lines(tmp_path / "a.zip"))
    if damage != "name in the head":
        with pytest.raises(DataError, match=r"a\.zip is a zip that cannot be read \("):
            zipped_names(tmp_path / "a.zip")
