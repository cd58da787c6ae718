"""`nmt translate` as it is typed: one line out for every line in, or one clear line of error."""

import io
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_runs import make_run, sentences

from nmt.cli.main import main
from nmt.translation.translator import Translator

ROOT = Path(__file__).parents[2]
USED = re.compile(r"(bf16|fp32), \d+ workers?, (beam \d+|\d+ samples?)\n")  # what translations are made with
FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without attention."""
    return make_run(tmp_path_factory.mktemp("runs") / "blind", "none")


class Terminal:
    """Feeds standard input and takes what a command prints."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str, stdin: bytes = b"", code: int = 0) -> tuple[list[str], str]:
        """Lines of standard output, and the text of standard error without the line that says what is used."""
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        assert main(words) == code
        out, err = self.capsys.readouterr()
        assert out == "" or out.endswith("\n")
        return out.split("\n")[:-1], USED.sub("", err, count=1)

    def fails(self, *words: str, stdin: bytes = b"") -> str:
        """The one line that a mistake gets."""
        out, err = self(*words, stdin=stdin, code=2)
        assert out == []
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Terminal:
    monkeypatch.chdir(tmp_path)
    return Terminal(monkeypatch, capsys)


LINES = [
    "der Hund", "", "ein Mann\r", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg", "nul\x00nul", "a\rb", "  ", "\u3000",
    "\ufeffder Hund", "▁ </s>", "狗" * 20, "der Hund " * 600, "tab\ttab", *sentences(20), "no end",
]  # fmt: skip


@pytest.mark.slow
def test_one_line_out_for_every_line_in(run: Path, terminal: Terminal) -> None:
    text = "\n".join(LINES)
    out, err = terminal("translate", f"model={run}", *FAST, stdin=b"\xef\xbb\xbf" + text.encode())
    assert err == "caution: line 12 has 1,200 pieces; translated in 2 parts (long_lines=split)\n"
    assert len(out) == len(LINES)
    assert all(len(line.splitlines()) <= 1 for line in out)
    for line, translation in zip(LINES, out, strict=True):
        assert line.strip() or translation == ""
    assert out[0] == terminal("translate", f"model={run}", *FAST, stdin=b"der Hund")[0][0]
    short = [line for line in LINES if len(line) < 1000]
    again, _ = terminal("translate", f"model={run}", *FAST, "buffer=3", stdin="\n".join(short).encode())
    assert again == [t for line, t in zip(LINES, out, strict=True) if line in short]
    assert terminal("translate", f"model={run}", *FAST) == ([], "")


def test_files_go_in_and_out(run: Path, terminal: Terminal) -> None:
    Path("a, b.txt").write_text("der Hund\nein Haus\n")
    Path("c").write_bytes(b"heute")
    words = ["translate", f"model={run}", *FAST, "input=['a, b.txt',c]"]
    out, _ = terminal(*words)
    assert len(out) == 3
    os.chmod("c", 0o644)
    assert terminal(*words, "output=c") == ([], "")  # one of its own inputs
    assert Path("c").read_text() == "".join(f"{line}\n" for line in out)
    assert {path.name for path in Path().iterdir()} == {"a, b.txt", "c"}
    assert terminal(*words[:-1], "input=c", "output=/dev/null") == ([], "")
    assert Path("/dev/null").is_char_device()


def test_jsonl_holds_scores_candidates_and_alignments(run: Path, terminal: Terminal) -> None:
    words = ["translate", f"model={run}", "format=jsonl", "n_best=3", "search.beam=2", "alignments=true"]
    lines = [line for line in LINES if len(line) < 1000]
    out, _ = terminal(*words, *FAST[2:], stdin="\n".join(lines).encode())
    assert all(len(line.splitlines()) == 1 for line in out)
    records = [json.loads(line) for line in out]
    assert [r["source"] for r in records] == [line.removesuffix("\r") for line in lines]
    for record in records:
        assert list(record["n_best"][0]) == ["text", "score", "log_prob"]
        assert record["translation"] == record["n_best"][0]["text"]
        assert record["score"] == record["n_best"][0]["score"]
        assert len(record["n_best"]) == len({each["text"] for each in record["n_best"]})
        assert 1 <= len(record["n_best"]) <= (3 if record["source"].strip() else 1)
        for link in record["alignment"].split():
            i, j = map(int, link.split("-"))
            assert i in range(len(record["src_words"]))
            assert j in range(len(record["tgt_words"]))
    assert records[0]["src_words"] == ["der", "Hund"]
    assert records[lines.index("▁ </s>")]["src_words"] == ["▁", "</s>"]
    plain, _ = terminal("translate", f"model={run}", "format=jsonl", *FAST, stdin=b"der Hund\n")
    assert list(json.loads(plain[0])) == ["source", "translation", "score", "log_prob"]


