"""Reads compressed files, recognised by their content, as streams: gzip, xz, bzip2, Zstandard, zip.

Nothing is unpacked to disk. Memory use does not grow with the unpacked size.
"""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

import zstandard

from nmt.config.file_names import unpacked_name
from nmt.errors import DataError, counted, printable

FED_AT_ONCE = 1 << 10  # bytes: a kilobyte of Zstandard unpacks to 32 MB at most
XZ_MEMORY = 1 << 29  # bytes of memory that an xz file may ask for; `xz -9` needs 65 MB
BUFFERED = 1 << 16
NAMES_SHOWN = 4  # names of files in a zip that errors show
BESIDE_DATA = re.compile(
    r"\._.*|\.ds_store|(licen[sc]es?|readme|copying|copyright|notices?|authors|_about)(\.(txt|md|rst|html?|pdf))?",
    re.IGNORECASE,
)
DOCUMENTS = {
    "xl/workbook.bin": "a binary Excel workbook; save it as .xlsx, or as CSV",
    "xl/workbook.xml": "an Excel workbook; read it with data=xlsx, or save it as CSV",
    "word/document.xml": "a Word document; save its text as plain text",
    "ppt/presentation.xml": "a PowerPoint document; save its text as plain text",
    "META-INF/manifest.xml": "an OpenDocument file or a Java archive; save its text as plain text or CSV",
    "META-INF/container.xml": "an e-book; save its text as plain text",
}


class _Unpacker(Protocol):
    """The interface that zlib, bz2, lzma and zstandard have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


FORMATS: dict[str, tuple[re.Pattern[bytes], Callable[[], _Unpacker]]] = {
    "gzip": (re.compile(rb"\x1f\x8b"), lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)),
    "xz": (re.compile(rb"\xfd7zXZ\0"), lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY)),
    "bzip2": (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),
    "Zstandard": (
        re.compile(rb"(\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"),
        lambda: zstandard.ZstdDecompressor().decompressobj(),
    ),
}
WRITERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda file: cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=file, mtime=0)),  # without a name and a time
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".zst": lambda file: cast(IO[bytes], zstandard.ZstdCompressor().stream_writer(file, closefd=False)),
}
ZIP = re.compile(rb"PK(\x03\x04|\x05\x06)")
UNREADABLE = (NotImplementedError, UnicodeDecodeError)  # of a zip: newer than this Python, or a name that is no text
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, zipfile.BadZipFile)


def packed_format(head: bytes) -> str | None:
    """How a file with this beginning is compressed; None if it is not."""
    return next((name for name, (magic, _) in FORMATS.items() if magic.match(head)), "zip" if ZIP.match(head) else None)


@contextmanager
def unpacked(path: Path, entry: str | None = None) -> Iterator[io.BufferedReader]:
    """The content of a file as a stream, unpacked if it is compressed; a damaged place raises DataError when read.

    `entry` names a file in a zip; None means the only file in it.
    """
    packed = None
    try:
        with open(path, "rb") as file:
            packed = packed_format(file.peek(16))
            if packed is None:
                yield file
            elif packed == "zip":
                with _opened(path, entry) as text:
                    yield text
            else:
                yield io.BufferedReader(_Unpacked(file, FORMATS[packed][1]), BUFFERED)
    except DAMAGED as error:
        raise _damaged(path, packed, error) from error
    except OSError as error:
        if error.errno is None:  # bz2 has no error class of its own
            raise _damaged(path, packed, error) from error
        raise DataError(f"file {path} cannot be read: {error.strerror}; check the path") from error


def _damaged(path: Path, packed: str | None, error: Exception) -> DataError:
    reason = printable(str(error)).removesuffix(".")
    return DataError(f"{path} is a damaged {packed} file: {reason}; compress it again, or fetch it again")


@contextmanager
def packing(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """A stream into the file, compressed as its `suffix` asks; the same content gives the same bytes."""
    if suffix not in WRITERS:
        yield file
        return
    with WRITERS[suffix](file) as out:
        yield out


class _Unpacked(io.RawIOBase):
    """The unpacked content of a compressed file: one stream after another. Zeros after a stream are padding."""

    def __init__(self, file: io.BufferedReader, unpacker: Callable[[], _Unpacker]) -> None:
        self._file, self._make = file, unpacker
        self._unpacker = unpacker()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            if self._unpacker.eof:
                data = self._unpacker.unused_data.lstrip(b"\0")
                while not data and (more := self._file.read(FED_AT_ONCE)):
                    data = more.lstrip(b"\0")
                if not data:
                    return 0
                self._unpacker = self._make()
            else:
                data = self._file.read(FED_AT_ONCE)
                if not data:
                    raise EOFError("it ends too early")
            self._ready = memoryview(self._unpacker.decompress(data))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def plain_suffix(path: Path) -> str:
    """The suffix of a file's name in lower case, such as .srt for FILM.SRT.gz; of the only file in a zip, its own."""
    names = zipped_names(path)
    return PurePosixPath(unpacked_name(names[0] if len(names) == 1 else path.name)).suffix.lower()


def zipped_names(path: Path) -> list[str]:
    """The names of the files in a zip except licences, readmes and the like; empty if the file is not a zip."""
    try:
        with open(path, "rb") as file:
            if packed_format(file.peek(16)) != "zip":
                return []
        with zipfile.ZipFile(path) as archive:
            return [entry.filename for entry in _texts_of(archive)]
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    except zipfile.BadZipFile as error:
        raise _damaged(path, "zip", error) from error
    except OSError as error:
        raise DataError(f"file {path} cannot be read: {error.strerror}; check the path") from error


def refuse_document(path: Path, names: Collection[str]) -> None:
    """Refuses a zip that is the document of an office program, by the names of its files."""
    for part, document in DOCUMENTS.items():
        if part in names:
            raise DataError(f"{path} is {document}")


def shown_names(names: Sequence[str]) -> str:
    """The number of files in a zip and the names of the first few, for messages."""
    shown = ", ".join(map(printable, names[:NAMES_SHOWN]))
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{counted(len(names), 'file')} ({shown}{more})" if names else "no text file"


def _texts_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    named = (entry for entry in archive.infolist() if entry.filename)  # damaged zips have files without a name
    return [entry for entry in named if not entry.is_dir() and not _is_beside_data(entry.filename)]


@contextmanager
def _opened(path: Path, name: str | None) -> Iterator[io.BufferedReader]:
    """The file `name` in a zip; without a `name`, the only file."""
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(zipfile.ZipFile(path))
            text = opened.enter_context(archive.open(_chosen(archive, path, name)))
        except UNREADABLE as error:
            raise _unreadable(path, error) from error
        yield io.BufferedReader(cast(io.RawIOBase, text), BUFFERED)


def _chosen(archive: zipfile.ZipFile, path: Path, name: str | None) -> zipfile.ZipInfo:
    refuse_document(path, archive.namelist())
    chosen = [entry for entry in _texts_of(archive) if name in (None, entry.filename)]
    if len(chosen) != 1:
        held = shown_names([entry.filename for entry in chosen])
        raise DataError(f"{path} is a zip with {held}; unpack it, and name the files in it")
    if chosen[0].flag_bits & 1:
        raise DataError(f"{path} is a zip with a password; unpack it, and name the files in it")
    return chosen[0]


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is a zip that cannot be read ({printable(str(error))}); unpack it, and name the file")


def _is_beside_data(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parts[:1] == ("__MACOSX",) or BESIDE_DATA.fullmatch(path.name) is not None
