"""`nmt translate` of whole files into a folder, as it is typed: by one process or several, killed or not."""

import errno
import fcntl
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
import yaml
from helpers.forked import Forked, forked_nmt
from helpers.small_runs import make_run, sentences

from nmt.cli.main import main
from nmt.runs.folder import load_model
from nmt.runs.shortlist_file import write_shortlist
from nmt.search.shortlist import Shortlist
from nmt.translation.bulk import RECORD

ROOT = Path(__file__).parents[2]
FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "workers=1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with in/0.gz, in/1, in/2.gz, in/3, of 40 sentences each."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for number in range(4):
        text = "".join(f"{line}\n" for line in sentences(40, number)).encode()
        if number % 2 == 0:
            Path(f"in/{number}.gz").write_bytes(gzip.compress(text))
        else:
            Path(f"in/{number}").write_bytes(text)


def translate(run: Path, *words: str, code: int = 0) -> None:
    assert main(["translate", f"model={run}", *FAST, *words]) == code


def content(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.slow
def test_every_file_has_what_it_has_alone(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = ["format=jsonl", "n_best=2", "alignments=true"]
    translate(run, "input='in/*'", "output=out/", *form)
    assert sorted(os.listdir("out")) == [RECORD, "0.gz", "1", "2.gz", "3"]
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("fp32, 1 worker, beam 2\nout/0.gz: 40 lines, ")
    assert said.endswith("4 of 4 files: 4 translated\n")
    for name in os.listdir("in"):
        translate(run, f"input=in/{name}", *form)
        alone = capsys.readouterr().out
        found = Path("out", name).read_bytes()
        assert (gzip.decompress(found) if name.endswith(".gz") else found).decode() == alone
        assert 2 in {len(json.loads(line)["n_best"]) for line in alone.splitlines()}  # texts that are the same are one
    for number in (3, 1, 2):
        translate(
            run, "input=[in/3,in/1,in/0.gz,in/2.gz]", "output=parts", f"shard={number}/3", *form, f"workers={number}"
        )
    assert content("parts") == content("out")
    assert capsys.readouterr().err.count(" of 4 files: ") == 3


def test_a_glob_is_its_files_one_after_another_in_one_output(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate(run, "input='in/*.gz'", "output=together")
    translate(run, "input=[in/0.gz,in/2.gz]")
    assert Path("together").read_text("utf-8") == capsys.readouterr().out


def test_files_of_a_glob_are_in_natural_order(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (10, 2, 1):
        Path(f"part.{number}").write_text(f"{sentences(1, number)[0]}\n")
    translate(run, "input='part.*'")
    by_glob = capsys.readouterr().out
    translate(run, "input=[part.1,part.2,part.10]")
    assert by_glob == capsys.readouterr().out


@pytest.mark.slow
def test_draws_depend_on_seed_and_file_alone(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = ["search=sample", "seed=3"]
    translate(run, "input='in/*'", "output=out/", *sample)
    for number in (2, 1):
        translate(run, "input='in/*'", "output=parts/", f"shard={number}/2", *sample)
    assert content("parts") == content("out")
    translate(run, "input='in/*'", "output=narrow/", "buffer=3", "search.batch_sentences=1", "workers=2", *sample)
    assert content("narrow") == content("out")
    translate(run, "input='in/*'", "output=others/", "search=sample", "seed=4")
    assert content("others")["1"] != content("out")["1"]
    Path("in/5").write_bytes(Path("in/3").read_bytes())
    translate(run, "input=in/5", "output=out", *sample)
    assert content("out")["5"] != content("out")["3"]  # each file has draws of its own
    capsys.readouterr()
    translate(run, "input='in/*'", "output=more/", "search=sample", code=2)
    assert "search.sample=true draws translations, and every process must draw the same ones; add seed=1" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_what_decides_translations_is_recorded(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = make_run(tmp_path / "other", seed=1)

    def refused(*words: str) -> str:
        capsys.readouterr()
        assert main(["translate", *FAST, "input='in/*'", *words]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(
            f"error: {words[1].removeprefix('output=')} holds translations that were made with other settings: "
        )
        assert err.endswith("; type the same as there, or choose another output=\n")
        assert err.count(" was ") == 1
        return err

    translate(run, "input='in/*'", "output=out/")
    first = load_model(run).checksum[:16]
    assert f'model was ["{first}"], is ["{load_model(other).checksum[:16]}"]' in refused(f"model={other}", "output=out")
    assert f'model was ["{first}"], is ["{first}", "{load_model(other).checksum[:16]}"]' in (
        refused(f"model=[{run},{other}]", "output=out")
    )
    here = f"model={run}"
    assert "search.alpha was 1.0, is 0.5" in refused(here, "output=out", "search.alpha=0.5")
    assert re.search('precision was "fp32", is ".* int8 decoder"', refused(here, "output=out", "precision=int8"))
    assert 'long_lines was "split", is "truncate"' in refused(here, "output=out", "long_lines=truncate")
    assert 'format was "text", is "jsonl"' in refused(here, "output=out", "format=jsonl")
    translate(run, "input='in/*'", "output=json/", "format=jsonl")
    assert "alignments was false, is true" in refused(here, "output=json", "format=jsonl", "alignments=true")
    translate(run, "input='in/*'", "output=drawn/", "search=sample", "seed=1")
    assert "seed was 1, is 2" in refused(here, "output=drawn", "search=sample", "seed=2")
    translate(run, "input='in/*'", "output=out", "search.batch_sentences=3", "buffer=7")
    assert capsys.readouterr().err.endswith("4 of 4 files: 4 there already\n")

    best = torch.arange(340)[:, None]
    for kept in (5, 6):
        write_shortlist(other, Shortlist(best, torch.arange(4, 4 + kept), 1.0), load_model(other).checksum)
        if kept == 5:
            translate(other, "input='in/*'", "output=listed/")
    capsys.readouterr()
    translate(other, "input='in/*'", "output=listed/", code=2)
    assert 'made with other settings: shortlist was "' in capsys.readouterr().err
    translate(other, "input='in/*'", "output=listed/", "shortlist=false", code=2)
    assert '", is null; type the same' in capsys.readouterr().err


def test_long_lines_are_named_with_their_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in/1").write_text("der Hund\n" + "der Hund " * 600 + "\n")
    translate(run, "input=in/1", "output=out/")
    assert "caution: in/1, line 2 has 1,200 pieces; translated in 2 parts" in capsys.readouterr().err


@pytest.mark.slow
def test_mistakes_get_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    Path("links").mkdir()
    Path("links/lost").symlink_to("nothing")
    for words, message in {
        ("input='links/*'", "output=out/"): "links/lost is a link to a file that is missing, input=links/*; mend or",
        (
            "input='in/*'",
            "output=in",
        ): "in/0.gz is in the folder in, output; choose another folder, or name a file in it",
        ("input=in", "output=out/"): "in is not a regular file, input; name files, or another output= than a folder",
        ("output=in",): "output=in is a folder, and input names no files; add input=FILES",
        ("output=out/",): "output=out/ is a folder, and input names no files; add input=FILES",
        ("input='in/*'", "shard=1/2"): "shard=1/2 divides files, whose translations go to a folder; add output=FOLDER",
        ("input='in/*'", "shard=1/2", "output=''"): "shard=1/2 divides files, whose translations go to a folder",
        ("input='in/*'", "shard=1/2", "output=file"): "cannot write file (File exists); check that place, or choose",
        ("input='no/*'", "output=out/"): "no file matches no/*, input=no/*; check the pattern",
        ("input='in'", "output=''"): "cannot write (Is a directory)",
        **{
            (
                "input='in/*'",
                "output=out",
                f"shard={shard}",
            ): f"shard={shard} is not possible; give i/n with i from 1 to n, for example shard=3/16"
            for shard in ("0/3", "4/3", "3", "1/2/3", "a/3", "-1/3", "1/0", "1 / 3", "9999999999/9999999999")
        },
    }.items():
        translate(run, *words, code=2)
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {message}"), err
        assert err.count("\n") == 1
    assert sorted(os.listdir()) == ["file", "in", "links"]


def test_a_bad_file_does_not_keep_the_others(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in/1").write_bytes(b"der Hund\n\xff\n")
    translate(run, "input='in/*'", "output=out/", code=2)
    caution, error = (line for line in capsys.readouterr().err.splitlines() if line.startswith(("caution", "error")))
    assert caution.startswith("caution: in/1, line 2: byte 0xff is not valid UTF-8; ")
    assert error.startswith("error: 1 of 4 files cannot be translated, for the reasons above: in/1; ")
    assert error.endswith("; repair them, and type the same command again")
    assert sorted(os.listdir("out")) == [RECORD, "0.gz", "2.gz", "3"]


def start(run: Path, output: str) -> Forked:
    return forked_nmt(["translate", f"model={run}", *FAST, "buffer=100", "input='in/*'", f"output={output}"])


def wait_for(pattern: str) -> None:
    """Until a file of the pattern is there."""
    end = time.monotonic() + 100
    while not list(Path().glob(pattern)):
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.slow
def test_processes_that_are_killed_or_interrupted_leave_whole_files(run: Path) -> None:
    for number, count in ((3, 1500), (4, 6000)):  # long enough to be met
        Path(f"in/{number}").write_text("".join(f"{line}\n" for line in sentences(count)))
    translate(run, "input='in/*'", "output=whole/", "buffer=100")
    whole = content("whole")
    Path("out").mkdir()

    killed = start(run, "out")
    wait_for("out/.3.writing")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    found = content("out")
    found.pop(".3.writing")
    assert found.items() < whole.items()

    stopped = start(run, "out")
    wait_for("out/.4.writing")
    stopped.send_signal(signal.SIGINT)
    said = stopped.communicate(timeout=240)[1]
    assert stopped.returncode == 130
    assert said.endswith("interrupted\n")
    found = content("out")
    assert found == {name: text for name, text in whole.items() if name != "4"}

    for process in [start(run, "out") for _ in range(2)]:
        process.communicate(timeout=240)
        assert process.returncode == 0
    assert content("out") == whole


def test_where_nothing_can_be_locked_a_shard_is_needed(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    translate(run, "input='in/*'", "output=out/", code=2)
    assert "error: out is on a file system without locks, " in capsys.readouterr().err
    translate(run, "input='in/*'", "output=out/", "shard=1/1")
    assert "note: out is on a file system without locks: start one process for each shard\n" in capsys.readouterr().err
    assert len(content("out")) == 5


NMT = """\
#!/bin/sh
# notes the words that it is called with, one a line
printf '%s\\n' "$@" > "$(mktemp typed/XXXXXX)"
"""
SBATCH = """\
#!/usr/bin/env python3
# Slurm's sbatch as far as the page uses it: each task of the array after the other
import os, subprocess, sys

options = dict(word.split("=", 1) for word in sys.argv[1:])
last = int(options["--array"].removeprefix("1-"))
for task in range(1, last + 1):
    numbers = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(last)}
    subprocess.run(["sh", "-c", options["--wrap"]], env=os.environ | numbers, check=True)
"""


@pytest.mark.slow
def test_the_commands_of_the_page_run(run: Path, tmp_path: Path) -> None:
    """They run as the page has them, with all input in gzip files; those for clusters run without a cluster."""
    page = (ROOT / "docs" / "many-files.md").read_text("utf-8")
    shutil.copytree(run, "runs/mine")
    Path("bin").mkdir()
    for name, text in {"nmt": NMT, "sbatch": SBATCH}.items():
        Path("bin", name).write_text(text)
        Path("bin", name).chmod(0o755)
    for number in (1, 3):
        Path(f"in/{number}.gz").write_bytes(gzip.compress(Path(f"in/{number}").read_bytes()))
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def outputs(*commands: str) -> dict[str, bytes]:
        Path("typed").mkdir()
        for command in commands:
            subprocess.run(["sh", "-c", command], env=environment, check=True)
        processes = [forked_nmt(path.read_text().splitlines()) for path in Path("typed").iterdir()]
        said = "".join(process.communicate(timeout=240)[1] for process in processes)
        assert not any(process.returncode for process in processes), said
        shutil.rmtree("typed")
        assert sum(map(int, re.findall(r"(\d+) translated", said))) == 4
        found = content("out")
        shutil.rmtree("out")
        return found

    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    first = next(text for language, text in blocks if language == "")
    whole = outputs(f"{first.strip()} workers=1")
    assert sorted(whole) == [RECORD, "0.gz", "1.gz", "2.gz", "3.gz"]
    xargs, slurm = (text for language, text in blocks if language == "sh")
    assert outputs(xargs) == whole
    assert outputs(slurm) == whole
    [job] = (yaml.safe_load(text) for language, text in blocks if language == "yaml")
    [container] = job["spec"]["template"]["spec"]["containers"]
    indices = range(job["spec"]["completions"])
    assert outputs(*(f"JOB_COMPLETION_INDEX={index}; {container['command'][2]}" for index in indices)) == whole
