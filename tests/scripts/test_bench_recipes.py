"""`bench recipes`: trains what is missing, evaluates it, and leaves finished trainings as they are."""

import json
import shutil
from pathlib import Path

import pytest
from helpers.small_corpora import make_pairs
from matplotlib.figure import Figure

from bench.recipes import CORPORA, MINUTES_FILE, data_words, draw, main, of_budget, train
from nmt.errors import ConfigError

FEW = ["train.max_updates=3", "train.bleu_sentences=5", "train.precision=fp32", "train.workers=1"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "tatoeba"
    folder.mkdir()
    for name, count, seed in (("train", 1200, 1), ("dev", 20, 2), ("test", 20, 3)):
        for side, language in enumerate(("en", "de")):
            lines = (f"{pair[side]}\n" for pair in make_pairs(count, seed))
            (folder / f"{name}.{language}").write_text("".join(lines))
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("nmt_in_process")
def test_a_row_for_each_training_and_none_is_trained_twice(
    corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--runs", str(tmp_path / "runs"), "--tatoeba", str(corpus), "--corpora", "tatoeba_1000"]
    assert main([*words, "--recipes", "auto,former defaults", f"cache_dir={tmp_path}/cache", *FEW]) == 0
    first = capfd.readouterr()
    assert "| tatoeba_1000 | auto | " in first.out
    assert first.out.count("tok:13a") == 1
    assert "recipe for 1,000 pairs" in first.err
    assert (tmp_path / "runs" / "data" / "tatoeba_1000" / "train.en").read_text().count("\n") == 1000
    again = [*words, "--recipes", "auto", f"cache_dir={tmp_path}/cache", *FEW]
    assert main(again) == 0
    second = capfd.readouterr()
    assert "recipe for" not in second.err
    assert first.out.splitlines()[2] == second.out.splitlines()[2]


@pytest.mark.slow
def test_the_best_trial_of_a_study_has_a_row_and_is_not_searched_twice(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.recipes.STUDY", ("recipe=auto", "space=rnn_small", "trials=2"))
    words = ["--runs", str(tmp_path / "runs"), "--tatoeba", str(corpus), "--corpora", "tatoeba_1000"]
    words += ["--recipes", "tune", f"cache_dir={tmp_path}/cache", *FEW]
    assert main(words) == 0
    first = capfd.readouterr()
    assert "trial-0001 of 2" in first.err
    (row,) = [line for line in first.out.splitlines() if line.startswith("| tatoeba_1000 | tune | ")]
    assert row.endswith(" |  |")
    assert len(list((tmp_path / "runs").glob("tatoeba_1000-tune*/studies/study/trial-*/model.safetensors"))) == 1
    assert main(words) == 0
    second = capfd.readouterr()
    assert "trial-" not in second.err
    assert row in second.out


@pytest.mark.slow
def test_words_that_nmt_refuses_get_a_row(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--runs", str(tmp_path / "runs"), "--tatoeba", str(corpus), "--corpora", "tatoeba_1000"]
    assert main([*words, "--recipes", "known", f"cache_dir={tmp_path}/cache", "tokenizer.vocab_size=262"]) == 2
    assert "| tatoeba_1000 | known | refused |" in capfd.readouterr().out


def test_minutes_before_an_interruption_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = tmp_path / "run", 0

    def stopped(command: list[str], **settings: object) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            run.mkdir()
            (run / "manifest.json").write_text("{}")
            raise KeyboardInterrupt
        assert command[-1] == f"resume={run}"
        return 0

    monkeypatch.setattr("bench.recipes.ended", stopped)
    seconds = iter((0.0, 60.0, 100.0, 190.0))
    monkeypatch.setattr("bench.recipes.time.monotonic", lambda: next(seconds))
    with pytest.raises(KeyboardInterrupt):
        train(run, ["data=text"])
    assert json.loads((run / MINUTES_FILE).read_text()) == {"minutes": 1.0, "finished": False}
    assert train(run, ["data=text"])
    assert json.loads((run / MINUTES_FILE).read_text()) == {"minutes": 2.5, "finished": True}


def test_runs_of_other_folders_are_refused(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.recipes.trained", lambda *_: None)
    words = ["--runs", str(tmp_path / "runs"), "--corpora", "tatoeba_1000", "--recipes", "auto"]
    assert main([*words, "--tatoeba", str(corpus)]) == 2  # everything was refused
    other = tmp_path / "other"
    shutil.copytree(corpus, other)
    with pytest.raises(ConfigError, match=f"has trainings of --tatoeba {corpus}, not {other}; name another folder"):
        main([*words, "--tatoeba", str(other)])


def test_the_picture_has_a_line_for_each_corpus_over_the_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("bench.recipes.save_figure", lambda figure, path: drawn.append(figure))
    draw({"one": [(5.0, 20.0), (30.0, 30.5)], "two": [(5.0, 10.0)]}, Path("budgets.svg"))
    (axes,) = drawn[0].axes
    assert [line.get_label() for line in axes.get_lines()] == ["one", "two"]
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[5, 30], [5]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "30"]


def test_a_budget_is_compared_with_the_time_that_it_took() -> None:
    assert of_budget("budget=1m30s", 1.2) == "0.80"
    assert of_budget("auto", 1.2) == ""


def test_sides_and_splits_are_those_of_the_corpus(tmp_path: Path) -> None:
    words = data_words(CORPORA["multi30k_de_en"], tmp_path, tmp_path / "cut")
    assert f"data.train.src={tmp_path / 'train.de'}" in words
    assert f"data.dev.tgt={tmp_path / 'val.en'}" in words
    assert f"data.test.tgt={tmp_path / 'test_2016_flickr.en'}" in words
    assert "data.src_lang=de" in words
    assert not (tmp_path / "cut").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--corpora", "tatoeba"], "--corpora tatoeba is not one of"),
        (["--corpora", "tatoeba_en_zh"], "--corpora tatoeba_en_zh needs --tatoeba-zh FOLDER"),
        (["--recipes", "best"], "--recipes best is not one of auto, former defaults, known, tune, budget=TIME"),
        (["--multi30k", "nowhere"], "nowhere/train.en is missing"),
        (["--figure", "x.png"], "--figure draws BLEU over budgets; name some: --recipes budget=5m,budget=30m"),
        (
            ["--recipes", "budget=5m", "--figure", "x.bmp"],
            "--figure x.bmp cannot be written; name a folder that exists",
        ),
    ],
)
def test_mistakes_are_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--runs", "runs", *words])
    assert message in capsys.readouterr().err
