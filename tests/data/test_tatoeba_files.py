"""Exports of Tatoeba: sentences and links give pairs, in either direction, whatever the order of files and lines."""

import bz2
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.small_corpora import data_config

from nmt.config.sections import SplitConfig
from nmt.data.readers import find_split
from nmt.errors import ConfigError, DataError, NmtError

ENGLISH, GERMAN, FRENCH = "1\teng\tHello.\n3\teng\tThanks.\n", "2\tdeu\tHallo.\n4\tdeu\tDanke.\n", "5\tfra\tMerci.\n"
LINKS = "1\t2\n2\t1\n3\t4\n4\t3\n3\t5\n5\t3\n"


def pairs(folder: Path, contents: Sequence[str], name: str = "auto", **changes: str | None) -> list[tuple[str, str]]:
    files = []
    for number, content in enumerate(contents):
        files.append(f"{number}.tsv")
        (folder / files[-1]).write_bytes(content.encode())
    data = replace(data_config(name, root=str(folder), src_lang="en", tgt_lang="de"), **changes)
    split = find_split(replace(data, train=SplitConfig(None, None, files)), "train", folder)
    assert split is not None
    return list(split.pairs())


@pytest.mark.parametrize("name", ["auto", "tatoeba"])
def test_linked_sentences_are_pairs_once_in_either_direction(tmp_path: Path, name: str) -> None:
    both = [("Hello.", "Hallo."), ("Thanks.", "Danke.")]
    for contents in (
        [ENGLISH, GERMAN + FRENCH, LINKS],
        [LINKS, ENGLISH + GERMAN],
        ["\ufeff" + ENGLISH, "\ufeff" + LINKS, GERMAN],
    ):
        assert pairs(tmp_path, contents, name) == both
    turned = [(tgt, src) for src, tgt in both]
    assert pairs(tmp_path, [ENGLISH, GERMAN, LINKS], name, src_lang="de", tgt_lang="en") == turned
    assert pairs(tmp_path, [ENGLISH, LINKS, FRENCH], name, tgt_lang="fr") == [("Thanks.", "Merci.")]
    assert pairs(tmp_path, [ENGLISH.replace("\n", "\r\n"), GERMAN, LINKS.replace("\n", "\r\n")], name) == both


def test_random_exports_give_what_a_join_gives(tmp_path: Path) -> None:
    rng = random.Random(1)
    sentences = {number: (rng.choice(["eng", "deu", "fra"]), f"text {number}") for number in range(300)}
    links = [(rng.randrange(320), rng.randrange(320)) for _ in range(3000)]
    expected = {
        (sentences[a][1], sentences[b][1])
        for first, second in links
        for a, b in ((first, second), (second, first))
        if a in sentences and b in sentences and (sentences[a][0], sentences[b][0]) == ("eng", "deu")
    }
    rows = "".join(f"{number}\t{language}\t{text}\tuser\t\\N\n" for number, (language, text) in sentences.items())
    found = pairs(tmp_path, [rows, "".join(f"{first}\t{second}\n" for first, second in links)])
    assert set(found) == expected
    assert len(found) == len(expected)


def test_exports_are_read_as_they_are_fetched_and_counted(tmp_path: Path) -> None:
    for name, content in (("s.tsv.bz2", ENGLISH + GERMAN), ("l.tsv.bz2", LINKS)):
        (tmp_path / name).write_bytes(bz2.compress(content.encode()))
    data = data_config("auto", root=str(tmp_path), src_lang="en", tgt_lang="de")
    split = find_split(replace(data, train=SplitConfig(None, None, "*.bz2")), "train", tmp_path)
    assert split is not None
    assert len(list(split.pairs())) == 2
    assert str(split.tallies[0]) == "2 files: 4 links, 2 pairs; left out: 2 repeated"


@pytest.mark.parametrize(
    ("contents", "changes", "kind", "said"),
    [
        ([ENGLISH], {}, DataError, "0.tsv: no file of links is among them; name files of both"),
        ([LINKS], {}, DataError, "no file of sentences is among them"),
        ([ENGLISH, LINKS], {"src_lang": None}, ConfigError, "data.src_lang is null, data.format=tatoeba"),
        ([ENGLISH, LINKS], {}, DataError, "no link joins a sentence in English with one in German; name other"),
        ([ENGLISH, LINKS + "1\tx\n"], {}, DataError, "1.tsv, line 7: not two numbers and a tab between"),
        ([ENGLISH + "x\n", LINKS], {}, DataError, "0.tsv, line 3: not number, language and text"),
    ],
)
def test_what_is_no_export_is_one_error(
    tmp_path: Path, contents: list[str], changes: dict[str, None], kind: type[NmtError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        pairs(tmp_path, contents, "tatoeba", **changes)


def test_pairs_that_begin_with_one_word_are_no_sentences(tmp_path: Path) -> None:
    assert pairs(tmp_path, ["5\thi\t6\thallo\n7\tBye.\t8\tTschüss.\n"]) == [("hi", "hallo"), ("Bye.", "Tschüss.")]


def test_pairs_as_tatoeba_and_anki_decks_have_them_are_tables(tmp_path: Path) -> None:
    rows = {"a": "\ufeff1276\tLet's go.\t77\tGehen wir.\n5\tHi.\t6\tHallo.\n",
            "b": "Let's go.\tGehen wir.\tCC-BY 2.0 (France)\nHi.\tHallo.\tCC-BY 2.0\n",
            "c": "0.93\tLet's go.\tGehen wir.\n0.2\tHi.\tHallo.\n"}  # fmt: skip
    for content in rows.values():
        assert pairs(tmp_path, [content]) == [("Let's go.", "Gehen wir."), ("Hi.", "Hallo.")]


def test_chinese_is_mandarin_and_an_error_names_what_there_is(tmp_path: Path) -> None:
    chinese = "2\tcmn\t你好。\n"
    assert pairs(tmp_path, [ENGLISH, chinese, LINKS], tgt_lang="zh") == [("Hello.", "你好。")]
    with pytest.raises(DataError, match=r"no link joins .* the files have cmn, eng$"):
        pairs(tmp_path, [ENGLISH, chinese, LINKS], tgt_lang="ja")