@pytest.mark.slow
def test_what_is_typed_of_the_search_is_used(run: Path, terminal: Terminal) -> None:
    def translated(*words: str) -> list[str]:
        return terminal("translate", f"model={run}", "precision=fp32", *words, stdin=text.encode())[0]

    text = "\n".join(sentences(15))
    translator = Translator.load(run, precision="fp32")
    assert translated() == [t.text for t in translator.translate(text.split("\n"))]
    assert translated("search.beam=8") != translated()
    assert translated("search=greedy") == translated("search=beam", "search.beam=1")
    assert translated("search=sample") != translated()
    seven = translated("search=sample", "seed=7")
    assert seven == translated("search=sample", "seed=7")
    assert seven != translated("search=sample", "seed=8")
    assert translated("search=sample") != translated("search=sample")


def test_the_seed_that_is_said_draws_the_same_again(run: Path, terminal: Terminal) -> None:
    text = "\n".join(sentences(5)).encode()

    def drawn(*more: str) -> tuple[list[str], str]:
        for begun_anew in (random.seed, np.random.seed, torch.manual_seed):  # as if it were another process
            begun_anew(1)
        return terminal("translate", f"model={run}", *FAST, "search=sample", *more, stdin=text)

    first, said = drawn()
    [seed] = re.findall(r"1 sample with seed=(\d+)", said)
    assert drawn(f"seed={seed}")[0] == first
    assert drawn()[0] != first


@pytest.mark.slow
def test_mistakes_get_one_line(run: Path, blind: Path, terminal: Terminal) -> None:
    Path("text").write_text("der Hund\n")
    Path("bad").write_bytes(b"der Hund\nein \xff Haus\n")
    here = ["translate", f"model={run}"]
    for words, message in {
        ("input=nope",): "no file nope, input=nope; check the path",
        ("input=[text,nope]",): "no file nope, input=nope",
        ("input=.",): "file . cannot be read: Is a directory",
        ("input=[]",): "input is an empty list",
        ("input=bad",): "bad, line 2: byte 0xff is not valid UTF-8",
        ("formt=jsonl",): "unknown key 'formt'; did you mean 'format'?",
        ("format=json",): "format='json' is not possible; did you mean 'jsonl'?",
        ("n_best=3",): "n_best=3 needs format=jsonl",
        ("search.n_best=3",): "n_best=3 needs format=jsonl",
        ("n_best=0", "format=jsonl"): "n_best is 0; it must be at least 1, or null",
        ("alignments=true",): "alignments=true needs format=jsonl",
        ("buffer=0",): "buffer is 0; it must be at least 1 (lines read ahead",
        ("workers=0",): "workers is 0; it must be at least 1 and at most 10,000, or null",
        ("search.beam=0",): "search.beam is 0; it must be at least 1",
        ("search=beem",): "did you mean 'beam'?",
        ("output=nope/out", "input=text"): "cannot write nope/out (No such file or directory); choose another output=",
        ("output=text/out", "input=text"): "cannot write text/out (Not a directory)",
        ("output=.", "input=text"): "text is in the folder ., output; choose another folder",
        ("output=/dev/full", "input=text"): "cannot write /dev/full (No space left on device)",
    }.items():
        assert message in terminal.fails(*here, *words), words
    error = terminal.fails("translate", f"model={blind}", "format=jsonl", "alignments=true", stdin=b"a\n")
    assert "alignments=true, but the model has no attention" in error
    error = terminal.fails(*here, stdin=b"a\n\xe4\xf6\n")
    assert error.startswith("error: standard input, line 2: byte 0xe4 is not valid UTF-8")
    assert sorted(path.name for path in Path().iterdir()) == ["bad", "text"]


