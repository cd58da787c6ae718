"""Properties that hold for any input whatever, and generators of inputs that are likely to break them.

tests/test_fuzz.py tries each a few times, `make fuzz` a million times in all.
"""

import atexit
import codecs
import csv
import io
import json
import re
import shutil
import string
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from helpers.fuzz_corpora import CORPORA, SEGMENTS, SUFFIXES, whole_corpora
from helpers.small_corpora import data_config, make_pairs, tokenizer_config
from helpers.small_runs import make_run
from nmt.commands.translate import translation_json
from nmt.config.changes import NO_CHANGES
from nmt.config.check import read
from nmt.config.overrides import parse, readable
from nmt.config.sections import DataConfig, SearchConfig, SplitConfig, TokenizerConfig, TrainConfig
from nmt.config.verbs import COMMANDS, read_command
from nmt.data import text as unicode
from nmt.data.paths import decode_lines
from nmt.data.readers import FILE_PER_LANGUAGE, Pair, find_split
from nmt.data.text import clean
from nmt.data.tokenizer import BOS, EOS, PAD, Tokenizer
from nmt.data.train_tokenizers import train_tokenizer
from nmt.errors import NmtError, counted
from nmt.runs.stored_config import read_config
from nmt.translation import long_lines
from nmt.translation.translator import Translator

BOM = "\ufeff"
TEXTS = [
    "a", "Hund ", "zwei Worte", " ", "   ", "\u3000", "\u00a0", "\n", "\r", "\r\n", "\n\n", "\t", "\v", "\f",
    "\x00", "\x1a",
    "\x1c", "\x85", "\u2028", "\u2029", BOM, "\u200b", "\u200f", "\u202e", "\u2066", "\u0301", "\u0301" * 40,
    "\u0344\u0316",
    "e\u0301", "\u00e9", "ß", "İ", "你好", "。", "👩\u200d👩\u200d👧", "🇩🇪", "\U0010ffff", "\ue000", "\U0010f581", "▁",
    "⁇", "\ufffd",
    "</s>", "<s>", "<unk>", "<pad>", "<0x41>", "<0xFF>", '"', "'", '""', ",", ";", "\\", "\\n", "{", "}", "[", "]",
    "null",
    "NaN", "1e999", "-0", "true", '{"src": "a", "tgt": "b"}', "src,tgt", "src\ttgt", "${oc.env:HOME}",
    "!!python/object:os.x",
    "&a [*a]", "_target_", "=", "a=b", "train.lr=", "~seed", "+x=1", "++x=1", "@", "/", "..", "--help", "-m", "$(",
    "`",
]  # fmt: skip
BYTES = [
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x9f\x98",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b",
    b"\x1f\x8b\x08\x00",
    b"PAR1", *(text.encode() for text in TEXTS),
]  # fmt: skip
OTHER_KIND = re.compile(
    "NUL bytes|of CR alone|UTF-(16|32) text|read it with data=|hold the same text|hold empty lines only"
)
LINES = 12
SHORT_RUN = re.compile("[^\x00-\u02ff]{2,}")


def spelled(code: bytes) -> str:
    """One of TEXTS for each byte, or any character there is, halves of surrogate pairs too."""
    parts = (
        TEXTS[byte] if byte < len(TEXTS) else chr((byte * 7919 + place * 104_729) % 0x110000)
        for place, byte in enumerate(code)
    )
    return "".join(parts)


def spelled_in_bytes(code: bytes) -> bytes:
    """One of BYTES for each byte, or itself."""
    return b"".join(BYTES[byte] if byte < len(BYTES) else bytes([byte]) for byte in code)


texts = st.binary(max_size=12).map(spelled)  # one draw: a tenth of the time of a list of texts
streams = st.binary(max_size=25).map(spelled_in_bytes)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


@dataclass(frozen=True)
class Property:
    """`check` raises where it does not hold for an input; `share` of all cases that `make fuzz` tries."""

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    share: float


