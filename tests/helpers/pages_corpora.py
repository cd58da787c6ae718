"""Small corpora under the names that README and docs/ use, in every format that nmt reads, English and German."""

import bz2
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

from helpers.fuzz_corpora import zipped
from helpers.workbooks import workbook

Pairs = Sequence[tuple[str, str]]
Files = Mapping[str, str | bytes]


def write_corpora(folder: Path, pairs: Pairs) -> None:
    """Writes the pairs under every name; those of Multi30k, Tatoeba and a larger demo corpus into folders."""
    for name in (
        "my",
        "new",
        "general",
        "dev",
        "test",
        "train",
        "clean/train",
        "odd/train",
        "even/train",
        "odd",
        "even",
    ):
        _write(folder, texts(name, pairs, "en", "de"))
    for name in ("train", "val", "test_2016_flickr", "dev", "test"):
        _write(folder, texts(f"FOLDER/{name}", pairs, "en", "de", "zh"))
        _write(folder, texts(f"FOLDER/tok/{name}.lc.norm.tok", pairs, "en", "de"))
        _write(folder, texts(f"TATOEBA/{name}", pairs, "en", "de"))
        _write(folder, texts(f"big/demo_en_de/{name}", pairs, "en", "de"))
    for name in ("taught", "own", "FOLDER/tok/taught"):
        _write(folder, texts(name, pairs, "en", "de"))
    for files in (marked_up(pairs), tables(pairs), by_key_or_time(pairs), packed(pairs)):
        _write(folder, files)
    pq.write_table(pa.Table.from_pylist(list(_rows(pairs))), folder / "train-1.parquet")


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def texts(name: str, pairs: Pairs, *languages: str) -> Files:
    """NAME.en and so on; the first language is that of the sources."""
    return {
        f"{name}.{language}": "".join(f"{pair[min(number, 1)]}\n" for pair in pairs)
        for number, language in enumerate(languages)
    }


def marked_up(pairs: Pairs) -> Files:
    """Formats of XML and SGML."""
    marked = [(escape(src), escape(tgt)) for src, tgt in pairs]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{src}</seg></tuv><tuv xml:lang="de"><seg>{tgt}</seg></tuv></tu>'
        for src, tgt in marked
    )
    sides = "".join(
        f'<trans-unit id="{number}"><source>{src}</source><target>{tgt}</target></trans-unit>'
        for number, (src, tgt) in enumerate(marked)
    )
    messages = "".join(
        f"<message><source>{src}</source><translation>{tgt}</translation></message>" for src, tgt in marked
    )
    concepts = "".join(
        f'<conceptEntry><langSec xml:lang="en"><termSec><term>{src}</term></termSec></langSec><langSec xml:lang="de">'
        f"<termSec><term>{tgt}</term></termSec></langSec></conceptEntry>"
        for src, tgt in marked
    )
    sources, targets = (
        "".join(f'<seg id="{number}">{pair[side]}</seg>\n' for number, pair in enumerate(marked, 1))
        for side in range(2)
    )
    languages = 'source-language="en" target-language="de"'
    resources = [
        "".join(f'<data name="{number}"><value>{pair[side]}</value></data>' for number, pair in enumerate(marked))
        for side in range(2)
    ]
    return {
        "Texts.resx": f"<root>{resources[0]}</root>",
        "Texts.de.resx": f"<root>{resources[1]}</root>",
        "memory.tmx": f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>',
        "a.xlf": f'<xliff version="1.2"><file {languages}><body>{sides}</body></file></xliff>',
        "app_de.ts": f'<TS version="2.1" sourcelanguage="en" language="de"><context>{messages}</context></TS>',
        "glossary.tbx": f'<tbx style="dca"><text><body>{concepts}</body></text></tbx>',
        "a.en.sgm": f'<srcset setid="a" srclang="en"><doc docid="1">{sources}</doc></srcset>',
        "a.de.sgm": f'<refset setid="a" srclang="en" trglang="de"><doc docid="1">{targets}</doc></refset>',
        "newstest.en-de.xml": f'<dataset id="a"><doc id="1"><src lang="en"><p>{sources}</p></src><ref lang="de" '
        f'translator="A"><p>{targets}</p></ref></doc></dataset>',
    }


def tables(pairs: Pairs) -> Files:
    """Formats with a pair in each row."""
    quoted = [(json.dumps(src), json.dumps(tgt, ensure_ascii=False)) for src, tgt in pairs]
    tabs = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)
    semicolons = "".join(f"{src};{tgt}\n" for src, tgt in [("en", "de"), *quoted])
    return {
        "pairs.tsv": tabs,
        "general.tsv": tabs,
        "pairs.csv": semicolons,
        "more.csv": semicolons,
        "terms.csv": semicolons,
        "pairs.xlsx": workbook([("en", "de"), *pairs]),
        "part-1.jsonl.gz": gzip.compress("".join(f"{json.dumps(row)}\n" for row in _rows(pairs)).encode()),
    }


def _rows(pairs: Pairs) -> Iterator[dict[str, dict[str, str]]]:
    return ({"translation": {"en": src, "de": tgt}} for src, tgt in pairs)


def by_key_or_time(pairs: Pairs) -> Files:
    """PO, strings of apps, and subtitles."""
    header = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n'
    entries = {json.dumps(src): json.dumps(tgt, ensure_ascii=False) for src, tgt in pairs}
    files = {"de.po": header + "".join(f"\nmsgid {src}\nmsgstr {tgt}\n" for src, tgt in entries.items())}
    for number, language in enumerate(("en", "de", "ru")):
        side = [pair[min(number, 1)] for pair in pairs]
        keys = "".join(f"  key{at}: {json.dumps(text)}\n" for at, text in enumerate(side))
        times = [f"00:{at // 60:02}:{at % 60:02}" for at in range(len(side))]
        cues = "".join(
            f"{at}\n{time},000 --> {time},900\n{text}\n\n"
            for at, (time, text) in enumerate(zip(times, side, strict=True))
        )
        files |= {f"{language}.yml": f"{language}:\n{keys}", f"film.{language}.srt": cues, f"{language}/film.srt": cues}
    return files


def packed(pairs: Pairs) -> Files:
    """Texts in gzip, a zip of OPUS, and an export of Tatoeba."""
    both = texts("part", pairs, "en", "de")
    sides = [
        "".join(f"{number + 1000 * side}\t{name}\t{pair[side]}\n" for number, pair in enumerate(pairs, 1))
        for side, name in enumerate(("eng", "deu"))
    ]
    links = "".join(f"{number}\t{number + 1000}\n" for number in range(1, len(pairs) + 1))
    return {
        **{f"{name}.gz": gzip.compress(str(text).encode()) for name, text in both.items()},
        "books.en-de.zip": zipped({f"Books.en-de.{name[-2:]}": str(text).encode() for name, text in both.items()}),
        "eng_sentences.tsv.bz2": bz2.compress(sides[0].encode()),
        "deu_sentences.tsv.bz2": bz2.compress(sides[1].encode()),
        "eng-deu_links.tsv.bz2": bz2.compress(links.encode()),
    }
