"""Files that are not the text that they are taken for are named, with what reads them, wherever text is read."""

import gzip
import io
import lzma
import os
import re
import sys
import zipfile

import pytest
from helpers.small_corpora import data_config, make_pairs, text_data

from nmt.config.sections import SplitConfig
from nmt.data.corpus import read_corpus
from nmt.data.encodings import conversion, utf16_or_32
from nmt.data.paths import read_lines
from nmt.data.streams import input_lines
from nmt.errors import DataError
from nmt.scoring.benchmark import text_lines

TMX = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<!-- one -->\n<tmx version="1.4">\n</tmx>\n'
SGML = '<srcset setid="home" srclang="en">\n<doc docid="d">\n<seg id="1">A & B</seg>\n</doc>\n</srcset>\n'
PO = '# German\nmsgid ""\nmsgstr ""\n"Language: de\\n"\n\nmsgid "Open"\nmsgstr "Öffnen"\n'
TEXT = "".join(f"{src}\n" for src, _ in make_pairs(30))


def zipped(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")
        archive.writestr("other.txt", "x")
    return file.getvalue()


KINDS = {
    "TMX": (TMX.encode(), r"TMX, .*; read it with data=tmx"),
    "TMX without a declaration": (b"\xef\xbb\xbf\n<tmx version='1.4'>\n</tmx>", r"TMX, .*; read it with data=tmx"),
    "TMX in UTF-16": (TMX.encode("utf-16"), r"TMX, .*; read it with data=tmx"),
    "TMX in UTF-16 without a mark": (TMX.encode("utf-16-be"), r"TMX, .*; read it with data=tmx"),
    "TMX in gzip": (gzip.compress(TMX.encode()), r"TMX, .*; read it with data=tmx"),
    "XLIFF": (b'<?xml version="1.0"?><xliff version="1.2">\n</xliff>', r"XLIFF; read it with data=xliff"),
    "XLIFF with a prefix": (
        b'<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:1.2">\n</x:xliff>',
        r"XLIFF; read it with data=xliff",
    ),
    "TMX with a prefix": (b'<?xml version="1.0"?><t:tmx xmlns:t="a">\n</t:tmx>', r"TMX, .*; read it with data=tmx"),
    "TBX": (b'<?xml version="1.0"?><tbx style="dca">\n</tbx>', r"TBX, a glossary; read it with data=tbx"),
    "TBX, version 2": (b'<martif type="TBX">\n</martif>', r"TBX, a glossary; read it with data=tbx"),
    "MultiTerm": ("<mtf>\n</mtf>".encode("utf-16"), r"XML of MultiTerm, a glossary; read it with data=multiterm"),
    "PO": (PO.encode(), r"PO, .*; read it with data=po"),
    "PO of Windows": (PO.replace("\n", "\r\n").encode(), r"PO, .*; read it with data=po"),
    "SGML": (SGML.encode(), r"SGML of a test set; read it with data=sgm"),
    "SGML after text": (f"Home\n{SGML}".encode(), r"SGML of a test set; read it with data=sgm"),
    "IWSLT": (b"<url>x</url>\n<talkid>1</talkid>\nText.\n", r"text with lines of tags, .*; read it with data=sgm"),
    "WMT": (b'<?xml version="1.0"?>\n<dataset id="home">\n</dataset>', r"WMT XML; read it with data=wmt_xml"),
    "XML": (b'<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]>\n<strings>\n</strings>', r"XML \(<strings>\); "),
    "HTML": (b"<!doctype html>\n<html>\n</html>\n", r"HTML; .* extract its text"),
    "Qt": (b"<?xml version='1.0'?>\n<!DOCTYPE TS>\n<TS>\n</TS>\n", r"a file of Qt Linguist; read it with data=qt"),
    ".NET": (b"<root>\n<!-- a -->\n<resheader name='b'>\n</root>\n", r"a file of resources of .NET; read it"),
    "XML with a root": (b"<?xml version='1.0'?>\n<root>\n<data>\n</data>\n</root>\n", r"XML \(<root>\); nmt does"),
    "Android": (b'<resources>\n<string name="a">Hello</string>\n</resources>', "a file of strings of Android; read it"),
    "compiled strings": (b"bplist00\xd1\x01\x02", "a compiled file of Apple; name the .strings file"),
    "compiled PO": (b"\xde\x12\x04\x95\0\0\0\0", "a compiled file of gettext; decompile it: msgunfmt FILE"),
    "compiled PO, big": (b"\x95\x04\x12\xde\0\0\0\0", "a compiled file of gettext; decompile it: msgunfmt FILE"),
    "memory of Trados": (b"SQLite format 3\0\x10\0", r"a database, such as .*\(\.sdltm\); export it as TMX"),
    "MultiTerm's base": (b"\0\1\0\0Standard Jet DB\0", r"a database of Access, .*; export it as MultiTerm XML"),
    "SubStation": (b"[Script Info]\nTitle: x\n", "a file of subtitles in another format; convert it to SubRip"),
    "MicroDVD": (b"{25}{50}Hi.\n{60}{75}You.\n", "a file of subtitles in another format; convert it to SubRip"),
    "Xcode": (b'{\n  "sourceLanguage" : "en",\n', "a string catalog of Xcode; export it as XLIFF"),
    "SRT": (b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\nHi.\r\n", "a file of subtitles; read it with data=sub"),
    "WebVTT": (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n", "a file of subtitles; read it with data=sub"),
    "Apple": (b'/* a */\n"a" = "Hello";\n"b c"="x \\"y\\"";\n"d" = "z";\n', r"a file of strings of Apple; read it"),
    "properties": (b"# a\nhello=Hello\na.b = Two words\nc-d=x=y\n", r"a file of properties, .*; read it with"),
    "YAML": (b'de:\n  hello: "Hallo"\n  sub:\n    a: b\n', r"YAML; read it with data=strings"),
    "Wordfast": (b"%20240101~120000\t%User ID\t%EN-US\n", r"a memory of Wordfast; export it as TMX"),
    "UTF-16": (TEXT.encode("utf-16"), r"UTF-16 text, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8"),
    "UTF-16, little": (TEXT.encode("utf-16-le"), r"UTF-16 text, not UTF-8; convert it: iconv -f UTF-16LE -t UTF-8"),
    "UTF-16, big": (TEXT.encode("utf-16-be"), r"UTF-16 text, not UTF-8; convert it: iconv -f UTF-16BE -t UTF-8"),
    "UTF-32": (TEXT.encode("utf-32"), r"UTF-32 text, not UTF-8; convert it: iconv -f UTF-32 -t UTF-8"),
    "UTF-32, little": (TEXT.encode("utf-32-le"), r"UTF-32 text, not UTF-8; convert it: iconv -f UTF-32LE -t UTF-8"),
    "NUL": (TEXT.encode().replace(b" ", b"\0"), r"binary, or text with NUL bytes; delete them: tr -d '\\000' < "),
    "CR": (TEXT.replace("\n", "\r").encode(), r"text with line ends of CR alone; convert them: tr '\\r' '\\n' < "),
    "Parquet": (b"PAR1\x15\0", "a Parquet file; read it with data=parquet"),
    "Arrow": (b"ARROW1\0\0", "an Arrow file; read it with data=parquet"),
    "PDF": (b"%PDF-1.4\n", "a PDF document; save its text as plain text"),
    "Excel": (zipped("xl/workbook.xml"), "an Excel workbook; read it with data=xlsx"),
    "zip": (zipped("a.txt"), r"a zip with 2 files \(a\.txt, other\.txt\); unpack it, and name the files in it"),
    "tar": (b"a.txt".ljust(257, b" ") + b"ustar\n", "a tar archive; unpack it"),
    "packed twice": (gzip.compress(lzma.compress(b"a")), "xz data; unpack it first"),
}  # fmt: skip


def message(error):
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_are_named_with_their_remedy_wherever_text_is_read(tmp_path, monkeypatch, kind):
    content, said = KINDS[kind]
    (tmp_path / "a file").write_bytes(content)
    (tmp_path / "t").write_text(TEXT)
    name = str(tmp_path / "a file")
    read, write = os.pipe()
    os.write(write, content)
    os.close(write)
    for attempt in (
        lambda: read_corpus(data_config("text", train=SplitConfig(name, str(tmp_path / "t"), None)), tmp_path / "c"),
        lambda: read_corpus(data_config("text", train=SplitConfig(str(tmp_path / "t"), name, None)), tmp_path / "c"),
        lambda: text_lines(name, "ref"),
        lambda: list(input_lines(name)),
    ):
        with pytest.raises(DataError, match=f"{re.escape(name)} is {said}") as error:
            attempt()
        message(error)
    if not any(word in kind for word in ("gzip", "zip", "Excel", "twice")):
        with open(read, "rb") as pipe, io.TextIOWrapper(pipe) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            with pytest.raises(DataError, match=f"standard input is {said}") as error:
                list(input_lines(None))
        message(error)


def test_commands_that_are_shown_quote_the_name(tmp_path):
    (tmp_path / "a b").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(DataError, match=re.escape(f"iconv -f UTF-16 -t UTF-8 < '{tmp_path / 'a b'}' > utf8.txt")):
        list(read_lines(tmp_path / "a b"))


@pytest.mark.parametrize("text", ["ਸਤ ਸ੍ਰੀ ਅਕਾਲ, ਤੁਸੀਂ ਕਿਵੇਂ ਹੋ?\n", "કેમ છો? હું મજામાં છું.\n"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_letters_whose_half_is_a_line_end_are_utf16(text: str, encoding: str) -> None:
    assert (utf16_or_32((text * 20).encode(encoding)) or "").startswith("UTF-16")


def test_what_only_looks_like_another_kind_is_text(tmp_path):
    for content in (
        "<b>Hello</b>, world\n<p>x</p>\n",
        "<xml is a word\n",
        'msgid "a"\nwithout the other\n',
        "1 < 2\n",
        "one\rline\n",
        "one line of CR CR LF\r\r\n",
        "no line end\r",
        "{0} files in [1]\n",
        "PK is no zip\n",
        "BZh9 neither\n",
        "tab\there\nnot there\n",
    ):
        (tmp_path / "f").write_bytes(content.encode())
        assert text_lines(str(tmp_path / "f"), "ref") == [
            re.sub("[\t\r]", " ", line).strip() for line in content.removesuffix("\n").split("\n")
        ]


def test_json_and_tables_are_no_text_of_one_language(tmp_path):
    table = "".join(f"{src}\t{tgt}\n" for src, tgt in make_pairs(30))
    for content, said in (
        ('{"src": "a", "tgt": "b"}\n', "JSON; read it with data=jsonl"),
        ('[\n  {"src": "a", "tgt": "b"}]\n', "JSON; read it with data=jsonl"),
        ('[["a", "b"], ["c", "d"]]\n', "JSON; read it with data=jsonl"),
        (table, "a table with tabs; read it with data=tsv"),
    ):
        (tmp_path / "f").write_text(content)
        (tmp_path / "t").write_text(TEXT)
        with pytest.raises(DataError, match=f"f is {said}"):
            read_corpus(data_config("text", root=str(tmp_path), train=SplitConfig("f", "t", None)), tmp_path / "c")
        with pytest.raises(DataError, match=f"f is {said}"):
            text_lines(str(tmp_path / "f"), "src")


def test_the_same_text_on_both_sides_is_refused(tmp_path):
    (tmp_path / "s").write_text(TEXT)
    (tmp_path / "link").symlink_to("s")
    (tmp_path / "z").write_bytes(gzip.compress(TEXT.encode()))
    for tgt, said in (
        ("s", r"s is given on both sides, data\.train\.src, \.tgt; name the file of each language"),
        ("link", r"s is given on both sides"),
        ("z", r"s and .*z hold the same text; name the file of each language"),
    ):
        with pytest.raises(DataError, match=said) as error:
            read_corpus(data_config("text", root=str(tmp_path), train=SplitConfig("s", tgt, None)), tmp_path / "c")
        message(error)


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("Der Schlüssel ist sauber – „gut“.", "cp1252", "CP1252"),
        ("Où est la clé de la maison ? Elle est à côté.", "latin-1", "CP1252"),
        ("Привет, как дела? Это моя книга, и мы едем домой.", "cp1251", "CP1251"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250", "CP1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "iso8859_2", "ISO-8859-2"),
        ("Dwóch mężczyzn stoi przy ścianie.", "cp1250", "CP1250"),
        ("Két férfi áll, az egyik nő üdvözöl. Őrült tűz.", "cp1250", "ISO-8859-2"),
        ("Le cœur de l’été coûte 5 €.".replace("’", "'"), "iso8859_15", "ISO-8859-15"),
        ("今日はいい天気ですね。私は学生です。", "shift_jis", "CP932"),
        ("你好，今天天气很好。我们去学校。", "gb18030", "GB18030"),
    ],
)
def test_the_remedy_for_other_encodings_names_the_likeliest(tmp_path, text, encoding, name):
    (tmp_path / "f").write_bytes(b"plain\n" * 3 + (f"{text}\n" * 5).encode(encoding))
    with pytest.raises(DataError, match=rf"f, line 4: byte 0x.. is not valid UTF-8; .* iconv -f {name} -t UTF-8"):
        list(read_lines(tmp_path / "f"))


def test_bytes_that_fit_no_encoding_name_none(tmp_path):
    (tmp_path / "f").write_bytes(b"\x81\x8d\x8f\xff\xfd\x90" * 20)
    with pytest.raises(DataError, match=r"line 1: byte 0x81 is not valid UTF-8; .* iconv -f [A-Z0-9-]+ -t UTF-8"):
        list(read_lines(tmp_path / "f"))


@pytest.mark.parametrize(("lines", "refused"), [(4, False), (5, True)])
def test_a_few_lines_may_be_the_same_on_both_sides(tmp_path, lines, refused):
    for name in ("dev.src", "dev.tgt"):
        (tmp_path / name).write_text("OK\n" * lines)
    dev = SplitConfig("dev.src", "dev.tgt", None)
    data = text_data(tmp_path, make_pairs(5), dev=dev, test_size=0)
    if refused:
        with pytest.raises(DataError, match="hold the same text"):
            read_corpus(data, tmp_path / "cache")
    else:
        assert len(read_corpus(data, tmp_path / "cache").dev) == lines


@pytest.mark.parametrize(
    "text",
    [
        "Tom: Hello.\nMary: Hi.\nTom: Bye.\n",
        "- Hello.\n- Hi.\n- Bye.\n",
        "1\n2\n3\n",
        "a = b\nHello.\nc = d\n",
        '"Hello," he said.\n"Hi."\n"Bye."\n',
        "Title:\nIt was late.\nNobody came.\n",
    ],
)
def test_text_that_looks_a_little_like_a_file_of_keys_is_text(tmp_path, text):
    (tmp_path / "a").write_text(text)
    assert list(read_lines(tmp_path / "a")) == text.splitlines()


def test_a_command_names_only_files_that_it_can_read(tmp_path):
    for name in ("a b.txt", "a.txt.gz"):
        (tmp_path / name).write_bytes(b"x")
    assert conversion("CP1253", f"{tmp_path}/a b.txt") == f"iconv -f CP1253 -t UTF-8 < '{tmp_path}/a b.txt' > utf8.txt"
    for name in (f"{tmp_path}/a.txt.gz", f"{tmp_path}/x.zip, a.txt", "standard input"):
        assert conversion(None, name) == "iconv -f ENCODING -t UTF-8"
