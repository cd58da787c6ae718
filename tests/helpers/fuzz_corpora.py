"""A whole corpus in each format that nmt reads but text, English and German, for damage."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from helpers.workbooks import workbook

SEGMENTS = {
    "tmx": b"""<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE tmx SYSTEM "x.dtd" [<!ENTITY e "f">]>
        <tmx version="1.4"><header srclang="en"/><body><tu tuid="1"><tuv xml:lang="en"><seg>a <bpt i="1">b</bpt>c<ept
        i="1">/b</ept> &lt;<ph x="1"><sub>d</sub></ph></seg></tuv><tuv lang="DE"><seg>e<hi>f</hi></seg></tuv></tu>
        </body></tmx>""",
    "xliff": b"""<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><x:file source-language="en"
        target-language="de"><x:body><x:trans-unit id="1"><x:source>a<x:g id="1">b</x:g></x:source><x:seg-source><x:mrk
        mtype="seg" mid="1">a</x:mrk></x:seg-source><x:target state="new"><x:mrk mtype="seg" mid="1">c<x:bx id="2"/>d
        </x:mrk></x:target></x:trans-unit><unit><originalData><data id="d">x</data></originalData><segment><source>a<ph
        id="1" dataRef="d"/></source><target>b<sc id="3"/>c<ec startRef="3"/></target></segment></unit></x:body>
        </x:file></x:xliff>""",
    "tbx": b"""<?xml version="1.0"?><tbx style="dca" xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
        <conceptEntry id="1"><langSec xml:lang="en"><termSec><term>a <hi>b</hi></term><termNote
        type="administrativeStatus">deprecated</termNote></termSec><termSec><term>c</term></termSec></langSec><langSec
        xml:lang="de"><termSec><term>d</term></termSec></langSec></conceptEntry><termEntry><langSet xml:lang="en"><tig>
        <term>e</term></tig></langSet><langSet lang="de"><ntig><termGrp><term>f</term></termGrp></ntig></langSet>
        </termEntry></body></text></tbx>""",
    "multiterm": b"""<mtf><conceptGrp><concept>1</concept><languageGrp><language type="English" lang="EN"/><termGrp>
        <term>a</term><descripGrp><descrip type="Status">rejected</descrip></descripGrp></termGrp><termGrp><term>b
        </term></termGrp></languageGrp><languageGrp><language type="German" lang="DE"/><termGrp><term>c</term></termGrp>
        </languageGrp></conceptGrp></mtf>""",
    "wmt_xml": b"""<?xml version="1.0"?><dataset id="x"><doc id="a" origlang="en"><src lang="en"><p><seg id="1">a &lt; b
        </seg></p></src><ref lang="de" translator="A"><p><seg id="1">c</seg></p></ref><ref lang="de" translator="B"><p>
        <seg id="1">d</seg></p></ref><hyp lang="de" system="S"><p><seg id="1">e</seg></p></hyp></doc></dataset>""",
    "glossary": b'English|Status|German\r\n"a;b"|rejected|d\r\ne|approved|"f\r\ng"\r\nh||i;j\r\n',
    "qt": b"""<!DOCTYPE TS><TS version="2.1" sourcelanguage="en" language="de"><context><name>n</name><message
        id="1" numerus="yes"><location filename="a.cpp" line="3"/><source>a<byte value="x1b"/>b</source><comment>c
        </comment><translation type="unfinished"><numerusform>d</numerusform><numerusform>e</numerusform></translation>
        </message><message><source>f &amp;g</source><translation variants="yes"><lengthvariant>h</lengthvariant>
        <lengthvariant>i</lengthvariant></translation></message></context></TS>""",
    "po": b"""msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n#, fuzzy\n#| msgid "x"\nmsgctxt "y"\nmsgid "a"\nmsgstr "b"\n
msgid "c"\nmsgid_plural "d"\nmsgstr[0] "e"\nmsgstr[1] "f"\n\n#~ msgid "g"\n#~ msgstr "h"\n""",
}
TABLES = {
    "csv": b'English;German\r\n"a ""b""";c\r\n"d\ne";f\r\n',
    "tsv": b"a\tb\nc\td\n",
    "jsonl": b'{"src": "a \\u00e4", "tgt": "b"}\n{"src": "c", "tgt": "d"}\n',
    "json": b'[{"src": "a", "tgt": "b"}, {"src": "c", "tgt": "d"}]',
}
SGML = b"""<!DOCTYPE srcset SYSTEM "x.dtd"><srcset setid="x" srclang="en"><doc docid="1"><hl><seg id="1">a & b</seg>
    </hl><p><seg id="2">c</seg></p></doc></srcset>"""
REFERENCES = b"""<refset setid="x" srclang="en" trglang="de"><doc docid="1" sysid="r"><seg id="1">d</seg>
    <seg id="2">e</seg></doc></refset>"""