def refusal(what: Callable[[], object]) -> str | None:
    """The message that refuses a mistake; None where nothing is refused."""
    try:
        what()
    except NmtError as error:
        return str(error)
    return None


def reference_lines(content: bytes) -> tuple[list[str], int | None]:
    """The lines before the first that is not valid UTF-8, and its number; by hand."""
    raw = content.split(b"\n")
    if raw[-1] in (b"", BOM.encode() * (len(raw) == 1)):  # a mark alone is an empty file
        raw.pop()
    lines = []
    for number, line in enumerate(raw, start=1):
        line = line[:-1] if line[-1:] == b"\r" else line
        line = line[3:] if number == 1 and line[:3] == BOM.encode() else line
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            return lines, number
    return lines, None


def lines_are_those_of_the_file(content: bytes) -> None:
    """As many, in order; a bad byte is named with its line, after all lines before it."""
    expected, bad = reference_lines(content)
    found: list[str] = []
    refused = refusal(lambda: found.extend(decode_lines(io.BytesIO(content), "FILE")))
    assert found == expected
    assert (refused is None) == (bad is None)
    assert refused is None or refused.startswith(f"FILE, line {bad}: byte 0x")


@cache
def folder() -> Path:
    """Where files are written, one after another."""
    made = tempfile.mkdtemp(prefix="fuzz-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@cache
def corpus(kind: str, names: tuple[str, ...]) -> DataConfig:
    """The configuration of a corpus in this format; `names` of its files."""
    files = SplitConfig(*names, None) if kind in FILE_PER_LANGUAGE else SplitConfig(None, None, list(names))
    columns = {"src_column": None, "tgt_column": None} if kind == "parquet" else {}  # found by their names
    return data_config(kind, root=str(folder()), train=files, src_lang="en", tgt_lang="de", **columns)


def read_files(kind: str, contents: dict[str, bytes]) -> list[Pair] | str:
    """The pairs of a corpus in this format, or the message of the refusal."""
    for name, content in contents.items():
        (folder() / name).write_bytes(content)
    found: list[Pair] = []

    def read() -> None:
        split = find_split(corpus(kind, tuple(contents)), "train", folder())
        assert split is not None
        found.extend(split.pairs())

    refused = refusal(read)
    assert refused is None or str(folder()) in refused
    return found if refused is None else refused


def text_pairs_are_those_of_the_files(contents: tuple[bytes, bytes]) -> None:
    """Pair N is line N of both, or nothing is: a refusal names a file."""
    if any(content[:2] == b"\x1f\x8b" for content in contents):  # gzip, tried by the other readers
        return
    found = read_files("text", {"src": contents[0], "tgt": contents[1]})
    if isinstance(found, str) and OTHER_KIND.search(found):  # tried in tests/data/test_kinds.py
        return
    (src, bad_src), (tgt, bad_tgt) = map(reference_lines, contents)
    if bad_src is None and bad_tgt is None and len(src) == len(tgt):
        assert found == list(zip(src, tgt, strict=True))
    else:
        assert isinstance(found, str)
        assert "is not valid UTF-8" in found or f"has {counted(len(src), 'line')} but" in found


def tsv_pairs_are_those_of_the_file(content: bytes) -> None:
    """Every line a pair, or its number in a refusal."""
    found = read_files("tsv", {"table": content})
    if not isinstance(found, str) and content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        wide = "utf-32" if content[:4] == codecs.BOM_UTF32_LE else "utf-16"
        content = content.decode(wide).encode()
    lines, bad = reference_lines(content)
    if content[:2] == b"\x1f\x8b" or (isinstance(found, str) and OTHER_KIND.search(found)):
        return
    rows = [line.split("\t") for line in lines]
    if bad is None and all(len(row) == len(rows[0]) and len(row) >= 2 for row in rows):
        assert found == [(row[0], row[1]) for row in rows]
    else:
        assert isinstance(found, str)
        assert ", line " in found or ", after line " in found


def any_table_gives_pairs_or_a_refusal(given: tuple[str, bytes]) -> None:
    """Text on both sides and nothing else, whatever the file holds."""
    kind, content = given
    found = read_files(kind, {"table": content})
    assert isinstance(found, str) or all(isinstance(side, str) for pair in found for side in pair)


def any_two_files_give_pairs_or_a_refusal(given: tuple[str, bytes, bytes]) -> None:
    """Strings of apps and subtitles: the same, whatever the files hold; the suffix says what they should be."""
    suffix, src, tgt = given
    kind = "subtitles" if suffix in ("srt", "vtt") else "strings"
    found = read_files(kind, {f"src.{suffix}": src, f"tgt.{suffix}": tgt})
    assert isinstance(found, str) or all(isinstance(side, str) for pair in found for side in pair)


def damaged(name: str, damage: bytes) -> bool:
    """Is a corpus still readable whose first file is damaged, once for each five bytes? Raises unless it is refused."""
    corpus = whole_corpora()[name]
    file, content = next(iter(corpus.files.items()))
    for start in range(0, len(damage), 5):
        content = damaged_once(content, damage[start : start + 5])
    found = read_files(corpus.format, {**corpus.files, file: corpus.pack(content)})
    if isinstance(found, str):
        return False
    assert all(isinstance(side, str) for pair in found for side in pair)
    return True


def damaged_once(content: bytes, damage: bytes) -> bytes:
    """Bytes 1 and 2 of `damage` choose the place, byte 3 what happens there, the others what is put there."""
    place, other = (int.from_bytes(part, "little") % max(1, len(content)) for part in (damage[:2], damage[3:]))
    how = damage[2] if len(damage) > 2 else 1
    size, new = 1 + how // 8, spelled_in_bytes(damage[3:])
    before, after = content[:place], content[place:]
    match how % 8:
        case 0:  # the file ends here
            return before
        case 1:  # a part of it is there twice
            return before + after[:size] + after
        case 2:  # or not at all
            return before + after[size:]
        case 3:  # or elsewhere, too
            return before + content[other : other + size] + after
        case 4:  # one bit is another
            return before + bytes(byte ^ 1 << size % 8 for byte in after[:1]) + after[1:]
        case 5:  # bytes are put in
            return before + new + after
        case _:  # or replaced
            return before + new + after[len(new) :]


def csv_gives_back_what_was_written(pairs: list[Pair]) -> None:
    """Quotes, commas and line breaks inside of fields included; line breaks come back as spaces or \\n."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("src", "tgt"), *pairs])
    content = file.getvalue().encode("utf-8", "surrogatepass")
    found = read_files("csv", {"table": content})
    lines = content.splitlines()
    if sum(b"\0" in line for line in lines) > len(lines) / 2:
        assert isinstance(found, str)
        assert "NUL bytes" in found
        return
    if any("\ud800" <= char <= "\udfff" for pair in pairs for side in pair for char in side):
        assert isinstance(found, str)
        return
    assert not isinstance(found, str), found
    flat = [tuple(clean(side, nfc=False).split() for side in pair) for pair in pairs]
    assert [tuple(clean(side, nfc=False).split() for side in pair) for pair in found] == flat


def jsonl_gives_back_what_was_written(pairs: list[Pair]) -> None:
    """Each line an object; text as JSON has it, half a surrogate pair too."""
    content = "".join(json.dumps({"src": src, "tgt": tgt}) + "\n" for src, tgt in pairs)
    assert read_files("jsonl", {"table": content.encode()}) == pairs


def clean_text_is_one_line_of_utf8(text: str) -> None:
    """And is clean already."""
    for nfc in (False, True):
        found = clean(text, nfc)
        assert clean(found, nfc) == found == found.strip()
        assert len(found.splitlines()) <= 1
        found.encode("utf-8")


def the_normal_form_is_unicodedatas(text: str) -> None:
    """However long its runs of marks."""
    with patch.object(unicode, "_RUN", SHORT_RUN):
        for form in ("NFC", "NFKC"):
            assert unicode.normalize(form, text) == unicodedata.normalize(form, text)


@cache
def tokenizers() -> list[Tokenizer]:
    """One of each kind that has a piece for every character."""
    sentences = [side for pair in make_pairs(600) for side in pair] + list(string.printable)
    return [
        train_tokenizer(iter(sentences), tokenizer_config(name, vocab_size=500), 1, []) for name in ("unigram", "bpe")
    ]


def pieces_give_the_text_back(given: tuple[str, int]) -> None:
    """The ids, likeliest or drawn, are in range and not special, and decode to the text with other spaces at most."""
    text, seed = clean(given[0], nfc=True), given[1]
    for tokenizer in tokenizers():
        for ids in (tokenizer.encode(text), *tokenizer.sample_batch([text], 0.3, seed)):
            assert all(0 <= i < tokenizer.vocab_size for i in ids)
            assert not {PAD, BOS, EOS} & set(ids)
            assert tokenizer.decode(ids).split() == text.split()


def no_piece_of_a_long_line_is_lost(given: tuple[str, int, int]) -> None:
    """In parts of at most so many pieces; truncated it is the beginning, and the rest is counted."""
    text, longest = clean(given[0] * (given[1] % 50 + 1), nfc=True), given[2] % 30 + 5
    tokenizer = tokenizers()[given[2] % 2]
    chunk = longest + given[1] % 100
    with patch.object(long_lines, "LONGEST_PART", longest), patch.object(long_lines, "CHUNK_CHARACTERS", chunk):
        [split], [cut] = (long_lines.read_lines_in_parts([text], tokenizer, mode) for mode in ("split", "truncate"))
    assert all(0 < len(part) <= longest for part in [*split.parts, *cut.parts])
    pieces = [piece for part in split.parts for piece in part]
    kept = [piece for part in cut.parts for piece in part]
    assert (split.dropped, len(cut.parts)) == (0, min(len(split.parts), 1))
    assert kept == pieces[: len(kept)]
    assert len(kept) + cut.dropped == len(pieces)
    assert "".join(tokenizer.decode(pieces).split()) == "".join(text.split())


def any_ids_are_text(ids: list[int]) -> None:
    """Whatever pieces a model writes."""
    for tokenizer in tokenizers():
        text = tokenizer.decode([i % tokenizer.vocab_size for i in ids])
        text.encode("utf-8")


def a_word_is_an_override_or_refused(word: str) -> None:
    """What passes is read the same again; what does not is one line."""
    if refusal(lambda: readable(word, sweep=False)) is None:
        assert parse(readable(word, sweep=False)).key_or_group


def values_fit_or_are_refused(given: tuple[int, int, Any]) -> None:
    """A section, or a verb's root, with one value in place of all its own."""
    sections = (DataConfig, TokenizerConfig, SearchConfig, TrainConfig)
    section, verb, value = given
    cls = sections[section % len(sections)]
    refusal(lambda: read(cls, dict.fromkeys(cls.__dataclass_fields__, value), "section"))
    refusal(lambda: read(cls, {str(value): value}, "section"))
    refusal(lambda: read_command(list(COMMANDS)[verb % len(COMMANDS)], _Anything(value), NO_CHANGES))


class _Anything(dict[str, Any]):
    """Every key has the same value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __missing__(self, key: str) -> Any:
        return self.value


def a_stored_configuration_is_plain_data_or_refused(content: bytes) -> None:
    """Nothing in it is executed or resolved."""
    refused = refusal(lambda: read_config(Path("config.json"), content, None))
    if refused is None:
        assert "${" not in repr(read_config(Path("config.json"), content, None))
    else:
        assert refused.startswith("config.json ")


@cache
def translator() -> Translator:
    """A small random model that writes anything."""
    run = make_run(folder() / "run", max_length_a=3.0, max_length_b=0.5, beam=2)
    return Translator.load(run, device="cpu", precision="fp32")


def every_line_is_one_line(content: bytes) -> None:
    """As many translations as lines, in order, none of them with a line break; as JSON too."""
    lines, _ = reference_lines(content)
    found = list(translator().stream(lines, buffer=LINES))
    assert [each.source for each in found] == lines
    for each in found:
        assert len(each.text.splitlines()) <= 1
        each.text.encode("utf-8")
        shown = translation_json(each, n_best=True, alignments=False)
        assert len(shown.splitlines()) == 1
        assert json.loads(shown)["source"] == each.source


pairs = st.lists(st.tuples(texts, texts), max_size=6)
json_streams = st.lists(
    st.sampled_from(
        [*BYTES, b'{"data":', b'"x": 1', b'"model": {}', b"[", b", ", b'{"a": ', b"}", b"]", b"NaN", b"1e9"]
    ),
    max_size=20,
).map(b"".join)
PARTS_OF_STRINGS = (
    b'"a"',
    b" = ",
    b";",
    b": ",
    b"  - ",
    b"one",
    b"other",
    b"{n, plural, ",
    b"<resources>",
    b"</string>",
)
PARTS_OF_CUES = (b"00:00:01,000 --> 00:00:02,000\n", b"WEBVTT\n", b"\n\n")
keyed_streams = st.lists(
    st.sampled_from([*BYTES, *PARTS_OF_STRINGS, b'<string name="a">', b"</resources>", *PARTS_OF_CUES]), max_size=20
).map(b"".join)
words = st.lists(
    st.one_of(st.sampled_from([*TEXTS, "seed", "data", "train.lr", "=", "[", "]", ","]), texts), max_size=6
)

PROPERTIES = {
    "lines": Property(streams, lines_are_those_of_the_file, 0.1),
    "text": Property(st.tuples(streams, streams), text_pairs_are_those_of_the_files, 0.1),
    "tsv": Property(streams, tsv_pairs_are_those_of_the_file, 0.05),
    "tables": Property(
        st.tuples(st.sampled_from(["csv", "jsonl", "tsv", "parquet", "xlsx", "moses_zip", *SEGMENTS]), streams),
        any_table_gives_pairs_or_a_refusal,
        0.1,
    ),
    "two files": Property(
        st.tuples(st.sampled_from([*SUFFIXES.values(), "srt", "vtt"]), keyed_streams, keyed_streams),
        any_two_files_give_pairs_or_a_refusal,
        0.1,
    ),
    **{
        f"damaged {name}": Property(st.binary(min_size=3, max_size=15), partial(damaged, name), 0.1 / len(CORPORA))
        for name in CORPORA
    },
    "csv": Property(pairs, csv_gives_back_what_was_written, 0.05),
    "jsonl": Property(pairs, jsonl_gives_back_what_was_written, 0.05),
    "clean": Property(texts, clean_text_is_one_line_of_utf8, 0.044),
    "normal form": Property(st.tuples(texts, texts).map("".join), the_normal_form_is_unicodedatas, 0.05),
    "long lines": Property(
        st.tuples(texts, st.integers(0, 999), st.integers(0, 999)), no_piece_of_a_long_line_is_lost, 0.05
    ),
    "tokenizer": Property(st.tuples(texts, st.integers(0, 2**64)), pieces_give_the_text_back, 0.08),
    "decode": Property(st.lists(st.integers(0, 10**6), max_size=30), any_ids_are_text, 0.05),
    "overrides": Property(words.map("".join), a_word_is_an_override_or_refused, 0.05),
    "values": Property(st.tuples(st.integers(0, 100), st.integers(0, 100), plain), values_fit_or_are_refused, 0.05),
    "config": Property(json_streams, a_stored_configuration_is_plain_data_or_refused, 0.06),
    "translator": Property(streams, every_line_is_one_line, 0.01),
}
