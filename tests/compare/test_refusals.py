"""What `nmt compare` refuses before it trains anything, and what it takes for the same run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.comparisons import compare, words, write_splits
from helpers.models import run_config_of
from helpers.small_runs import make_run

from nmt.cli.main import main
from nmt.commands.compare import test_set as read_test_set
from nmt.compare.runs import FINISHED, Job, Sweep, check, check_axes, mark, run_state
from nmt.compare.scores import LONGEST_SHOWN, SHARES, history, rows_by_rule
from nmt.compare.sweep import composed_sweep
from nmt.config.identity import essence
from nmt.config.plain import leaves
from nmt.config.verbs import TrainCommand
from nmt.errors import ConfigError
from nmt.runs.folder import read_run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_splits(tmp_path_factory.mktemp("data"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["attention=none"], "no key other than seed has several values"),
        (["attention=none", "seed=1,2"], "no key other than seed has several values"),
        (["attention=none,dot", "train.workers=1,2"], "train.workers=1,2 gives the same model several times"),
        (["attention=none,dot", "budget=5m"], "budget=5m is for nmt train; leave it out: all runs are as long"),
        (["attention=none,dot", "name=mine"], "name=mine is for nmt train; leave it out: runs are named by"),
        (["attention=none,dot", "resume=r"], "resume=r is for nmt train"),
        (["attention=none,dot", "init_from=r"], "init_from=r is for nmt train"),
        (["attention=none,dto"], "did you mean 'dot'?"),
        (["optimizer.lr=interval(0,1)"], "is a range, and a comparison needs a list; write one: optimizer.lr=A,B"),
        (["attention=dot,dot"], "attention=dot seed=1: its configuration is that of attention=dot"),
        (["attention=none,dot", "seed=1,1"], "its configuration is that of attention=none"),
        (["attention=none,dot", "split=train"], "split='train' is not possible; choose from: dev, test"),
        (
            ["data.dev.src=dev.src,test.src", "split=dev", "recipe=null"],
            "its dev data are not those of data.dev.src=dev.src",
        ),
        (["data.tgt_lang=de,fr"], "its test data are not those of data.tgt_lang=de"),
        (
            ["attention=none,dot", "train.clip_norm=1,0"],
            "attention=none train.clip_norm=0 seed=1: train.clip_norm is 0",
        ),
        (["decoder.layers=1,2,0"], "decoder.layers=0 seed=1: "),
        (
            ["tokenizer.vocab_size=60,99999"],
            "tokenizer.vocab_size=99999 seed=1: tokenizer.vocab_size=99999 is too large",
        ),
        (["attention=none,dot", "data.gold=nowhere"], "nowhere"),
        (["attention=none,dot", "output=/proc/here"], "cannot write /proc/here"),
        (["attention=none,dot", "trian.workers=1"], "did you mean 'train.workers'?"),
    ],
)
def test_mistakes_are_refused_before_the_work(
    typed: list[str], expected: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(data, tmp_path / "runs", *typed) == 2
    out, err = capsys.readouterr()
    assert expected in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_corpus_without_test_split_is_refused(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("attention=none,dot", "data.test.src=null", "data.test.tgt=null", "data.test_size=0", "data.gold=null")
    assert compare(data, tmp_path, *more) == 2
    assert "no test split to compare on" in capsys.readouterr().err
    more = ("attention=none,dot", "data.dev.src=null", "data.dev.tgt=null", "data.dev_size=0", "split=dev")
    assert compare(data, tmp_path, *more) == 2
    assert "no dev split to compare on; give data.dev.src" in capsys.readouterr().err


MISLEADING = [(["", " "], "has no text in any of 2 lines"), (["a b", "der Hu@@ nd"], "is cut into pieces: @@")]


@pytest.mark.parametrize(("reference", "expected"), MISLEADING)
def test_a_test_split_that_misleads_is_refused(
    data: Path, tmp_path: Path, reference: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lines in {"bad.src": ["a b", "a c"], "bad.tgt": reference}.items():
        (data / name).write_text("".join(f"{line}\n" for line in lines))
    more = ("attention=none,dot", "data.test.src=bad.src", "data.test.tgt=bad.tgt", "data.gold=null")
    assert compare(data, tmp_path / "runs", *more) == 2
    assert capsys.readouterr().err.startswith(f"error: the reference of test {expected}")
    assert not (tmp_path / "runs").exists()


def test_test_sentences_without_reference_are_left_out(data: Path, tmp_path: Path) -> None:
    for name, text in {"some.src": "a b\na c\nb c\n", "some.tgt": "b a\n\nc b\n", "some.align": "0-1\n\n1-0\n"}.items():
        (data / name).write_text(text)
    typed = [*words(data, tmp_path), "attention=none,dot", "data.test.src=some.src", "data.test.tgt=some.tgt"]
    typed.append("data.gold=some.align")
    sweep = composed_sweep("compare", typed, typed, None)
    test = read_test_set(sweep, check(sweep))
    assert (test.sources, test.references) == (["a b", "b c"], ["b a", "c b"])
    assert test.gold is not None
    assert [gold.sure for gold in test.gold] == [frozenset({(0, 1)}), frozenset({(1, 0)})]
    gap, short = test.cautions
    assert gap == "left out, because they have no reference: 1 of 3 lines, the first is line 2"
    assert short.startswith("hardly any reference has four words in a row")


def test_a_split_that_is_cut_off_is_decided_by_the_whole_corpus(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = ("data.test.src=null", "data.test.tgt=null", "data.test_size=10", "data.gold=null")
    assert compare(data, tmp_path, "data.filters.max_ratio=null,1", *cut) == 2
    assert "its test data are not those of data.filters.max_ratio=null" in capsys.readouterr().err


@pytest.mark.slow
def test_axes_are_what_has_several_values(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = [*words(data, tmp_path), "attention=choice(dot,none)", "encoder.layers=range(1,3)", "seed=3"]
    typed += ["encoder.bidirectional=true"]
    sweep = composed_sweep("compare", typed, typed, None)
    assert sweep.axes == {"attention": ["dot", "none"], "encoder.layers": ["1", "2"]}
    assert list(sweep.variants) == [
        "attention=dot encoder.layers=1", "attention=dot encoder.layers=2",
        "attention=none encoder.layers=1", "attention=none encoder.layers=2",
    ]  # fmt: skip
    assert [job.seed for job in sweep.jobs] == [3] * 4
    assert [job.config.encoder.arguments["layers"] for job in sweep.jobs] == [1, 2, 1, 2]
    assert len({job.run for job in sweep.jobs}) == 4

    seen: list[TrainCommand] = []
    monkeypatch.setattr("nmt.commands.train.main", seen.append)
    single = [word for word in typed if not word.startswith(("attention", "encoder.l", "seed"))]
    assert main(["train", *single, "attention=none", "encoder.layers=2", "seed=3"]) == 0
    assert tmp_path / seen[0].run.name == sweep.variants["attention=none encoder.layers=2"][0].run  # nmt train's own


def test_experiments_in_a_folder_are_compared() -> None:
    typed = ["experiment=ablation/0_plain,ablation/6_dropout", "seed=1,2", "split=dev", "data.root=x"]
    sweep = composed_sweep("compare", typed, typed, None)
    assert list(sweep.variants) == ["experiment=ablation/0_plain", "experiment=ablation/6_dropout"]
    assert [job.run.name for job in sweep.jobs] == [
        "ablation_0_plain_seed1", "ablation_0_plain_seed2", "ablation_6_dropout_seed1", "ablation_6_dropout_seed2"
    ]  # fmt: skip
    assert [job.config.tokenizer.vocab_size for job in sweep.jobs] == [10_000, 10_000, 5000, 5000]
    assert [job.config.encoder.arguments["dropout"] for job in sweep.jobs] == [0, 0, 0.3, 0.3]
    assert "/" not in sweep.name


def test_help_lists_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("nmt compare: ")
    assert all(key in shown for key in ("output=null", "seed=1", "train.max_epochs", "multi_head"))


def test_a_run_with_another_configuration_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    config = read_run(run)[0]
    elsewhere = replace(config, cache_dir="/else", runs_dir="there", train=replace(config.train, workers=7))
    assert run_state(run, config) == run_state(run, elsewhere) == "begun"
    with pytest.raises(ConfigError, match=r"another configuration: seed is 1 there and 2 here; move that folder away"):
        run_state(run, replace(config, seed=2))
    more = replace(config, encoder=replace(config.encoder, arguments={**config.encoder.arguments, "new": 1}))
    with pytest.raises(ConfigError, match=r"encoder.new is none there and 1 here"):
        run_state(run, more)
    assert run_state(tmp_path / "nowhere", config) == "new"


def test_a_run_is_finished_while_its_model_is_that_of_the_end(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / FINISHED).write_text("damaged")
    assert mark(run)["model"] is not None
    (run / FINISHED).write_text(json.dumps(mark(run)))
    before = mark(run)
    with open(run / "model.safetensors", "ab") as file:
        file.write(b"more")
    assert mark(run) != before


def test_axes_that_do_not_change_models_are_refused() -> None:
    job = Job("x", 1, run_config_of({}))
    for key in ("train.device", "runs_dir", "output"):
        with pytest.raises(ConfigError, match=f"{key}=a,b gives the same model"):
            check_axes(Sweep("", "", {key: ["a", "b"], "attention": ["none", "dot"]}, [job], "test", Path(), []))


def test_essence_leaves_out_what_changes_no_model() -> None:
    config = run_config_of(
        {"name": "a", "data": {"root": "r", "train": {"src": "x", "tgt": "y", "files": None, "weights": None}}}
    )
    found = essence(config)
    assert found["data.train.src"] == "x"
    assert found["data.root"] == "r"
    assert found["train.accumulate"] == 1
    assert set(leaves(config.plain())) - set(found) == {
        "name", "runs_dir", "cache_dir", "init_from", "data.gold", "data.gold_units", "train.device", "train.workers",
        "train.peer_timeout_s", "train.log_every", "train.examples",
    }  # fmt: skip
    elsewhere = replace(config, name="b", runs_dir="c", train=replace(config.train, workers=7))
    assert essence(elsewhere) == found != essence(replace(config, seed=2))


def test_sentences_are_chosen_by_the_rule() -> None:
    lengths = [3, 25, 5, 7, 5, 9, 11, 13, 3, 40]
    texts = [f"sentence {number}" for number in range(len(lengths))]
    rows = rows_by_rule(texts, texts, lengths, lengths)
    fit = sorted(length for length in lengths if length <= LONGEST_SHOWN)
    assert [lengths[row] for row in rows] == [fit[int(share * (len(fit) - 1))] for share in SHARES]
    assert rows == [0, 2, 3, 5]
    assert rows_by_rule(texts, texts, [99] * 10, lengths) == []


def test_history_is_what_the_training_recorded(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"kind": "train", "update": update, "tokens": 900, "tokens_per_s": speed}
        for update, speed in ((10, 100.0), (20, 900.0), (30, 300.0))
    ]
    records += [{"kind": "train", "update": 40, "tokens": 900}]
    bests = ((10, True), (25, True), (35, False))
    records += [{"kind": "dev", "update": update, "best": best} for update, best in bests]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    found = history(tmp_path)
    assert (found.tokens_per_s, found.best_update, found.updates) == (300.0, 25, 40)
    assert found.best_seconds == pytest.approx(9 + 1 + 1.5)  # two intervals, and half of one
    assert history(tmp_path / "nowhere").best_update is None
