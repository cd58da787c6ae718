"""`bench cleaned`: the same training on a clean corpus, a noisy one and what is left of that."""

from pathlib import Path

import pytest
from helpers.small_corpora import write_splits

from bench import cleaned
from bench.cleaned import join, main, pairs_in, removed, words_of_scorer, write_halves, write_noisy
from bench.noise import noisy

DEMO = Path(__file__).parents[2] / "data" / "demo_en_de"
FEW = ["train.max_updates=3", "train.validate_every=3", "train.bleu_sentences=5", "train.examples=0", "train.workers=1"]
FEW += ["encoder.d_hidden=16", "decoder.d_hidden=16"]


def test_noise_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean, noisy, spared = write_splits(tmp_path / "clean", {"train": 400}), tmp_path / "noisy", tmp_path / "spared"
    write_noisy(clean, noisy, spared)
    assert "30% of 400 pairs are noise" in capsys.readouterr().err
    before, after = ((folder / "train.de").read_text().splitlines() for folder in (clean, noisy))
    assert len(after) == len(before)
    assert 0.2 < sum(a != b for a, b in zip(before, after, strict=True)) / 400 <= 0.3
    assert pairs_in(spared) == [pair for pair in pairs_in(clean) if pair in pairs_in(noisy)]
    (noisy / "train.de").write_text("kept")
    write_noisy(clean, noisy, spared)
    assert (noisy / "train.de").read_text() == "kept"


def test_the_budget_decides_how_long_the_scorer_is_trained() -> None:
    words = ["train.max_updates=5", "seed=2", "train.max_epochs=1", "budget=1h"]
    assert words_of_scorer(words, "10m") == ["budget=10m", "seed=2"]
    assert words_of_scorer(words, "null") == words


def test_halves_are_every_second_pair_and_join_again(tmp_path: Path) -> None:
    corpus = write_splits(tmp_path / "corpus", {"train": 5})
    halves = write_halves(corpus, tmp_path / "runs")
    pairs = pairs_in(corpus)
    assert [pairs_in(half) for half in halves] == [pairs[::2], pairs[1::2]]
    join(halves, tmp_path / "joined")
    assert pairs_in(tmp_path / "joined") == [*pairs[::2], *pairs[1::2]]


def test_what_is_removed_is_counted_by_kind() -> None:
    pairs, kinds = noisy([(f"source {row}", f"ein Ziel mit Nummer {row}") for row in range(100)], 1)
    assert set(removed(pairs, kinds, pairs).values()) == {0.0}
    kept = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind != "copied"]
    shares = removed(pairs, kinds, kept[::-1])  # in any order
    assert {kind for kind, share in shares.items() if share} == {"copied"}
    assert shares["copied"] == 1.0


@pytest.mark.slow
@pytest.mark.usefixtures("nmt_in_process")
def test_a_row_for_each_corpus_and_the_loss(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaned, "LIMITS", ("drop_worst=0.1",))  # so short a training makes no judge
    corpus = tmp_path / "corpus"  # of real words: filters look at the language
    corpus.mkdir()
    for name, count in {"train": 1200, "dev": 20, "test": 21}.items():
        for language in ("en", "de"):
            lines = (DEMO / f"{name}.{language}").read_text().splitlines(keepends=True)
            (corpus / f"{name}.{language}").write_text("".join(lines[:count]))
    words = ["--tatoeba", f"{corpus}", "--runs", f"{tmp_path}/runs", "--budget", "null", "--only", "spared,cleaned"]
    words += ["--seeds", "1,2", f"cache_dir={tmp_path}/cache", *FEW]
    assert main(words) == 0
    out = capfd.readouterr().out
    rows = [line.split("|") for line in out.splitlines() if line.startswith("| ")][1:]
    assert [row[1].strip() for row in rows] == ["spared", "cleaned"]
    assert rows[0][2].strip() == "840"
    assert int(rows[1][2].replace(",", "")) < 1200
    for row in rows:
        first, second = map(float, row[3].split(","))
        assert float(row[4]) == pytest.approx((first + second) / 2, abs=0.01)
    assert {"spared_1", "spared_2", "cleaned_1", "cleaned_2"} <= {run.name for run in (tmp_path / "runs").iterdir()}
    assert out.count("BLEU below spared (bar 0.5: ") == 1
    assert "cleaned: removed " in out
    assert "% clean" in out
    assert "tok:13a" in out


def test_what_is_no_corpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, value, message in (
        ("--tatoeba", f"{tmp_path}", "has no train.de"),
        ("--only", "dirty", "dirty is none of clean, noisy, spared, filtered, cleaned"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["--tatoeba", ".", "--runs", f"{tmp_path}", option, value])
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