STRINGS = {  # of apps, English and German
    "android": (
        b"""<resources xmlns:x="urn:x"><string name="a">b\\'s <b>c</b> <x:g id="1">%s</x:g> \\u00e4</string><string
        name="d" translatable="false">@string/a</string><plurals name="e"><item quantity="one">f</item><item
        quantity="other">g</item></plurals><string-array name="h"><item>i</item></string-array></resources>""",
        b"""<resources><string name="a">j</string><plurals name="e"><item quantity="other">k</item></plurals>
        </resources>""",
    ),
    "resx": (
        b"""<root><resheader name="version"><value>2.0</value></resheader><data name="a" xml:space="preserve"><value>b
        {0}</value><comment>c</comment></data><data name="d" type="System.Drawing.Size"><value>1, 2</value></data><data
        name="e" mimetype="x"><value>AA==</value></data><data name=">>f"><value>g</value></data></root>""",
        b"""<root><data name="a"><value>h</value></data></root>""",
    ),
    "arb": (
        b"""{"@@locale": "en", "a": "b {c, plural, =0{d} one{e \\u00e4} other{{c} f}} g", "@a": {"type": "text"},
        "h_one": "i", "h_other": "j", "k": {"message": "l", "description": "m"}, "n": ["o", 1, null, {"p": true}]}""",
        b"""{"@@locale": "de", "a": "q {c, plural, =1{r} other{s}}", "h_other": "t", "k": "u", "n": ["v"]}""",
    ),
    "yaml": (
        b"""en:\n  a: "b \\u00e4"\n  c: &d\n    one: e\n    other: 'f'\n  g: [h, *d, 12, !!str 13]\n  i: |\n    j\n"""
        b"    k\n",
        b"de:\n  a: l\n  c: {one: m, other: n}\n  g: [o]\n  i: >\n    p\n",
    ),
    "apple": (b'/* a */ "b" = "c \\U00e4 \\"d\\"";\n// e\n"f";\ng = h;\n', b'"b" = "i";\n"f" = "j";\n'),
    "properties": (b"# a\nb = c\\\n  d\ne\\ f: \\u00e4\n! g\nh i\n", b"b=j\nh=k\n"),
}
CUES = (
    b"1\n00:00:01,000 --> 00:00:02,500\n<i>a</i> {\\an8}b\n- c\n\n2\n00:00:03,000 --> 00:00:04,000\nd &amp; e\n",
    b"WEBVTT\n\nNOTE f\n\nx\n00:01.000 --> 00:02.500 align:left\n<v g>h <00:01.500>i\n\n00:03.000 --> 00:04.000\nj\n",
)
TAGGED = b"<url>x</url>\n<talkid>1</talkid>\n<title>a</title>\nb\nc\n"
SUFFIXES = {
    "android": "xml",
    "resx": "resx",
    "arb": "arb",
    "yaml": "yml",
    "apple": "strings",
    "properties": "properties",
}
PACKED = ("gzip", "xz", "bz2", "zst", "zip")
COLUMNS = ("parquet", "arrow", "arrow stream", "xlsx")
SHEET = "xl/worksheets/sheet1.xml"
CORPORA = (
    *SEGMENTS,
    *TABLES,
    *COLUMNS,
    *STRINGS,
    "subtitles",
    "webvtt",
    "moses zip",
    "sgml",
    "tagged lines",
    "tatoeba",
    "sheet",
    *PACKED,
)  # of whole_corpora


def _as_it_is(content: bytes) -> bytes:
    return content


@dataclass(frozen=True)
class WholeCorpus:
    """Files of a corpus; the first of them is to be damaged, and then packed."""

    format: str  # value of data.format
    files: Mapping[str, bytes]
    pack: Callable[[bytes], bytes] = _as_it_is


@cache
def whole_corpora() -> dict[str, WholeCorpus]:
    """One corpus for each name in CORPORA."""
    rows = pa.table({"src": ["a", "b"], "tgt": ["c", "d"]})
    parquet, arrow, stream = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pq.write_table(rows, parquet)
    with pa.ipc.new_file(arrow, rows.schema) as writer:
        writer.write_table(rows)
    more = rows.append_column("kind", pa.array(["x", "y"]).dictionary_encode())
    with pa.ipc.new_stream(stream, more.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(more)
    book = workbook((("English", "German"), ("a", "b"), ("c", "d")))
    tmx = SEGMENTS["tmx"]
    packed = {
        "gzip": gzip.compress(tmx, mtime=0),
        "xz": lzma.compress(tmx),
        "bz2": bz2.compress(tmx),
        "zst": zstandard.compress(tmx),
        "zip": zipped({"a.tmx": tmx}),
    }
    two_sides = {"x.en": b"a\nb\n", "x.de": b"c\nd\n", "LICENSE": b"x"}
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return (
        {name: WholeCorpus(name, {"table": content}) for name, content in SEGMENTS.items()}
        | {name: WholeCorpus("jsonl" if name == "json" else name, {"table": text}) for name, text in TABLES.items()}
        | {
            name: WholeCorpus("strings", {f"src.{SUFFIXES[name]}": src, f"tgt.{SUFFIXES[name]}": tgt})
            for name, (src, tgt) in STRINGS.items()
        }
        | {name: WholeCorpus("tmx", {"table": content}) for name, content in packed.items()}
        | {
            "parquet": WholeCorpus("parquet", {"table": parquet.getvalue()}),
            "arrow": WholeCorpus("parquet", {"table": arrow.getvalue()}),
            "arrow stream": WholeCorpus("parquet", {"table": stream.getvalue()}),
            "xlsx": WholeCorpus("xlsx", {"table": book}),
            "sheet": WholeCorpus("xlsx", {"table": parts[SHEET]}, lambda sheet: zipped(parts | {SHEET: sheet})),
            "subtitles": WholeCorpus("subtitles", {"src": CUES[0], "tgt": CUES[1]}),
            "webvtt": WholeCorpus("subtitles", {"src": CUES[1], "tgt": CUES[0]}),
            "moses zip": WholeCorpus("moses_zip", {"table": zipped(two_sides)}),
            "sgml": WholeCorpus("sgm", {"src": SGML, "tgt": REFERENCES}),
            "tagged lines": WholeCorpus("sgm", {"src": TAGGED, "tgt": TAGGED.replace(b"b", b"d")}),
            "tatoeba": WholeCorpus("tatoeba", {"sentences": b"1\teng\ta\n2\tdeu\tb\n", "links": b"1\t2\n"}),
        }
    )


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