def test_an_output_file_appears_whole_or_not_at_all(run: Path, terminal: Terminal) -> None:
    Path("bad").write_bytes(b"der Hund\n" * 20 + b"\xff\n")
    Path("old").write_text("as it was\n")
    for name in ("old", "new"):
        terminal.fails("translate", f"model={run}", *FAST, "input=bad", f"output={name}", "buffer=2")
    assert Path("old").read_text() == "as it was\n"
    assert {path.name for path in Path().iterdir()} == {"bad", "old"}


def test_an_output_may_be_a_pipe(run: Path, terminal: Terminal) -> None:
    """As /dev/stdout is one, or >(sort): the name that the pipe has below /proc cannot be opened."""
    out, _ = terminal("translate", f"model={run}", *FAST, stdin=b"der Hund\nein Haus\n")
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8", newline="\n") as pipe:
        words = ["translate", f"model={run}", *FAST, f"output=/dev/fd/{writer}"]
        assert terminal(*words, stdin=b"der Hund\nein Haus\n") == ([], "")
        os.close(writer)
        assert pipe.read() == "".join(f"{line}\n" for line in out)
    Path("file").touch()
    Path("link").symlink_to("file")
    terminal("translate", f"model={run}", *FAST, "output=link", stdin=b"der Hund\n")
    assert Path("link").is_symlink()
    assert Path("file").read_text() == f"{out[0]}\n"


def test_standard_output_may_be_closed_where_nothing_is_written_to_it(
    run: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    words = ["translate", f"model={run}", *FAST]
    assert terminal(*words, "output=out", stdin=b"der Hund\n") == ([], "")
    assert Path("out").read_text().count("\n") == 1
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate", None)  # calling it would be a TypeError
        error = terminal.fails(*words, stdin=b"der Hund\n")
    assert error == "error: standard output is closed; give it a file, or output=FILE\n"
    reader, writer = os.pipe()
    os.close(reader)
    assert terminal(*words, f"output=/dev/fd/{writer}", stdin=b"der Hund\n", code=141) == ([], "")
    os.close(writer)


def test_an_input_that_cannot_be_read_is_not_taken_for_the_output(run: Path, terminal: Terminal) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        own.bind("socket")
        error = terminal.fails("translate", f"model={run}", *FAST, "input=socket", "output=out")
    assert error == "error: cannot read socket (No such device or address); check it, or name another file\n"
    assert not Path("out").exists()


def test_cautions_name_the_file_where_there_are_several(run: Path, terminal: Terminal) -> None:
    Path("a").write_text("der Hund\nder Hund\n")
    Path("b").write_text("der Hund\nСобака видит дом.\n")
    Path("begin").write_text("\n" * 4)
    words = ["translate", f"model={run}", *FAST]
    _, alone = terminal(*words, "input=b")
    assert alone.startswith("caution: line 2 is in Cyrillic letters, which the model hardly knows")
    for more in ([], ["buffer=1"], ["prefixes=begin"]):
        out, err = terminal(*words, "input=[a,b]", *more)
        assert len(out) == 4
        assert err == alone.replace("line 2", "b, line 2")


@pytest.mark.slow
def test_a_damaged_model_is_named(run: Path, terminal: Terminal, tmp_path: Path) -> None:
    assert "nowhere is not a folder" in terminal.fails("translate", "model=nowhere")
    for name in ("config.json", "manifest.json", "src.spm", "tgt.spm", "model.safetensors"):
        copy = tmp_path / f"without-{name}"
        shutil.copytree(run, copy)
        (copy / name).unlink()
        assert f"{name}" in terminal.fails("translate", f"model={copy}")
        shutil.copytree(run, copy, dirs_exist_ok=True)
        (copy / name).write_bytes((copy / name).read_bytes()[:-9] + b"x")
        assert f"{name} is damaged" in terminal.fails("translate", f"model={copy}")


@pytest.mark.slow
def test_whoever_stops_reading_is_served_in_constant_memory(run: Path) -> None:
    """Input without end; the reader leaves after two lines."""
    nmt = f"{sys.executable} -m nmt.cli.main translate model={run} {' '.join(FAST)} buffer=8"
    command = f"yes 'der Hund' | {nmt} | head -2"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 2
    assert USED.fullmatch(done.stderr)
