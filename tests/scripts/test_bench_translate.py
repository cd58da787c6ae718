"""The translation benchmark on a tiny random model, and what it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.small_runs import make_run, sentences

from bench.translate import main

ROOT = Path(__file__).parents[2]


def bench(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "scripts/bench", "translate", *words], capture_output=True, text=True, cwd=ROOT
    )


@pytest.mark.slow
def test_two_configurations_are_measured_in_turn(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", max_length_a=3.0, max_length_b=0.0)
    for side, seed in (("en", 1), ("de", 2)):
        (tmp_path / f"test_2016_flickr.{side}").write_text("\n".join(sentences(6, seed)) + "\n", "utf-8")
    fixed = ["--model", str(run), "--multi30k", str(tmp_path), "--beam", "2", "--rounds", "2", "--no-starts"]
    done = bench(*fixed, "--ab", "search.batch_sentences=1", "precision=fp32")
    assert done.returncode == 0, done.stderr
    _, _, first, second, ratio = done.stdout.splitlines()
    assert first.startswith("beam 2, a")
    assert second.startswith("beam 2, b")
    quality = [line.split()[6:8] for line in (first, second)]  # length and BLEU
    assert quality[0] == quality[1]
    assert "tok:13a" in first
    assert "times as fast" in ratio


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ab", "", "--ab-code", "nowhere"], "--ab-code nowhere is not a checkout of nmt"),
        (["--ab-code", str(ROOT)], '--ab-code needs --ab; add --ab ""'),
        (["--sentences", "1"], "--sentences 1: none has 13 words, which one is translated alone; give more"),
    ],
)
def test_what_would_be_measured_wrongly_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_2016_flickr.en").write_text("a b c\n" + "a " * 12 + "b\n")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(SystemExit) as stopped:
        main(["--model", str(tmp_path), "--multi30k", str(tmp_path), *words])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("missing", "shown"), [("corpus", "test_2016_flickr.en"), ("model", "is not a run")])
def test_wrong_folders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str, shown: str
) -> None:
    if missing == "model":
        (tmp_path / "test_2016_flickr.en").write_text("a\n")
    with pytest.raises(SystemExit) as stopped:
        main(["--model", str(tmp_path), "--multi30k", str(tmp_path)])
    assert stopped.value.code == 2
    assert shown in capsys.readouterr().err.splitlines()[-1]
