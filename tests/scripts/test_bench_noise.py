"""`bench noise`: each kind of noise is what it says, and the figures are those of `nmt clean`."""

import random
import re
from pathlib import Path

import pytest

from bench.noise import KINDS, SHARE, main, noisy

PAIRS = [(f"english text number {row} here", f"deutscher Satz Nummer {row} steht hier") for row in range(400)]


def test_noise_takes_the_place_of_so_many_pairs() -> None:
    found, kinds = noisy(PAIRS, 1)
    assert noisy(PAIRS, 1) == (found, kinds)
    assert noisy(PAIRS, 2) != (found, kinds)
    for kind in KINDS:
        assert kinds.count(kind) == SHARE * len(PAIRS)
    for pair, clean, kind in zip(found, PAIRS, kinds, strict=True):
        assert (pair == clean) == (kind == "clean")
        assert pair[0] == clean[0] or kind == "other language"
        if kind == "misaligned":
            assert pair[1] in {tgt for _, tgt in PAIRS} - {clean[1]}
        if kind == "copied":
            assert pair[0] == pair[1]
        if kind == "truncated":
            assert clean[1].startswith(pair[1])
            assert 0 < len(pair[1]) < len(clean[1])
        if kind == "other numbers":
            assert re.sub(r"\d", "", pair[1]) == re.sub(r"\d", "", clean[1])


def test_a_number_is_put_where_there_is_none() -> None:
    src, tgt = KINDS["other numbers"](random.Random(1), ("a dog", "ein Hund"), ("", ""))
    assert src == "a dog"
    assert re.sub(r" ?\d+ ?", " ", tgt).split() == ["ein", "Hund"]


def test_the_table_says_what_is_removed_and_what_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, suffix in ((0, "en"), (1, "de")):
        (tmp_path / f"dev.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")
    words = ["--tatoeba", str(tmp_path), "--splits", "dev", "data.filters.min_language=null"]
    assert main([*words, "data.filters.duplicates=false"]) == 0
    rows = {line[:16].strip(): line[16:].split() for line in capsys.readouterr().out.splitlines()}
    assert rows["copied"][:4] == ["20", "100.0%", "95%:", "holds"]
    assert rows["other numbers"][1] == "100.0%"
    assert rows["misaligned"][1] == "100.0%"  # all of these have numbers
    assert rows["clean"][:4] == ["280", "0.0%", "2%:", "holds"]


def test_a_folder_without_the_splits_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--tatoeba", str(tmp_path)])
    assert "has no dev.en; name the folder with dev, test" in capsys.readouterr().err
