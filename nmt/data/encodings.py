"""Guesses the encoding of bytes that are not UTF-8."""

import codecs
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

PACKED = (".gz", ".xz", ".bz2", ".zst", ".zip")  # suffixes of files whose bytes are no text
FEWEST_HALVES = 8  # bytes 0x0A that show the side of their letter in UTF-16; one in as many may be at the other
UTF16_SHARE = 0.05  # least share of NUL bytes in a text in UTF-16
MARKS = {  # byte-order marks; UTF-32 comes first because its mark begins with the mark of UTF-16
    codecs.BOM_UTF8: "UTF-8",
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# The characters of Windows-1252 that Western European languages need. Letters of Icelandic, Czech, Slovene or Finnish
# are left out: in other encodings their bytes are letters of Turkish, Polish or Latvian.
WESTERN = re.compile("[\x00-\x7f€‚„…‘’“”•–—«»¡¿§°´·ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŒßàáâãäåæçèéêëìíîïñòóôõöøœùúûü\xa0]*")
NON_ASCII_SHARE = 0.25  # greatest share of non-ASCII letters
NON_ASCII_WORD = re.compile(r"[^\W\d_\x00-\x7f]{3}")  # three in a row are letters of another alphabet
# A text with both "õ" and "ö" is Hungarian in another encoding, or Estonian.
TOGETHER_ELSEWHERE = (set("õÕ"), set("öÖüÜ"))
WITHIN_WORDS = re.compile(r"[^\W\d_][¿¡][^\W\d_]")  # Spanish has them before words; they are letters of Polish
WESTERN_LANGUAGES = set("af br ca co da de en es eu fo fr ga gl it lb nb nl nn no oc pt rm sv".split())
IN_UTF8 = re.compile(b"[\xc2\xc3][\x80-\xbf]")  # a letter of these languages in UTF-8
SHIPPED = "cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 koi8_r cp932 euc_jp gb18030 big5 cp949".split()
_WINDOWS = re.compile(b"[\x80-\x9f]")  # characters of Windows' encodings; in those of ISO they are invisible
ONE_BYTE = ("iso-8859", "iso8859", "windows-125", "cp125", "koi8", "mac", "latin", "cp437", "cp85", "cp86")


def utf16_or_32(head: bytes) -> str | None:
    """The name of the encoding, by its byte-order mark or the places of NULs; None if the text is in neither."""
    ends = head.count(b"\n")
    if ends > 2 * max(head.count(b"\n\0"), head.count(b"\0\n")) and not _are_letters(head, ends):
        return None  # UTF-8 text with one odd line
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return None if name == "UTF-8" else name
    nuls = head.count(0)
    if nuls < max(2, UTF16_SHARE * len(head)):
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    if not even or not odd:
        return "UTF-16BE" if even else "UTF-16LE"
    if nuls >= len(head) // 4 * 3 - 3:
        return "UTF-32BE" if head[:1] == b"\0" else "UTF-32LE"
    return None


def _are_letters(head: bytes, ends: int) -> bool:
    """Are the bytes of line ends halves of letters, as in Punjabi or Gujarati in UTF-16? Then they are at one side."""
    even = head[::2].count(b"\n")
    return ends >= FEWEST_HALVES and min(even, ends - even) * FEWEST_HALVES <= ends


def is_western(sample: bytes, encoding: str = "cp1252") -> bool:
    """Is this Windows-1252 beyond reasonable doubt, as Excel writes it in Western Europe, or `encoding`?"""
    if IN_UTF8.search(sample):
        return False
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    if not WESTERN.fullmatch(text) or NON_ASCII_WORD.search(text) or WITHIN_WORDS.search(text):
        return False
    if all(set(text) & group for group in TOGETHER_ELSEWHERE):
        return False
    letters = [char for char in text if char.isalpha()]
    return sum(char > "\x7f" for char in letters) <= NON_ASCII_SHARE * len(letters)


def likely_encoding(sample: bytes) -> str | None:
    """The name of an encoding to try, as iconv knows it; None if no encoding fits."""
    if is_western(sample):
        return "CP1252"
    is_iso = not _WINDOWS.search(sample)
    if is_iso and is_western(sample, "iso8859_15"):
        return "ISO-8859-15"
    from charset_normalizer import from_bytes  # takes 30 ms, and only errors need it

    best = from_bytes(sample, cp_isolation=SHIPPED).best()
    if best is not None and best.encoding == "cp1250" and is_iso:
        return "ISO-8859-2"  # Polish, Czech, Slovak, Slovene and Croatian have letters there in Windows-1250
    return None if best is None else best.encoding.upper().replace("_", "-")


def conversion(encoding: str | None, name: str) -> str:
    """The command that makes UTF-8 of text in this encoding (None: the user has to know it), with the file's name.

    Without it for what is no file, or packed.
    """
    is_plain = Path(name).is_file() and Path(name).suffix.lower() not in PACKED
    files = f" < {shlex.quote(name)} > utf8.txt" if is_plain else ""
    return f"iconv -f {encoding or 'ENCODING'} -t UTF-8{files}"


def is_one_byte(charset: str) -> bool:
    """Is it the name of a charset with one byte per character, in which almost any bytes can be decoded?"""
    return charset.lower().startswith(ONE_BYTE)


class Utf8:
    """Says whether chunks of a file are UTF-8, and more than ASCII; the last one may end within a character."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_valid, self._is_ascii = True, True

    def add(self, chunk: bytes) -> None:
        """Looks at the next chunk."""
        try:
            self._is_ascii &= self._decoder.decode(chunk).isascii()
        except UnicodeDecodeError:
            self._is_valid = False

    def __bool__(self) -> bool:
        return self._is_valid and not self._is_ascii


def is_utf8(chunks: Iterable[bytes]) -> bool:
    """Are these chunks of a file UTF-8, and more than ASCII?"""
    found = Utf8()
    for chunk in chunks:
        found.add(chunk)
    return bool(found)
