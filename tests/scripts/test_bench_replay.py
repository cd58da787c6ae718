"""`bench replay`: three models, two test sets, two figures."""

import json
from pathlib import Path

import pytest
import torch
from helpers.small_corpora import write_splits

from bench import replay
from bench.kept import refuse_others
from bench.replay import Scores, judged, main, translated
from nmt.cli.main import main as nmt
from nmt.errors import ConfigError
from nmt.runs.tensors import read_tensors

FEW = ["train.bleu_sentences=5", "train.examples=0", "train.workers=1"]
FEW += ["encoder.d_hidden=16", "decoder.d_hidden=16"]


@pytest.mark.slow
@pytest.mark.usefixtures("nmt_in_process")
def test_models_are_trained_once_and_evaluated_on_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    general = write_splits(tmp_path / "general", {"train": 1200, "dev": 20, "test": 21})
    domain = write_splits(tmp_path / "domain", {"train": 600, "val": 22, "test_2016_flickr": 23})
    own = [f"cache_dir={tmp_path}/cache", *FEW]
    files = [f"data.train.src={general}/train.en", f"data.train.tgt={general}/train.de"]
    assert (
        nmt(
            [
                "train",
                "train.max_updates=3",
                "train.validate_every=3",
                *files,
                f"runs_dir={tmp_path}",
                "name=first",
                "data.src_lang=en",
                "data.tgt_lang=de",
                *own,
            ]
        )
        == 0
    )
    words = ["--general", f"{tmp_path}/first", "--tatoeba", f"{general}", "--multi30k", f"{domain}"]
    words += ["--runs", f"{tmp_path}/runs", "--updates", "2", *own, "search.max_length_a=1", "search.max_length_b=1"]
    # a model of three updates translates to nothing
    monkeypatch.setattr(replay, "translated", lambda *_: general / "train.de")
    capfd.readouterr()
    assert main(words) == 0
    first = capfd.readouterr()
    rows = [line for line in first.out.splitlines() if line.startswith("| ")][1:]
    assert [row.split("|")[1].strip() for row in rows] == ["general", "domain alone", "replay", "mean"]
    assert "general text loses" in first.out
    assert "tok:13a" in first.out
    assert main(words) == 0
    second = capfd.readouterr()
    assert second.out == first.out
    assert "update 2/2" not in second.err
    replayed, mean = (read_tensors(tmp_path / "runs" / name / "model.safetensors") for name in ("replay", "mean"))
    stored = json.loads((tmp_path / "runs" / "replay" / "config.json").read_text())
    assert stored["data"]["train"]["tgt"] == [f"{domain}/train.de", f"{general}/train.de"]
    assert (stored["data"]["train"]["weights"], stored["train"]["max_updates"]) == ([1, 3], 8)
    assert json.loads((tmp_path / "runs" / "domain_alone" / "config.json").read_text())["train"]["max_updates"] == 2
    with pytest.raises(ConfigError, match=r"has trainings of words .*; name another folder"):
        main([*words, "seed=2"])
    general_weights = read_tensors(tmp_path / "first" / "model.safetensors")
    for name, tensor in mean.items():
        assert torch.allclose(tensor, general_weights[name] / 5 + replayed[name] * 4 / 5, atol=1e-6)


def test_the_sources_are_translated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(replay, "run_nmt", asked.extend)
    output = tmp_path / "own" / "train.de"
    assert translated(tmp_path / "run", tmp_path / "train.en", output) == output
    assert asked == [
        "translate", f"model={tmp_path}/run", f"input={tmp_path}/train.en", f"output={output}", "search.beam=1",
    ]  # fmt: skip
    output.write_text("")
    translated(tmp_path / "run", tmp_path / "train.en", output)
    assert len(asked) == 5


def test_figures_are_shares_of_the_gain_and_points() -> None:
    found = judged(Scores(20.0, 40.0), Scores(30.0, 33.0), Scores(29.1, 39.8))
    assert found == "91% of the gain stays (bar 90%); general text loses 0.2 BLEU (bar 0.5), without replay 7.0"
    assert judged(Scores(20.0, 40.0), Scores(19.0, 33.0), Scores(29.1, 39.8)).startswith("no gain to keep")


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--general", f"{tmp_path}", "--tatoeba", ".", "--multi30k", ".", "--runs", f"{tmp_path}"]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert f"--general {tmp_path} is not a run; name a folder that nmt train has made" in capsys.readouterr().err


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "replay").mkdir()
    with pytest.raises(ConfigError, match="has other files; name another folder"):
        refuse_others(tmp_path, {})


def test_settings_are_kept_beside_those_of_earlier_calls(tmp_path: Path) -> None:
    refuse_others(tmp_path / "new", {"a": 1})
    refuse_others(tmp_path / "new", {"b": [2]})
    refuse_others(tmp_path / "new", {"a": 1, "b": [2]})
    with pytest.raises(ConfigError, match=r"has trainings of b \[2\], not \[3\]; name another folder"):
        refuse_others(tmp_path / "new", {"b": [3]})


def test_words_that_nmt_does_not_know_are_refused_before_anything_is_done(tmp_path: Path) -> None:
    folder = write_splits(tmp_path / "corpus", {"train": 3, "val": 2})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    words = ["--general", f"{tmp_path}/run", "--tatoeba", f"{folder}", "--multi30k", f"{folder}"]
    with pytest.raises(ConfigError, match="trian"):
        main([*words, "--runs", f"{tmp_path}/runs", "trian.x=1"])
    assert not (tmp_path / "runs").exists()
