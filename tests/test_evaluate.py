"""`nmt evaluate` as it is typed: sacreBLEU's figures, files for programs, and one clear line for every mistake."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import CHINESE, make_run, sentences

from nmt import cli, evaluate
from nmt.files import read_lines
from nmt.translator import Translator

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]
SPLITS = {name: {"src": f"{name}.src", "tgt": f"{name}.tgt", "files": None} for name in ("train", "dev", "test")}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three splits of 30 sentences and their references."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, name in enumerate(SPLITS):
        sources = [f"{number} {text}" for number, text in enumerate(sentences(30, seed))]
        (folder / f"{name}.src").write_text("".join(f"{line}\n" for line in sources))
        (folder / f"{name}.tgt").write_text("".join(f"{line} .\n" for line in sources))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "small"
    return make_run(folder, data=SPLITS | {"root": str(corpus)})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SACREBLEU", str(tmp_path / "sacrebleu"))


def scored(*words: str) -> dict[str, float]:
    """BLEU, chrF2 and TER of an evaluation."""
    assert cli.main(["evaluate", *FAST, "cache_dir=cache", "output=out", *words]) == 0
    result = json.loads(Path("out/scores.json").read_text())
    return {score["name"]: score["score"] for score in result["scores"]}


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a mistake gets."""
    assert cli.main(["evaluate", "cache_dir=cache", *FAST, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def nearly(run: Path, lines: list[str], seed: int) -> list[str]:
    """References that share most characters with the model's translations."""
    rng = random.Random(seed)
    translator = Translator.load(run, precision="fp32", device="cpu")
    texts = [translation.text for translation in translator.translate(lines)]
    return ["".join(c for c in text if rng.random() > 0.05) or "x" for text in texts]


@pytest.mark.parametrize(("tgt_lang", "tokenizer"), [("de", "13a"), ("zh", "zh")])
def test_the_figures_are_sacrebleus_own(run: Path, tgt_lang: str, tokenizer: str) -> None:
    lines = ["", *sentences(30, 3), *sentences(10, 4, CHINESE, "")]
    Path("a").write_text("".join(f"{line}\n" for line in lines))
    for seed, name in enumerate("bc"):
        Path(name).write_text("".join(f"{line}\n" for line in nearly(run, lines, seed)), newline="\n")
    with Path("b").open("a", newline="\n") as file:  # what Python and others take for line breaks
        file.write("ein\rHund\x0b\x1cund\u2028noch\x85einer\n")
    for name in "ac":
        with Path(name).open("a") as file:
            file.write("ein Hund\n")
    ours = scored(
        f"model={run}", "src=a", "ref=[b,c]", f"data.tgt_lang={tgt_lang}", "search=beam",
        "search.max_length_a=4", "search.max_length_b=1", "intervals=false",
    )  # fmt: skip
    assert ours["BLEU"] > 5
    command = [sys.executable, "-m", "sacrebleu", "out/reference.txt", "out/reference.2.txt", "-i",
               "out/hypotheses.txt", "-m", "bleu", "chrf", "ter", "--tokenize", tokenizer, "-w", "6", "-f", "json",
               *(["--ter-normalized", "--ter-asian-support"] if tgt_lang == "zh" else [])]  # fmt: skip
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    signed = {s["name"]: s["signature"] for s in json.loads(Path("out/scores.json").read_text())["scores"]}
    assert {score["name"]: score["score"] for score in theirs} == pytest.approx(ours, abs=1e-5)
    for score in theirs:
        assert score["signature"] == signed[score["name"]]


def test_the_models_own_split(run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split in ("test", "dev"):
        assert cli.main(["evaluate", f"model={run}", *FAST, "cache_dir=cache", f"split={split}"]) == 0
        folder = run / "evaluations" / split
        out, err = capsys.readouterr()
        assert out.startswith(f"{split}: 30 sentences")
        assert "BLEU" in out
        assert "source length" in out
        assert err == f"\nhypotheses, references and scores.json are in {folder}\n"
        assert (folder / "sources.txt").read_bytes() == (corpus / f"{split}.src").read_bytes()
        assert (folder / "reference.txt").read_bytes() == (corpus / f"{split}.tgt").read_bytes()
        result = json.loads((folder / "scores.json").read_text())
        assert result["sentences"] == sum(b["sentences"] for b in result["bleu_by_source_length"]) == 30
        assert result["search"]["beam"] == 1
        assert all(score["low"] <= score["high"] for score in result["scores"])
        lines = list(read_lines(folder / "sources.txt"))
        assert len(list(read_lines(folder / "hypotheses.txt"))) == len(lines)


def test_a_moved_corpus_is_named_by_its_root(run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = scored(f"model={run}", "intervals=false")
    here = Path("moved")
    corpus.rename(here.absolute())
    capsys.readouterr()
    try:
        error = fails(capsys, f"model={run}")
        assert f"file {corpus}/train.src does not exist" in error
        assert "data.root" in error
        assert scored(f"model={run}", "data.root=moved", "intervals=false") == there
    finally:
        here.absolute().rename(corpus)


def test_a_second_model_is_compared(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = make_run(tmp_path / "other", seed=1)
    Path("a").write_text("".join(f"{line}\n" for line in sentences(12)))
    assert scored(f"model={run}", "src=a", "ref=a", f"compare_with={other}", "intervals=false")
    out, err = capsys.readouterr()
    assert "paired bootstrap" in out
    assert "difference" in out
    assert err.count("\n") == 2  # where the files are, and nothing of sacreBLEU's own chatter
    comparison = json.loads(Path("out/scores.json").read_text())["comparison"]
    assert comparison["with"] == str(other)
    assert {score["name"] for score in comparison["scores"]} == {"BLEU", "chrF2", "TER"}
    assert Path("out/hypotheses.second.txt").read_text() != Path("out/hypotheses.txt").read_text()
    scored(f"model={run}", "src=a", "ref=[a,a]", "intervals=false")
    assert Path("out/reference.2.txt").exists()
    scored(f"model={run}", "src=a", "ref=a", "intervals=false")  # nothing of the earlier ones is left
    names = {"hypotheses.txt", "reference.txt", "scores.json", "sources.txt"}
    assert {path.name for path in Path("out").iterdir()} == names


def test_mistakes_get_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("three").write_text("a\nb\nc\n")
    Path("two").write_text("a\nb\n")
    Path("empty").write_text("")
    Path("bad").write_bytes(b"a\nb\n\xff\n")
    files = ("src=three", "ref=three")
    for words, message in {
        ("src=nope", "ref=two"): "no file nope, src=nope; check the path",
        ("src=two", "ref=[two,nope]"): "no file nope, ref=nope",
        ("src=three", "ref=two"): "three has 3 lines, two has 2; line N",
        ("src=three", "ref=[three,two]"): "three has 3 lines, two has 2",
        ("src=three", "ref=bad"): "bad, line 3: byte 0xff is not valid UTF-8",
        ("src=three",): "ref is not given",
        ("ref=three",): "src is not given",
        ("src=three", "ref=[]"): "ref is an empty list",
        ("src=empty", "ref=empty"): "empty is empty, src=empty",
        (*files, "test_set=wmt14"): "src and test_set are both given",
        ("test_set=wmt41",): "unknown test set 'wmt41', test_set=wmt41; did you mean",
        ("split=tset",): "split='tset' is not possible; did you mean 'test'?",
        ("data.root=nowhere",): "file nowhere/train.src does not exist",
        (*files, "output=two/out"): "cannot write two/out (Not a directory); choose another output=",
        (*files, "compare_with=nope"): "nope is not a folder",
        (*files, "threads=-1"): "threads=-1 is not possible",
        ("modle=x",): "unknown key 'modle'; did you mean 'model'?",
    }.items():
        assert message in fails(capsys, f"model={run}", *words), words
    assert not Path("nope").exists()
    silent = make_run(tmp_path / "silent", data={"src_lang": None, "tgt_lang": None})
    assert "data.src_lang=en data.tgt_lang=de" in fails(capsys, f"model={silent}", "test_set=wmt14")
    Path("zh").write_text("我们，今天\n去学校。\n他\n")
    assert "type data.tgt_lang=zh" in fails(capsys, f"model={silent}", "src=three", "ref=zh")
    assert scored(f"model={silent}", "src=three", "ref=zh", "data.tgt_lang=zh", "intervals=false")


def test_a_test_set_that_cannot_be_fetched(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("offline")

    monkeypatch.setattr("nmt.testsets._files", refuse)
    error = fails(capsys, f"model={run}", "test_set=wmt14", "data.tgt_lang=de")
    assert "test set 'wmt14' cannot be fetched (offline)" in error
    assert "put it in place as" in error
    monkeypatch.setattr(evaluate, "named_test_set", lambda name, src, tgt: ([f"{name} {src}", "b c"], [[tgt, "b c"]]))
    scored(f"model={run}", "test_set=wmt14", "intervals=false")
    assert Path("out/sources.txt").read_text() == "wmt14 en\nb c\n"
