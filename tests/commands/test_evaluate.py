"""`nmt evaluate` as it is typed: sacreBLEU's figures, files for programs, and one clear line for every mistake."""

import gzip
import json
import os
import random
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from helpers.small_runs import CHINESE, GERMAN, make_run, sentences

from nmt.cli.exit_codes import BROKEN_PIPE
from nmt.cli.main import main
from nmt.data.paths import read_lines
from nmt.scoring.aer import alignment_scores, read_gold
from nmt.translation.translator import Translator

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]
WORDS = [word for word in GERMAN if word.isalnum()]
SPLITS = {
    name: {"src": f"{name}.src", "tgt": f"{name}.tgt", "files": None, "weights": None}
    for name in ("train", "dev", "test")
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three splits of 30 sentences and their references."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, name in enumerate(SPLITS):
        sources = [f"{number} {text}" for number, text in enumerate(sentences(30, seed, WORDS))]
        (folder / f"{name}.src").write_text("".join(f"{line}\n" for line in sources))
        (folder / f"{name}.tgt").write_text("".join(f"{' '.join(reversed(line.split()))}\n" for line in sources))
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
    assert main(["evaluate", *FAST, "cache_dir=cache", "output=out", *words]) == 0
    result = json.loads(Path("out/scores.json").read_text())
    return {score["name"]: score["score"] for score in result["scores"]}


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a mistake gets."""
    assert main(["evaluate", "cache_dir=cache", *FAST, *words]) == 2
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "tokenizer"), [("data.tgt_lang=de", "13a"), ("data.tgt_lang=zh", "zh"), ("data.tokenized=true", "none")]
)
def test_the_figures_are_sacrebleus_own(tmp_path: Path, word: str, tokenizer: str) -> None:
    run = make_run(tmp_path / "silent", data={"src_lang": None, "tgt_lang": None})
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
        f"model={run}", "src=a", "ref=[b,c]", word, "search=beam",
        "search.max_length_a=4", "search.max_length_b=1", "intervals=false",
    )  # fmt: skip
    assert ours["BLEU"] > 5
    command = [sys.executable, "-m", "sacrebleu", "out/reference.txt", "out/reference.2.txt", "-i",
               "out/hypotheses.txt", "-m", "bleu", "chrf", "ter", "--tokenize", tokenizer, "-w", "6", "-f", "json",
               *(["--ter-normalized", "--ter-asian-support"] if tokenizer == "zh" else [])]  # fmt: skip
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    signed = {s["name"]: s["signature"] for s in json.loads(Path("out/scores.json").read_text())["scores"]}
    assert {score["name"]: score["score"] for score in theirs} == pytest.approx(ours, abs=1e-5)
    for score in theirs:
        assert score["signature"] == signed[score["name"]]


def test_the_models_own_split(run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split in ("test", "dev"):
        assert main(["evaluate", f"model={run}", *FAST, "cache_dir=cache", f"split={split}"]) == 0
        folder = run / "evaluations" / split
        out, err = capsys.readouterr()
        assert out.startswith(f"{split}: 30 sentences, ")
        assert "BLEU" in out
        assert "source length" in out
        assert err == f"fp32, 1 worker, beam 1\n\nhypotheses, references and scores.json are in {folder}\n"
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
        assert f"file {corpus}/test.src does not exist" in error
        assert "data.root" in error
        assert scored(f"model={run}", "data.root=moved", "intervals=false") == there
    finally:
        here.absolute().rename(corpus)


def test_a_second_model_is_compared(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = make_run(tmp_path / "other", seed=1)
    Path("a").write_text("".join(f"{line}\n" for line in sentences(12, 1, WORDS)))
    Path("b").write_text("".join(f"{line}\n" for line in sentences(12, 2, WORDS)))
    assert scored(f"model={run}", "src=a", "ref=b", f"compare_with={other}", "intervals=false")
    out, err = capsys.readouterr()
    assert "paired bootstrap" in out
    assert "difference" in out
    assert err.count("\n") == 3  # what is used, where the files are, and nothing of sacreBLEU's own chatter
    comparison = json.loads(Path("out/scores.json").read_text())["comparison"]
    assert comparison["with"] == str(other)
    assert {score["name"] for score in comparison["scores"]} == {"BLEU", "chrF2", "TER"}
    assert Path("out/hypotheses.second.txt").read_text() != Path("out/hypotheses.txt").read_text()
    scored(f"model={run}", "src=a", "ref=[a,a]", "intervals=false")
    assert Path("out/reference.2.txt").exists()
    scored(f"model={run}", "src=a", "ref=a", "intervals=false")  # nothing of the earlier ones is left
    names = {"hypotheses.txt", "reference.txt", "scores.json", "sources.txt"}
    assert {path.name for path in Path("out").iterdir()} == names


def test_files_of_the_user_in_the_output_folder_stay(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("out")
    folder.mkdir()
    mine = {f"reference.{name}.txt": f"{name}\n" for name in ("a", "notes", "2b")}
    for name, text in mine.items():
        (folder / name).write_text(text)
    Path("a").write_text("der Hund\n")
    scored(f"model={run}", "src=a", "ref=[out/reference.a.txt,a]", "intervals=false")
    assert {name: (folder / name).read_text() for name in mine} == mine
    capsys.readouterr()
    for words in (["src=out/sources.txt", "ref=a"], ["src=a", "ref=[a,out/../out/reference.2.txt]"]):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        error = fails(capsys, f"model={run}", "output=out", *words)
        assert "would be replaced, output=out; choose another output=" in error
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def aligned(*words: str) -> dict[str, Any]:
    """What an evaluation writes about alignments."""
    scored("intervals=false", *words)
    found: dict[str, Any] = json.loads(Path("out/scores.json").read_text())["alignment"]
    return found


@pytest.mark.slow
def test_gold_alignments_are_scored_beside_the_diagonal(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, references = ["der Hund, ein Haus", "", "heute"], ["ein Hund.", "spät", "heute 12"]
    for name, lines in {"a": sources, "b": references, "gold": ["0-0 1p1 3-1", "", "0p1"], "turned": [
        "0-0 1p1 1-3", "", "1p0"], "tokens": ["0-0 2p2 4-1", "", "0p1"]}.items():  # fmt: skip
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    files = [f"model={run}", "src=a", "ref=b"]
    found = aligned(*files, "gold=gold")
    out, _ = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["alignments", "model", "diagonal"]
    translator = Translator.load(run, precision="fp32", device="cpu")
    links = [frozenset(pair.alignment) for pair in translator.force(sources, references)]
    gold = read_gold(Path("gold"), reverse=False)
    assert (found["gold"], found["units"]) == ("gold", "words")
    assert found["scores"]["model"] == pytest.approx(asdict(alignment_scores(links, gold)))
    baseline = [frozenset({(1, 0), (3, 1)}), frozenset(), frozenset({(0, 0), (0, 1)})]
    assert found["scores"]["diagonal"] == pytest.approx(asdict(alignment_scores(baseline, gold)))
    assert aligned(*files, "gold=turned", "gold_reverse=true")["scores"] == found["scores"]
    by_token = aligned(*files, "gold=tokens", "gold_units=tokens")
    assert by_token["units"] == "tokens"
    capsys.readouterr()
    blind = make_run(tmp_path / "blind", "none")
    both = aligned(f"model={blind}", *files[1:], "gold=gold", f"compare_with={run}")["scores"]
    assert both == {"first": None, "second": found["scores"]["model"], "diagonal": found["scores"]["diagonal"]}
    assert "—" in capsys.readouterr().out.splitlines()[-3]
    scored(*files, "intervals=false")
    assert "alignment" not in json.loads(Path("out/scores.json").read_text())


@pytest.mark.slow
def test_the_corpus_brings_its_own_gold(run: Path, corpus: Path, tmp_path: Path) -> None:
    (corpus / "test.align").write_text("0-0\n" * 30)
    own = make_run(tmp_path / "own", data=SPLITS | {"root": str(corpus), "gold": "test.align", "gold_units": "tokens"})
    found = aligned(f"model={own}")
    assert (found["gold"], found["units"]) == (str(corpus / "test.align"), "tokens")
    assert aligned(f"model={own}", f"gold={corpus / 'test.align'}") == found
    other = ["split=dev"], [f"src={corpus / 'test.src'}", f"ref={corpus / 'test.tgt'}"]
    for words in other:
        scored(f"model={own}", *words, "intervals=false")
        assert "alignment" not in json.loads(Path("out/scores.json").read_text())
    assert aligned(f"model={own}", *other[1], f"gold={corpus / 'test.align'}")["units"] == "words"
    (corpus / "test.align").unlink()


@pytest.mark.slow
def test_mistakes_get_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("three").write_text("a\nb\nc\n")
    Path("two").write_text("a\nb\n")
    Path("empty").write_text("")
    Path("bad").write_bytes(b"a\nb\n\xff\n")
    Path("gold").write_text("0-0\n0?0\n")
    files = ("src=three", "ref=three")
    for words, message in {
        ("src=nope", "ref=two"): "no file nope, src=nope; check the path",
        ("src=two", "ref=[two,nope]"): "no file nope, ref=nope",
        ("src=two", "ref=tw*"): "no file tw*, ref=tw*; patterns are not expanded here; name the files",
        ("src=three", "ref=two"): "three has 3 lines, two has 2; line N",
        ("src=three", "ref=[three,two]"): "three has 3 lines, two has 2",
        ("src=three", "ref=bad"): "bad, line 3: byte 0xff is not valid UTF-8",
        ("src=three",): "ref is not given",
        ("ref=three",): "src is not given",
        ("src=three", "ref=[]"): "ref is an empty list",
        ("src=empty", "ref=empty"): "empty is empty, src=empty",
        (*files, "test_set=wmt14"): "src and test_set are both given",
        (*files, "split=dev"): f"{files[0]} and split=dev are both given; leave one of them out",
        ("test_set=wmt14", "split=test"): "test_set=wmt14 and split=test are both given; leave one of them out",
        ("test_set=wmt41",): "unknown test set 'wmt41', test_set=wmt41; did you mean",
        ("split=tset",): "split='tset' is not possible; did you mean 'test'?",
        ("data.root=nowhere",): "file nowhere/test.src does not exist",
        (
            *files,
            "output=two/out",
        ): "cannot write two/out (Not a directory); check that place, or choose another output",
        (*files, "compare_with=nope"): "nope is not a folder",
        (*files, "gold=nope"): "no file nope, gold alignments; check the path",
        (*files, "gold=gold"): "'0?0' is not a link, gold, line 2; write i-j",
        (*files, "gold=three"): "'a' is not a link, three, line 1",
        (*files, "gold=empty"): "empty has 0 lines of gold alignments for 3 sentence pairs",
        ("src=three", "ref=[three,three]", "gold=gold"): "and there are 2 references, gold=gold; give one ref",
        (*files, "gold_units=tokens"): "gold_units describes a file with gold alignments; name it, gold=FILE, or leave",
        (*files, "gold_reverse=true"): "gold_reverse describes a file with gold alignments",
        (*files, "gold_units=token"): "gold_units='token' is not possible; did you mean 'tokens'?",
        (*files, "workers=-1"): "workers is -1; it must be at least 1 and at most 10,000, or null",
        ("modle=x",): "unknown key 'modle'; did you mean 'model'?",
    }.items():
        assert message in fails(capsys, f"model={run}", *words), words
    assert not Path("nope").exists()
    silent = make_run(tmp_path / "silent", data={"src_lang": None, "tgt_lang": None})
    assert "data.src_lang=en data.tgt_lang=de" in fails(capsys, f"model={silent}", "test_set=wmt14")


def sgml(kind: str, lines: list[str], sysid: str = "") -> str:
    """A set of one document, its segments numbered from 1."""
    segments = "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(lines, 1) if line)
    return f'<{kind}><doc docid="d" sysid="{sysid}">\n{segments}</doc></{kind}>\n'


def test_test_sets_in_sgml_are_read_as_their_text_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, first, second = (sentences(12, seed, WORDS) for seed in (5, 6, 7))
    for name, lines in (("s", sources), ("a", first), ("b", second)):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    expected = scored(f"model={run}", "src=s", "ref=[a,b]", "intervals=false")
    Path("s.sgm").write_text(sgml("srcset", [*sources, "alone"]))
    Path("a.sgm.gz").write_bytes(gzip.compress(sgml("refset", first, "A").encode()))
    Path("b.sgm").write_text(sgml("refset", second, "B"))
    capsys.readouterr()
    assert scored(f"model={run}", "src=s.sgm", "ref=[a.sgm.gz,b.sgm]", "intervals=false") == expected
    assert "s.sgm: 13 segments, 12 pairs; left out: 1 without reference\n" in capsys.readouterr().err
    Path("ab.sgm").write_text(sgml("refset", first, "A") + sgml("refset", second, "B"))
    assert scored(f"model={run}", "src=s.sgm", "ref=ab.sgm", "intervals=false") == expected
    assert [*read_lines(Path("out/sources.txt"))] == sources
    assert [*read_lines(Path("out/reference.2.txt"))] == second


@pytest.mark.slow
def test_strings_and_subtitles_are_evaluated_by_key_and_by_time(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, first = (sentences(12, seed, WORDS) for seed in (5, 6))
    for name, lines in (("s", sources), ("a", first)):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
        Path(f"{name}.json").write_text(json.dumps({f"key{n}": line for n, line in enumerate(lines)} | {name: "alone"}))
        cues = (f"{n}\n00:{n:02}:01,000 --> 00:{n:02}:02,500\n{line}.\n\n" for n, line in enumerate(lines))
        Path(f"{name}.srt").write_text("".join(cues))
    expected = scored(f"model={run}", "src=s", "ref=a", "intervals=false")
    assert scored(f"model={run}", "src=s.json", "ref=a.json", "intervals=false") == expected
    said = "s.json and a.json: 14 strings, 12 pairs; left out: 1 without German, 1 without English\n"
    assert said in capsys.readouterr().err
    scored(f"model={run}", "src=s.srt", "ref=a.srt", "intervals=false")
    assert [*read_lines(Path("out/reference.txt"))] == [f"{line}." for line in first]
    capsys.readouterr()
    assert "pairs two; give one ref" in fails(capsys, f"model={run}", "src=s.srt", "ref=[a.srt,a.srt]")
    assert "a has no cue of subtitles" in fails(capsys, f"model={run}", "src=s.srt", "ref=a")


@pytest.mark.slow
def test_a_file_with_both_languages_needs_no_ref(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, first, second = (sentences(12, seed, WORDS) for seed in (5, 6, 7))
    for name, lines in (("s", sources), ("a", first), ("b", second)):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    pairs = "".join(f"{src}\t{ref}\n" for src, ref in zip(sources, first, strict=True))
    Path("both.tsv.gz").write_bytes(gzip.compress(pairs.encode()))
    expected = scored(f"model={run}", "src=s", "ref=a", "intervals=false")
    assert scored(f"model={run}", "src=both.tsv.gz", "intervals=false") == expected
    tables = ("data=tsv", "data.test.files=both.tsv.gz", "data.tgt_lang=de", "data.src_lang=en")
    assert scored(f"model={run}", *tables, "intervals=false") == expected  # no training split is asked for
    for files in (["data.test.files=both.tsv.gz"], ["data.test.src=s", "data.test.tgt=a"]):  # data=auto, untyped
        assert scored(f"model={run}", *files, "intervals=false") == expected
    assert main(["evaluate", *FAST, f"model={run}", "data.test.files=both.tsv.gz", "intervals=false"]) == 0
    assert (run / "evaluations" / "both.tsv.gz" / "scores.json").exists()  # the run's own test split keeps its scores
    terms = "".join(
        f"<conceptEntry><langSec xml:lang='en'><termSec><term>{src}</term></termSec></langSec><langSec xml:lang='de'>"
        f"<termSec><term>{ref}</term></termSec></langSec></conceptEntry>"
        for src, ref in zip(sources, first, strict=True)
    )
    Path("terms.tbx").write_text(f"<tbx><text><body>{terms}</body></text></tbx>")
    assert scored(f"model={run}", "data.test.files=terms.tbx", "intervals=false") == expected  # the run's languages
    rows = (f"{src},,{ref}\nbanned|{src},rejected,{ref}" for src, ref in zip(sources, first, strict=True))
    Path("terms.csv").write_text("\n".join(["en,status,de", *rows]))
    languages = ("data=glossary", "data.src_lang=en", "data.tgt_lang=de")
    for file in ("src=terms.csv", "data.test.files=terms.csv"):
        assert scored(f"model={run}", *languages, file, "intervals=false") == expected
    texts = "".join(
        f"<{tag}>" + "".join(f"<seg id='{n}'>{line}</seg>" for n, line in enumerate(lines)) + f"</{tag.split()[0]}>"
        for tag, lines in (
            ("src lang='en'", sources),
            ("ref lang='de' translator='A'", first),
            ("ref lang='de' translator='B'", second),
        )
    )
    Path("x.xml").write_text(f"<dataset><doc id='d'>{texts}</doc><doc><src><seg id='1'>x</seg></src></doc></dataset>")
    expected = scored(f"model={run}", "src=s", "ref=[a,b]", "intervals=false")
    capsys.readouterr()
    assert scored(f"model={run}", "src=x.xml", "intervals=false") == expected
    assert "x.xml: 13 segments, 12 pairs; left out: 1 without reference\n" in capsys.readouterr().err
    for words, message in {
        ("src=x.xml", "ref=a"): "x.xml is WMT XML; read it with data=wmt_xml, or nmt evaluate src=FILE without ref",
        ("src=s", "ref=x.xml"): "x.xml is WMT XML; read it with",
        ("src=s",): "ref is not given, and src=s holds no references",
        ("data=tsv",): "data.test is not given, split=test; set data.test.files, or .src and .tgt, or another split=",
        ("data.dev.files=x.xml",): "data.test is not given, split=test; set data.test.files",
        ("data.root=.", "data.test.files=nothing"): "file nothing does not exist, data.test.files",
        ("src=s", "ref=a", "data.test.files=x.xml"): "src=s and data.test.files are both given; leave one of them out",
    }.items():
        assert message in fails(capsys, f"model={run}", *words), words


def test_without_a_language_the_script_of_the_references_decides(tmp_path: Path) -> None:
    silent = make_run(tmp_path / "silent", data={"src_lang": None, "tgt_lang": None})
    Path("three").write_text("a b c\nb c\nc a\n")
    Path("zh").write_text("我们，今天\n去学校。\n他\n")
    Path("th").write_text("ฉันรักคุณ\nมาก\nไป\n")
    for reference, tokenizer in (("zh", "zh"), ("th", "char"), ("three", "13a")):
        assert scored(f"model={silent}", "src=three", f"ref={reference}", "intervals=false")
        signatures = [score["signature"] for score in json.loads(Path("out/scores.json").read_text())["scores"]]
        assert f"tok:{tokenizer}|" in signatures[0]


@pytest.mark.slow
def test_a_test_set_that_cannot_be_fetched(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("offline")

    monkeypatch.setattr("nmt.scoring.test_sets._files", refuse)
    error = fails(capsys, f"model={run}", "test_set=wmt14", "data.tgt_lang=de")
    assert "test set 'wmt14' cannot be fetched (offline)" in error
    assert "put it in place as" in error
    monkeypatch.setattr(
        "nmt.scoring.benchmark.named_test_set", lambda name, src, tgt: ([f"{name} {src}", "b c"], [[tgt, "b c"]])
    )
    scored(f"model={run}", "test_set=wmt14", "intervals=false")
    assert Path("out/sources.txt").read_text() == "wmt14 en\nb c\n"


def test_a_split_without_pairs_is_said(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none = {"test": {"src": None, "tgt": None, "files": None, "weights": None}, "test_size": 0, "root": str(corpus)}
    own = make_run(tmp_path / "own", data=SPLITS | none)
    message = "error: the corpus has no pairs in its test split, split=test; give src=FILE ref=FILE\n"
    assert fails(capsys, f"model={own}") == message


@pytest.mark.slow
def test_a_line_without_text_is_no_reference(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {
        "src": ["der Hund", "das Haus", "ein Mann", "heute"],
        "one": ["a dog", "", "one man", " "],
        "two": ["the dog", "a house", "", ""],
        "gold": ["0-0", "", "1-1", ""],
    }
    for name, lines in texts.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    assert scored(f"model={run}", "src=src", "ref=[one,two]", f"compare_with={run}")
    result = json.loads(Path("out/scores.json").read_text())
    assert result["sentences"] == sum(bucket["sentences"] for bucket in result["bleu_by_source_length"]) == 3
    assert [line for line in result["cautions"] if "lines" in line and "reference" in line] == [
        "left out, because they have no reference: 1 of 4 lines, the first is line 4",
        "reference 1 is empty in 1 of 4 lines, the first is line 2: the other references count there",
        "reference 2 is empty in 1 of 4 lines, the first is line 3: the other references count there",
    ]
    assert "nrefs:var" in result["scores"][0]["signature"]
    assert Path("out/sources.txt").read_text().splitlines() == texts["src"][:3]
    assert Path("out/reference.2.txt").read_text().splitlines() == texts["two"][:3]
    assert scored(f"model={run}", "src=src", "ref=one", "gold=gold")  # whose rows of gold alignments go as well
    alone = json.loads(Path("out/scores.json").read_text())
    assert alone["sentences"] == 2
    assert "left out, because they have no reference: 2 of 4 lines, the first is line 2" in alone["cautions"]
    capsys.readouterr()
    Path("none").write_text("\n \n\n\n")
    none = "error: the reference of src has no text in any of 4 lines; give its translations\n"
    assert fails(capsys, f"model={run}", "src=src", "ref=none") == none
    assert "reference 2 of src has no text in any" in fails(capsys, f"model={run}", "src=src", "ref=[one,none]")


def test_a_reference_that_is_not_there_changes_no_score(run: Path) -> None:
    lines = sentences(20, 1, WORDS)
    rng = random.Random(3)
    kept = [rng.random() < 0.7 for _ in lines]
    first, second = nearly(run, lines, 1), nearly(run, lines, 2)
    for name, texts in {
        "src": lines, "first": first, "some": [text * there for text, there in zip(second, kept, strict=True)],
        "all": [b if there else a for a, b, there in zip(first, second, kept, strict=True)],
    }.items():  # fmt: skip
        Path(name).write_text("".join(f"{line}\n" for line in texts))
    words = f"model={run}", "src=src", "intervals=false"
    assert scored(*words, "ref=[first,some]") == scored(*words, "ref=[first,all]")


@pytest.mark.slow
def test_files_whose_names_are_not_utf8(run: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    Path(odd).write_text("der Hund\nein Haus\n")
    words = ["evaluate", f"model={run}", *FAST, f"src={odd}", f"ref={odd}", f"output=out{odd}"]
    done = subprocess.run([sys.executable, "-m", "nmt.cli.main", *words], capture_output=True)
    assert done.returncode == 0
    assert done.stdout.startswith(b"caf\xe9: 2 sentences")
    assert json.loads(Path(f"out{odd}/scores.json").read_text())["test_set"] == odd


@pytest.mark.slow
def test_who_closes_standard_output_loses_no_file(run: Path) -> None:
    Path("a").write_text("der Hund\nein Haus\n")
    words = ["evaluate", f"model={run}", *FAST, "src=a", "ref=a", "output=out", f"compare_with={run}"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        done = subprocess.run([sys.executable, "-m", "nmt.cli.main", *words], stdout=closed, stderr=subprocess.PIPE)
    assert done.returncode == BROKEN_PIPE
    assert b"Traceback" not in done.stderr
    assert len(json.loads(Path("out/scores.json").read_text())["scores"]) == 3
    assert Path("out/hypotheses.txt").read_text().count("\n") == 2
