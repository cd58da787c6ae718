"""The command line as a user types it: what reaches a verb, and one clear line for every mistake."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from helpers.small_corpora import write_splits
from helpers.small_runs import make_run
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli import exit_codes
from nmt.cli import main as cli
from nmt.cli.main import main
from nmt.config.compose import command_of
from nmt.config.keys import hints_of
from nmt.config.overrides import parse, readable, run_name
from nmt.config.verbs import COMMANDS, TrainCommand
from nmt.errors import DataError
from nmt.machine import launch
from nmt.machine.signals import SAVED

ROOT = Path(__file__).parents[2]
VERBS = list(cli.VERBS)


class Calls(list[Any]):
    """What the verbs were called with; `result` is returned, or raised."""

    result: int | BaseException | None = None


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Calls]:
    """Every verb records its arguments instead of working, in an empty folder that must stay empty."""
    seen = Calls()

    def verb(command: Any) -> int | None:
        seen.append(command)
        if isinstance(seen.result, BaseException):
            raise seen.result
        return seen.result

    module = ModuleType("recording_verb")
    module.__dict__["verb"] = verb
    monkeypatch.setitem(sys.modules, "recording_verb", module)
    for name in VERBS:
        monkeypatch.setitem(cli.VERBS, name, cli.Verb("", "recording_verb:verb"))
    monkeypatch.chdir(tmp_path)
    yield seen
    assert not {"outputs", "multirun", "multirun.yaml"} & {path.name for path in tmp_path.iterdir()}


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a mistake gets."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def test_a_verb_gets_plain_values_and_what_was_typed(calls: Calls) -> None:
    assert main(["train", "attention=dot", "train.batch_tokens=10", "name=mine"]) == 0
    [command] = calls
    assert command.run.plain()["attention"] == {"class": "Dot", "normaliser": "softmax"}
    assert command.run.train.batch_tokens == 10
    assert command.run.train.label_smoothing == 0.1
    assert command.changes.values == {
        "attention": {"class": "Dot", "normaliser": "softmax"},
        "train.batch_tokens": 10,
        "name": "mine",
    }


def test_what_is_not_typed_of_the_search_stays_as_stored(calls: Calls) -> None:
    assert main(["evaluate", "model=m", "search.beam=8", "src=s", "ref=[a,b]"]) == 0
    assert main(["translate", "model=m", "search=greedy"]) == 0
    typed, greedy = (command.changes for command in calls)
    assert typed.values == {"model": "m", "search.beam": 8, "ref": ["a", "b"], "src": "s"}
    stored = command_of("train", ["search.alpha=0.5", "search.n_best=1"]).run.search
    assert typed.of(stored) == replace(stored, beam=8)
    assert greedy.of(replace(stored, beam=8)) == replace(stored, beam=1, alpha=1.0)


def test_exit_codes(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    calls.result = SAVED
    assert main(["train"]) == SAVED == 75
    calls.result = DataError("corpus.en has no lines; name another file")
    assert "corpus.en has no lines" in fails(capsys, "train")
    calls.result = KeyboardInterrupt()
    assert main(["train"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    calls.result = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):  # our bugs keep their traceback
        main(["train"])


@pytest.mark.slow
def test_a_sweep_runs_every_job_under_its_own_name(calls: Calls, tmp_path: Path) -> None:
    assert main(["train", "-m", "attention=dot,additive", "seed=1,2"]) == 0
    names = [command.run.name for command in calls]
    assert len(set(names)) == 4
    assert names[0] == "demo_en_de_attention-dot_seed1"
    assert [command.run.seed for command in calls] == [1, 2, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.slow
def test_the_time_of_each_job_of_a_sweep_begins_with_it(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    monkeypatch.setattr("nmt.cli.run.begin_anew", lambda: begun.append(len(calls)))
    assert main(["train", "-m", "seed=1,2"]) == 0
    assert begun == [0, 1]
    assert main(["train"]) == 0
    assert begun == [0, 1], "the time of a command begins with its process"


def test_time_can_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "began", time.monotonic() - 1000)
    assert launch.since_start_s() >= 1000
    launch.begin_anew()
    assert launch.since_start_s() < 500


@pytest.mark.slow
def test_a_sweep_stops_where_a_job_fails_or_is_interrupted(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    calls.result = DataError("no such file; check it")
    assert main(["train", "-m", "seed=1,2"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: no such file; check it"
    for result, code in ((SAVED, SAVED), (KeyboardInterrupt(), 130)):
        calls.result = result
        calls.clear()
        assert main(["train", "-m", "seed=1,2"]) == code
        assert len(calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["trian"], "did you mean 'train'?"),
        (["seed=1"], "stands before the verb"),
        (["train", "atention=dot"], "unknown key 'atention'; did you mean 'attention'?"),
        (["train", "schedule.hold=0.3"], "unknown key 'schedule.hold' here; add schedule=linear, which has it"),
        (
            ["train", "encoder.norm=post"],
            "unknown key 'encoder.norm' here; add encoder=rnn_self_attention or transformer, which have it",
        ),
        (["train", "attention=addtive"], "attention=addtive does not exist; did you mean 'additive'?"),
        (["train", "-m", "attention=dot,addtive"], "did you mean 'additive'?"),
        (
            ["train", "attention@attention.score=additive"],
            "attention@attention.score=additive is for what attention=general does not have; add attention=multi_head",
        ),
        (["train", "attention=multi_head", "attention@attention.score=aditive"], "did you mean 'additive'?"),
        (["train", "attention=multi_head", "attention.score=dot"], "type attention@attention.score=dot"),
        (["train", "experiment=multi30k"], "did you mean 'multi30k_en_de'?"),
        (["train", "train.batch_token=1"], "did you mean 'train.batch_tokens'?"),
        (["train", "trian.batch_tokens=1"], "did you mean 'train.batch_tokens'?"),
        (["train", "batch_tokens=1"], "did you mean 'train.batch_tokens'?"),
        (["train", "epochs=5"], "unknown key 'epochs'; did you mean 'train.max_epochs'?"),
        (["train", "train.epochs=5"], "unknown key 'train.epochs'; did you mean 'train.max_epochs'?"),
        (["train", "learning_rate=1"], "unknown key 'learning_rate'; did you mean 'optimizer.lr'?"),
        (["train", "lr=1"], "unknown key 'lr'; did you mean 'optimizer.lr'?"),
        (["train", "hidden=5"], "unknown key 'hidden'; choose from: decoder.d_hidden, encoder.d_hidden"),
        (
            ["train", "data.src=x"],
            "unknown key 'data.src'; did you mean 'data.train.src'?",
        ),
        (["evaluate", "model=m", "data.src=x"], "unknown key 'data.src'; did you mean 'src'?"),
        (["translate", "model=m", "data.src=x"], "unknown key 'data.src'; did you mean 'input'?"),
        (["translate", "model=m", "beam_size=3"], "unknown key 'beam_size'; did you mean 'search.beam'?"),
        (["train", "--max_epochs", "5"], "unknown option '--max_epochs'; keys have no dashes: train.max_epochs=5"),
        (["train", "--max-epochs=5"], "unknown option '--max-epochs=5'; keys have no dashes: train.max_epochs=5"),
        (["train", "--epochs", "-m"], "unknown option '--epochs'; keys have no dashes: train.max_epochs=VALUE"),
        (["train", "--attention", "dot"], "unknown option '--attention'; keys have no dashes: attention=dot"),
        (["train", "--src", "a.en", "name=x"], "keys have no dashes: data.train.src=a.en"),
        (["train", "--hidden", "name=x"], "keys have no dashes: encoder.d_hidden=VALUE or decoder.d_hidden=VALUE"),
        (["translate", "--model", "m"], "unknown option '--model'; keys have no dashes: model=m"),
        (["translate", "--nonsense"], "unknown option '--nonsense'; choose from: --cfg"),
        (["compare", "--seed", "1"], "unknown option '--seed'; keys have no dashes: seed=1"),
        (["train", "train.device=gpu"], "'gpu' is not possible; type cuda, torch's name for a GPU; without one, cpu"),
        (["translate", "model=m", "device=GPU"], "device='GPU' is not possible; type cuda, torch's name for a GPU"),
        (["doctor", "device=mps"], "device='mps' is not possible; type cpu; of GPUs nmt uses those that torch calls"),
        (["train", "seed.x=1"], "'seed' is a single value"),
        (["train", "+sead=1"], "unknown key 'sead'; did you mean 'seed'?"),
        (["train", "attention=1"], "attention=1 does not exist; choose from: additive, cosine"),
        (["train", "attention=[dot]"], "attention=[dot] does not exist; did you mean 'dot'?"),
        (["train", "experiment=true"], "experiment=true does not exist; choose from: demo_en_de"),
        (["train", "experiment=ablation/0_plan"], "0_plan does not exist; did you mean 'ablation/0_plain'?"),
        (["train", "experiment=x/y"], "experiment=x/y does not exist; choose from: demo_en_de"),
        (["train", "a b= x"], "'a b= x' is not of the form key=value; nmt <verb> --help shows every key"),
        (["train", "=x"], "'=x' sets nothing; type key=value"),
        (["train", "@=1"], "'@=1' sets nothing; type key=value"),
        (["train", "+=1"], "'+=1' sets nothing; type key=value"),
        (["train", "@x=1"], "'@x=1' sets nothing; type key=value"),
        (["train", "data=null"], "data=null chooses nothing; leave it out, or choose from: auto, csv, demo_en_de"),
        (["compare", "attention=dot,null"], "attention=null chooses nothing; leave it out, or choose from: additive"),
        (["train", "--help", "experiment=null"], "experiment=null chooses nothing; leave it out, or choose from: demo"),
        (["train", "~seed"], "set it to null to turn it off"),
        (["train", "seed"], "type key=value"),
        (["train", "seed=1,2"], "add -m"),
        (["train", "name={a"], "\"name='{a'\""),
        (["train", "--mutirun"], "did you mean '--multirun'?"),
        (["train", "--config-name", "tune"], "--config-name is not an option of nmt; the verb is the name"),
        (["train", "--config-path", "x"], "--config-path is not an option of nmt; name a folder of your own"),
        (["train", "--experimental-rerun", "x"], "--experimental-rerun is not an option of nmt; nmt train resume=RUN"),
        (["train", "--resolve"], "--resolve needs a configuration to show; add --cfg job"),
        (["train", "--cfg", "job", "--package", "seed"], "--package is not an option of nmt; --cfg job shows all"),
        (["train", "hydra/launcher=1"], "hydra/launcher=1 does not exist; choose from: basic"),
        (["doctor", "-sc", "a=1"], "--shell-completion stands alone with install=bash"),
        (["-sc"], "--shell-completion stands alone with install=bash"),
        (["visualise", "model=m", "data=1"], "unknown key 'data'"),
        (["visualise", "model=m", "+data=[text]"], "unknown key 'data'"),
        (["train", "--cfg", "jbo"], "invalid choice"),
        (["train", "--cfg", "job", "-m"], "exclude each other; type one of them"),
        (["train", "--config-dir", "nowhere"], "nowhere"),
        (["train", "name=${oc.env:HOME}"], "resolver"),
        (["train", "name=${nothing}"], "nothing"),
        (["train", "resume=r", "experiment=multi30k_en_de"], "a resumed run keeps its experiment"),
        (["evaluate"], "model has no value"),
        (["train", "runs_dir=d\udce9"], r"runs_dir=d\udce9 is not valid UTF-8; rename the folder, or choose another"),
        (["train", "cache_dir=d\udce9"], r"cache_dir=d\udce9 is not valid UTF-8"),
        (["train", "name=d\udce9"], r"name=d\udce9 is not valid UTF-8"),
        (["train", "resume=d\udce9"], r"resume=d\udce9 is not valid UTF-8"),
        (["train", "init_from=d\udce9"], r"init_from=d\udce9 is not valid UTF-8"),
        (["evaluate", "model=[m,d\udce9]"], r"model=d\udce9 is not valid UTF-8"),
        (["evaluate", "model=m", "compare_with=d\udce9"], r"compare_with=d\udce9 is not valid UTF-8"),
        (["align", "model=d\udce9", "src=s", "tgt=t"], r"model=d\udce9 is not valid UTF-8"),
        (["train", "seed=x"], "seed='x' is not possible; it must be a whole number"),
        (["train", "name=7"], "quote it: name='\"7\"'"),
        (["train", "name="], "name= is no folder inside runs_dir; give one such as name=first"),
        (["tune", "name=a/../.."], "name=a/../.. is no folder inside runs_dir"),
        (["average", "model=[a,b]", "name=/a"], "name=/a is no folder inside runs_dir"),
        (["average", "model=[a,b]", "name=."], "name=. is no folder inside runs_dir"),
        (["train", "train.max_updates=1" + "0" * 400], "it must be at most 1,000,000,000,000"),
        (["train", "optimizer.lr=1" + "0" * 400], "it must be above 0 and finite"),
        (["train", "optimizer.lr=inf"], "optimizer.lr is inf; it must be above 0 and finite"),
        (["train", "attention=multi_head", "attention.score=null"], "type attention@attention.score=<name>"),
        (["translate", "model=m", "buffer=many"], "buffer='many' is not possible"),
        (["translate", "model=m", "format=txt"], "did you mean 'text'?"),
        (["interactive", "model=m", "device=metal"], "choose from: auto, cpu, cuda"),
        (["evaluate", "model=m", "attention=dot"], "unknown key 'attention'"),
        (["train", "attention=addtive", "--help"], "did you mean 'additive'?"),
    ],
)
def test_mistakes_get_one_line(
    calls: Calls, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    assert expected in fails(capsys, *words)
    assert not calls


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["translate", "model=m", "a.de"], "'a.de' sets nothing; type input=a.de"),
        (["translate", "a.de", "model=m", "b c.de"], "'a.de b c.de' sets nothing; type 'input=[a.de,b c.de]'"),
        (["translate", "model=m", "b c.de"], "'b c.de' sets nothing; type 'input=b c.de'"),
        (["evaluate", "model=m", "a.de"], "'a.de' sets nothing; type src=a.de ref=FILE"),
        (["align", "model=m", "a.de", "a.de"], "'a.de a.de' sets nothing; type src=a.de tgt=a.de"),
        (["train", "a.de", "a.en"], "'a.de a.en' sets nothing; type data.train.src=a.de data.train.tgt=a.en"),
        (["train", "a.de", "a.en", "a.de"], "type data.train.src=FILE data.train.tgt=FILE"),
        (["train", "a.de", "nothing"], "'a.de' sets nothing; type key=value"),
        (["status", "run"], "'run' sets nothing; type model=run"),
        (["average", "run", "run"], "'run run' sets nothing; type model=[run,run]"),
        (["clean", "a.de", "a.en"], "'a.de a.en' sets nothing; type data.train.src=a.de data.train.tgt=a.en"),
        (
            ["train", "run"],
            "'run' sets nothing; type resume=run to go on with the run, init_from=run to start from its wei",
        ),
        (["doctor", "run"], "'run' sets nothing; type key=value"),
        (["attentions", "a.de"], "'a.de' sets nothing; type key=value"),
        (["translate", "model=m", "other"], "'other' sets nothing; type key=value"),
    ],
)
def test_a_file_without_a_key_is_told_its_key(
    calls: Calls, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], expected: str
) -> None:
    for name in ("a.de", "a.en", "b c.de", "run/manifest.json", "other/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert expected in fails(capsys, *words)
    assert not calls


def test_file_names_need_not_be_utf8(calls: Calls) -> None:
    names = "data.train.src=caf\udce9.en", "data.train.tgt=caf\udce9.de"
    assert main(["train", "data=text", *names]) == 0
    assert main(["train", "data=text", *(name.replace("\udce9", "\udce8") for name in names)]) == 0
    assert calls[0].run.data.train.src == "caf\udce9.en"
    first, second = (command.run.name for command in calls)
    assert first.isascii()
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["train", "prepare"])
def test_training_files_are_of_any_kind_unless_a_corpus_is_typed(calls: Calls, tmp_path: Path, verb: str) -> None:
    words = (["data=text"], ["data=demo_en_zh"], [f"data.root={tmp_path}"], ["experiment=demo_en_de"], [])
    for typed in words:
        assert main([verb, "data.train.src=a.en", "data.train.tgt=a.de", *typed]) == 0
    assert main([verb, "data.train.files=[a.tmx]"]) == 0
    assert [command.run.data.format for command in calls] == ["text"] * 4 + ["auto"] * 2
    assert calls[-1].run.data.dev.files is None


def test_a_mistake_in_a_file_is_named(calls: Calls, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "a.yaml").write_text("# @package _global_\nsead: 3\n")
    (folder / "b.yaml").write_text("# @package _global_\ndefaults:\n  - override /attention: addtive\n")
    assert "unknown key 'sead'; did you mean 'seed'?" in fails(capsys, "train", "-cd", str(tmp_path), "experiment=a")
    assert "attention/addtive" in fails(capsys, "train", "-cd", str(tmp_path), "experiment=b")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"# @package _global_\n\tseed: 2\n", "x.yaml, line 2, is no YAML: found character"),
        (b"# @package _global_\nseed: 2\nseed: 3\n", "x.yaml, line 3, is no YAML: found duplicate key seed; correct"),
        (b"# @package _global_\nname: a\0\n", "x.yaml is no YAML: special characters are not allowed; correct that"),
        (b"# @package _global_\nname: \xe9\n", "x.yaml is not UTF-8: invalid continuation byte; correct that file"),
        (b"# @package _global_\n- seed: 2\n", "x.yaml holds no keys; correct that file"),
        (b"# @package _global_\ndefaults: base\n", "x.yaml has defaults that are no list; correct that file"),
        (b"# @package _global_\nname: ${seed\n", "composed: name: no viable alternative at input '${seed'; correct"),
        (b"# @package _global_\ntrain: [1]\n", "'experiment/x': ConfigTypeError raised while composing config: Cannot"),
        (b"# @package _global_\nattention: null\n", "attention=null is not a section; type attention=general"),
        (b"# @package _global_\nencoder: rnn\n", "encoder='rnn' is not a section; type encoder=rnn"),
        (
            b"seed: 2\n",
            "experiment=x sets nothing, because its file does not begin with the line '# @package _global_'",
        ),
    ],
)
def test_a_file_that_sets_nothing_or_is_no_yaml_is_named(
    calls: Calls, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, expected: str
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "x.yaml").write_bytes(content)
    assert expected in fails(capsys, "train", "-cd", str(tmp_path), "experiment=x")
    assert main(["train", "-m", "-cd", str(tmp_path), "experiment=x", "seed=1,2"]) == 2
    assert expected in capsys.readouterr().err.splitlines()[-1]
    assert not calls


@pytest.mark.parametrize(
    "value",
    [
        "a b.txt",
        "Änderung.txt",
        "x=y=z.txt",
        "a[1].txt",
        "[draft].txt",
        "a(1).txt",
        "it's.txt",
        "~/a",
        "文",
        " a ",
    ],
)
def test_file_names_arrive_as_typed(calls: Calls, value: str) -> None:
    assert main(["translate", "model=m", f"input={value}"]) == 0
    assert calls[0].input == value


@pytest.mark.parametrize("value", ["a,b.txt", "a,b [1]{2}.txt", "{x}", '"q"', "back\\slash, comma"])
def test_existing_file_names_arrive_as_typed(calls: Calls, tmp_path: Path, value: str) -> None:
    (tmp_path / value).touch()
    assert main(["translate", "model=m", f"input={value}"]) == 0
    assert calls[0].input == value


def test_lists_of_file_names_arrive_as_typed(calls: Calls) -> None:
    assert main(["evaluate", "model=m", "src=s", "ref=[é 1.txt, 'b,c.txt',d(1).txt]"]) == 0
    assert calls[0].ref == ["é 1.txt", "b,c.txt", "d(1).txt"]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_the_quoted_form_that_an_error_shows_can_be_typed(text: str) -> None:
    from nmt.config.overrides import _quote

    word = readable(f"name={_quote(text)}", sweep=False)
    assert parse(word).value() == text


@given(st.dictionaries(st.sampled_from(["a", "b.c", "d"]), st.text("xyzé /=", max_size=60), min_size=2))
def test_runs_with_other_settings_have_other_names(values: dict[str, str]) -> None:
    words = [parse(readable(f"{key}={value}", sweep=True)) for key, value in values.items()]
    name = run_name("base", words, 1)
    assert name == run_name("base", words[::-1], 1)
    assert name != run_name("base", words[1:], 1)
    assert len(name.encode()) < 255
    assert "/" not in name


def test_a_run_is_named_by_the_score_of_its_heads_too() -> None:
    names = {
        command_of("train", words).run.name
        for words in (
            ["attention=additive"],
            ["attention=multi_head"],
            ["attention=multi_head", "attention@attention.score=additive"],
            ["attention=multi_head", "attention@attention.score=dot"],
        )
    }
    assert len(names) == 4


@pytest.mark.parametrize("verb", VERBS)
def test_help_lists_groups_and_every_key(calls: Calls, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"nmt {verb}: ")
    if issubclass(COMMANDS[verb], TrainCommand):
        keys = ["attention=general", "additive", "train.clip_norm=1.0"]
    else:
        keys = [f"{key}=" for key in hints_of(COMMANDS[verb]) if key != "changes"]
    assert all(key in shown for key in keys)


def shell(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "nmt.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["attentions"]])
def test_a_full_disk_gets_one_line(words: list[str]) -> None:
    command = [sys.executable, "-m", "nmt.cli.main", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert result.returncode == 2
    message = (
        "error: cannot use standard output or a file (No space left on device); make room, or use another folder\n"
    )
    assert result.stderr == message


@pytest.mark.parametrize(
    ("number", "helps"),
    [(errno.EIO, "mend the disk"), (errno.EACCES, "make it writable"), (errno.EROFS, "make it writable")],
)
def test_a_disk_that_fails_anywhere_gets_one_line(
    number: int, helps: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(command: object) -> int:
        raise OSError(number, os.strerror(number), "runs/x\x1b")

    monkeypatch.setattr("nmt.commands.status.main", fail)
    assert main(["status", "model=runs/x"]) == 2
    said = f"error: cannot use runs/x\\x1b ({os.strerror(number)}); {helps}, or use another folder\n"
    assert capsys.readouterr().err == said


def test_help_shows_the_first_of_several_values(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "attention=multi_head,dot",
        "seed=7,8",
        "optimizer.lr=interval(1,2)",
        "encoder.layers=range(2,4)",
    ]
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert {"attention=multi_head", "attention.heads=", "seed=7", "encoder.layers=2"} <= {
        known for word in shown.split() for known in (word, word[: word.find("=") + 1])
    }
    assert "unknown key 'sead'" in fails(capsys, "compare", "sead=1,2", "--help")
    assert not calls


def test_help_knows_the_configurations_of_the_users_folder(
    calls: Calls, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nseed: 42\n")
    assert main(["train", "--config-dir", str(tmp_path), "experiment=mine", "--help"]) == 0
    assert "seed=42" in capsys.readouterr().out
    assert not calls


def test_help_is_immediate_and_fits_a_screen() -> None:
    start = time.monotonic()
    result = shell("--help")
    assert time.monotonic() - start < 2  # 0.1 on a quiet machine; what is heavy takes seconds to import
    assert result.returncode == 0
    assert all(verb in result.stdout for verb in VERBS)
    assert len(result.stdout.splitlines()) <= 24


HEAVY = {"torch", "datasets", "pandas", "pyarrow", "numpy", "sacrebleu", "matplotlib", "tensorboard", "sentencepiece"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], HEAVY | {"hydra"}),
        (["trian"], HEAVY | {"hydra"}),
        *(([verb, "--help"], HEAVY) for verb in VERBS),
        (["train", "--cfg", "job"], HEAVY),
        (["train", "atention=dot"], HEAVY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_runs_nothing_imports_nothing_heavy(words: list[str], heavy: set[str]) -> None:
    script = f"import sys, nmt.cli.main; nmt.cli.main.main({words}); print(sorted({heavy} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["train", "translate"])
def test_no_verb_imports_the_compiler(verb: str, tmp_path: Path) -> None:
    if verb == "train":
        corpus = write_splits(tmp_path / "corpus", {"train": 80})
        files = [f"data.train.src={corpus / 'train.en'}", f"data.train.tgt={corpus / 'train.de'}"]
        short = ["train.max_updates=2", "train.validate_every=1", "data.dev_size=5", "data.test_size=0"]
        small = ["recipe=null", "tokenizer.vocab_size=300", "encoder.d_hidden=8", "decoder.d_hidden=8"]
        words = [*files, *short, *small, f"runs_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}", "name=run"]
    else:
        (tmp_path / "in").write_text("a\n")
        words = [f"model={make_run(tmp_path / 'run')}", "device=cpu", f"input={tmp_path / 'in'}"]
    script = f"import sys, nmt.cli.main; print(nmt.cli.main.main({[verb, *words]}), 'torch._dynamo' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.splitlines()[-1] == "0 False", run.stderr


def test_preparing_imports_little() -> None:
    needless = HEAVY - {"pyarrow", "numpy", "sentencepiece"}
    script = f"import sys, nmt.data.prepare; print(sorted({needless} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_shell_completion_knows_verbs_groups_and_keys() -> None:
    assert "complete" in shell("-sc", "install=bash").stdout

    def completions(line: str) -> list[str]:
        return shell("-sc", "query=bash", COMP_LINE=line).stdout.split()

    assert completions("nmt tra") == ["train", "translate"]
    assert completions("nmt ") == completions("") == VERBS
    assert "attention=additive" in completions("nmt train attention=add")
    assert "train.batch_tokens=" in "".join(completions("nmt train train.batch_t"))
    assert completions("nmt nothing x") == []


def test_the_configuration_can_be_shown_without_running() -> None:
    result = shell("train", "--cfg", "job", "attention=dot")
    assert result.returncode == 0
    assert "class: Dot" in result.stdout


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), ""),
        (MemoryError("Unable to allocate\n8 TiB"), " (Unable to allocate 8 TiB)"),
        (torch.OutOfMemoryError("CUDA out of memory. " + "x" * 1000), f" (CUDA out of memory. {'x' * 180})"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: no"), " ([enforce fail] DefaultCPUAllocator: no)"),
    ],
)
def test_lack_of_memory_is_one_line(
    calls: Calls, error: BaseException, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    calls.result = error
    remedy = "free some, or lower train.batch_tokens, search.batch_sentences or the size of the model"
    assert fails(capsys, "train", "name=x") == f"error: nmt train ran out of memory{said}; {remedy}\n"


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOSPC, "No space left on device", "runs/x")])
def test_of_several_processes_one_says_an_error(
    calls: Calls, error: BaseException, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.result = error
    monkeypatch.setattr(exit_codes, "_is_first_to_say", lambda error: False)
    assert main(["train", "name=x"]) == 2
    assert capsys.readouterr().err == ""


def test_other_errors_of_the_runtime_keep_their_traceback(calls: Calls) -> None:
    calls.result = RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        main(["train", "name=x"])
