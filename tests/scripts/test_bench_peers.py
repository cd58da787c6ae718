"""Measuring beside the peers: everything but the peers themselves, which are not installed here."""

import json
import random
import sys
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from helpers.small_corpora import make_pairs, text_data, tokenizer_config
from helpers.small_runs import make_run, sentences
from helpers.training_runs import corpus
from hydra import compose
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.__main__ import PARTS
from bench.peers import compare, environments, joeynmt_weights, meter, run_nmt, tables
from bench.peers.environments import PEERS, Patch, Workplace
from bench.peers.meter import MARK, Census, Enough, Meter, report
from bench.peers.tables import Comparison, Spread
from bench.peers.text import SPLITS, Text, require_corpus, write_text
from bench.peers.toolkits import Toolkits, Training, Translation, measured, render
from bench.usage import Usage
from command_line import run
from nmt.config.compose import loader
from nmt.data.prepare import prepare
from nmt.errors import DataError, NmtError
from nmt.training.trainer import Trainer
from nmt.translation.translator import Translator

POSITIVE = st.floats(1e-3, 1e6)
PRINTABLE = st.text().map(lambda text: "".join(filter(str.isprintable, text)))


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A folder whose name has all that could be mistaken for something else."""
    folder = tmp_path / "a 'näme': #1 $work"
    folder.mkdir()
    return Workplace(folder, tmp_path)


@pytest.fixture
def toolkits(place: Workplace) -> Toolkits:
    """Peers that are nowhere, and a text of which only the numbers are known."""
    text = SimpleNamespace(folder=place.folder / "text", fingerprint="f", sentences=70, tokens=900, test_src_pieces=50)
    return Toolkits(place, text, list(PEERS), "auto", [], [])  # type: ignore[arg-type]


def pretend(monkeypatch: pytest.MonkeyPatch, says: str) -> list[list[str]]:
    """Every process says this; the commands that were meant to run."""
    commands: list[list[str]] = []

    def run(place: Workplace, what: str, name: str, command: list[object], path: str | None = None) -> str:
        commands.append(list(map(str, command)))
        return says

    monkeypatch.setattr(Workplace, "run", run)
    return commands


def test_configurations_say_what_was_filled_in(toolkits: Toolkits) -> None:
    text = toolkits.text.folder
    joeynmt = yaml.safe_load(toolkits.config("joeynmt", "x", dev=None, beam=7).read_text("utf-8"))
    assert joeynmt["data"]["train"] == str(text / "train")
    assert joeynmt["data"]["dev"] is None
    assert joeynmt["data"]["trg"]["voc_file"] == str(text / "vocabulary.joeynmt")
    assert joeynmt["testing"]["beam_size"] == 7
    opennmt = yaml.safe_load(toolkits.config("opennmt", "x", input_feed=1).read_text("utf-8"))
    assert opennmt["data"]["corpus"]["path_src"] == str(text / "train.src")
    assert (opennmt["input_feed"], opennmt["bucket_size"]) == (1, 70)
    assert opennmt["save_model"] == str(toolkits.place.folder / "opennmt" / "x")


def test_everybody_trains_the_reference_model(toolkits: Toolkits) -> None:
    with loader():
        ours = compose("train", ["experiment=reference"])
    joeynmt = yaml.safe_load(toolkits.config("joeynmt", "x").read_text("utf-8"))
    opennmt = yaml.safe_load(toolkits.config("opennmt", "x").read_text("utf-8"))
    encoder, decoder = joeynmt["model"]["encoder"], joeynmt["model"]["decoder"]
    sizes = [
        (encoder["hidden_size"], opennmt["hidden_size"] // 2, ours.encoder.d_hidden),
        (decoder["hidden_size"], opennmt["hidden_size"], ours.decoder.d_hidden),
        (encoder["embeddings"]["embedding_dim"], opennmt["word_vec_size"], ours.model.d_embed),
        (encoder["num_layers"], opennmt["enc_layers"], ours.encoder.layers),
        (decoder["num_layers"], opennmt["dec_layers"], ours.decoder.layers),
        (decoder["dropout"], opennmt["dropout"][0], ours.decoder.dropout),
        (joeynmt["training"]["batch_size"], opennmt["batch_size"], ours.train.batch_tokens),
        (joeynmt["training"]["label_smoothing"], opennmt["label_smoothing"], ours.train.label_smoothing),
        (joeynmt["training"]["clip_grad_norm"], opennmt["max_grad_norm"], ours.train.clip_norm),
        (decoder["input_feeding"], bool(opennmt["input_feed"]), ours.decoder.input_feeding),
    ]
    assert all(a == b == c for a, b, c in sizes), sizes
    assert (ours.tokenizer.vocab_size, opennmt["src_vocab_size"]) == (8000, 8000)


@given(st.dictionaries(st.sampled_from("abcd"), st.none() | PRINTABLE | st.integers() | st.booleans(), min_size=1))
def test_any_value_survives_rendering(values: dict[str, object]) -> None:
    assert yaml.safe_load(render("".join(f"{key}: ${key}\n" for key in values), values)) == values


def training(tokens_per_s: float, memory: float) -> Training:
    return Training(tokens_per_s, updates=3, others=random.random(), threads=2, peak_memory_mb=memory)


@given(st.lists(st.tuples(POSITIVE, POSITIVE, POSITIVE, POSITIVE), min_size=1, max_size=7))
def test_ratios_are_those_of_neighbours(numbers: list[tuple[float, float, float, float]]) -> None:
    rounds = [(training(a, b), training(c, d)) for a, b, c, d in numbers]
    comparison = Comparison("Peer 1.0", "somehow", rounds)
    a, b, c, d = np.array(numbers).T
    ratios = a / c
    expected = [np.median(ratios), ratios.min(), ratios.max()]
    assert np.allclose([*vars(comparison.ratio("tokens_per_s")).values()], expected)
    assert np.allclose(comparison.medians("peak_memory_mb"), [np.median(b), np.median(d)])
    assert comparison.others == max(figures.others for both in rounds for figures in both)
    record = json.loads(json.dumps(comparison.record("tokens_per_s")))
    assert Spread(**record["ratio"]) == comparison.ratio("tokens_per_s")
    assert [(Training(**r["ours"]), Training(**r["peer"])) for r in record["rounds"]] == rounds


def test_tables_show_every_figure() -> None:
    rounds = [(training(4000, 600), training(1000, 800)), (training(9000, 600), training(1000, 800))]
    shown = tables.training_table([Comparison("Peer 1.0", "no input feeding", rounds)])
    assert len({len(line) for line in shown.splitlines()}) == 1
    for cell in ("Peer 1.0", "no input feeding", "6,500", "1,000", "6.50 (4.00 to 9.00)", "0.75 (0.75 to 0.75)"):
        assert f" {cell} " in shown
    ours, peer = (
        Translation(rate, 9.0, 12.5, bleu, "BLEU|x", 0.0, 2, 500.0) for rate, bleu in ((50, 33.3), (10, 32.1))
    )
    comparisons = [Comparison("Peer 1.0", "greedy", [(ours, peer)])]
    shown = tables.translation_table(comparisons)
    for cell in ("greedy", "50.0", "10.0", "5.00 (5.00 to 5.00)", "33.30", "32.10", "12.50"):
        assert f" {cell} " in shown
    assert tables.signatures(comparisons) == ["BLEU|x"]


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0.5, 3)), min_size=40, max_size=60), st.integers(0, 5))
@settings(max_examples=20)
def test_the_meter_leaves_out_the_warm_up(updates: list[tuple[int, float]], warm_up: int) -> None:
    moments = [0.0, *accumulate(seconds for _, seconds in updates)]
    clock = iter(moments[warm_up:])
    counter = Meter(15.0, warm_up)

    def train() -> None:
        for tokens in accumulate((tokens for tokens, _ in updates), initial=0):
            counter.update(tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meter.time, "perf_counter", lambda: next(clock))
        patch.setattr(meter, "Usage", lambda: SimpleNamespace(end=lambda: SimpleNamespace(others=0.25)))
        with pytest.raises(Enough):
            train()
    end = next(i for i in range(len(moments)) if i > warm_up and moments[i] - moments[warm_up] >= 15.0)
    rate = sum(tokens for tokens, _ in updates[warm_up:end]) / sum(seconds for _, seconds in updates[warm_up:end])
    assert counter.figures == {"tokens_per_s": pytest.approx(rate), "updates": end - warm_up, "others": 0.25}


def test_others_are_those_whose_work_is_not_ours() -> None:
    usage, until = Usage(), perf_counter() + 0.5
    while perf_counter() < until:  # many of the kernel's ticks
        sum(range(10_000))
    assert 0 <= usage.end().others <= 1.05  # the kernel counts in ticks


def test_the_census_ends_with_the_epoch() -> None:
    census = Census(10)
    census.batch(6, 60, 0)
    with pytest.raises(Enough):
        census.batch(4, 50, 1)
    assert census.figures == {"sentences": 10, "tokens": 110, "unknown": 1}


def test_a_measurement_is_found_among_other_lines(capsys: pytest.CaptureFixture[str]) -> None:
    report({"seconds": 1.5, "others": 0.0}, threads=3)
    line = capsys.readouterr().out
    figures = measured(f"loading …\nMEASURED {{}}\n{line}the end\n", "it")
    assert figures.pop("peak_memory_mb") > 10
    assert figures == {"seconds": 1.5, "others": 0.0, "threads": 3}


def test_a_process_that_measures_nothing_is_an_error() -> None:
    with pytest.raises(NmtError, match=r"JoeyNMT training ended without a measurement; put that right"):
        measured("all is well\n", "JoeyNMT training")


def test_a_peer_that_reads_something_else_is_refused(toolkits: Toolkits, monkeypatch: pytest.MonkeyPatch) -> None:
    said = MARK + json.dumps({"sentences": 70, "tokens": 901, "unknown": 2})
    pretend(monkeypatch, said)
    with pytest.raises(NmtError, match=r"JoeyNMT 2\.3\.0 reads 901 tokens instead of 900, 2 unknown instead of 0 in "):
        toolkits.take_censuses()
    commands = pretend(monkeypatch, MARK + json.dumps({"sentences": 70, "tokens": 900, "unknown": 0}))
    toolkits.text.folder.mkdir()
    for _ in range(2):
        toolkits.take_censuses()
    assert [command[2:4] for command in commands] == [[f"bench.peers.run_{key}", "count"] for key in PEERS]


def test_our_own_other_tokens_are_refused(toolkits: Toolkits, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, MARK + json.dumps({"src_pieces": 49, "tgt_pieces": 1}))
    with pytest.raises(NmtError, match=r"our model reads 49 pieces of .* instead of 50; delete .*reference and run"):
        toolkits.translate(None, beam=5, shortlist=False)


def test_a_missing_translation_is_an_error(toolkits: Toolkits, monkeypatch: pytest.MonkeyPatch) -> None:
    (toolkits.place.multi30k / "test_2016_flickr.de").write_text("eins\nzwei\n")
    monkeypatch.setattr(Toolkits, "translate_ours", lambda *_: (["eins"], 1, {"seconds": 1.0}))
    with pytest.raises(NmtError, match=r"1 translations of 2 sentences, in .*translations; put that right"):
        toolkits.translate(None, beam=5, shortlist=False)


def test_what_failed_is_done_again_and_what_is_done_is_not(place: Workplace) -> None:
    calls = []

    def work(fails: bool) -> None:
        calls.append(fails)
        if fails:
            raise NmtError("no network")

    made = place.folder / "made"
    made.touch()
    with pytest.raises(NmtError, match="no network"):
        place.once("step", "1", made, lambda: work(True))
    for contents in ("1", "1", "2", "2"):
        place.once("step", contents, made, lambda: work(False))
    assert calls == [True, False, False]
    made.unlink()
    place.once("step", "2", made, lambda: work(False))
    assert calls == [True, False, False, False]


def test_processes_that_fail_say_why_in_one_line(place: Workplace) -> None:
    code = "import sys; print('ERROR: no such package'); print('note: pip is old'); sys.exit(3)"
    with pytest.raises(NmtError) as caught:
        place.run("setting up Peer", "pip", [sys.executable, "-c", code])
    assert str(caught.value).startswith("setting up Peer ended with code 3 (ERROR: no such package), log ")
    assert "\n" not in str(caught.value)
    with pytest.raises(
        NmtError, match=r"setting up Peer: cannot start .*nowhere \(No such file or directory\); put that"
    ):
        place.run("setting up Peer", "pip", [place.folder / "nowhere"])


def test_a_process_sees_our_threads_and_no_gpu(place: Workplace) -> None:
    code = (
        "import os; print(*(os.environ[k] for k in ('OMP_NUM_THREADS', 'CUDA_VISIBLE_DEVICES', 'PYTHONPATH')), sep='|')"
    )
    said = place.run("it", "it", [sys.executable, "-c", code], path="there")
    assert said == f"{torch.get_num_threads()}||there\n"


def test_the_last_line_is_the_reason_where_there_is_no_error() -> None:
    assert environments.reason("one\ntwo\n\n") == "two"
    assert environments.reason("a.b.ModuleNotFoundError: x\n at y\n") == "a.b.ModuleNotFoundError: x"
    assert environments.reason("") == "it said nothing"


@pytest.mark.parametrize("key", PEERS)
def test_an_environment_that_was_interrupted_is_completed(
    key: str, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = place.folder / "site"
    patch = PEERS[key].patch
    (site / patch.file).parent.mkdir(parents=True)
    (site / patch.file).write_text(f"before {patch.old} after")
    place.python(key).parent.mkdir(parents=True)
    place.python(key).touch()

    def broken(place: Workplace, what: str, name: str, command: list[object], path: str | None = None) -> str:
        raise NmtError("no network")

    monkeypatch.setattr(Workplace, "run", broken)
    with pytest.raises(NmtError, match="no network"):
        environments.set_up(place, key)
    commands = pretend(monkeypatch, f"{site}\n")
    for _ in range(2):
        environments.set_up(place, key)
    assert (site / patch.file).read_text() == f"before {patch.new} after"
    installed = [command for command in commands if "install" in command]
    assert len(installed) == len(PEERS[key].installs)  # once
    assert all(command[-1].startswith("torch==2") for command in installed if "--no-deps" not in command)


def test_torch_may_come_from_an_index_of_its_own(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "apply", lambda *_: None)
    commands = pretend(monkeypatch, "site")
    environments.set_up(Workplace(place.folder, place.multi30k, "https://index.example"), "joeynmt")
    assert ["https://index.example" in command for command in commands if "install" in command] == [True, False]


def test_patches_fit_or_say_so(tmp_path: Path) -> None:
    patch = Patch("a.py", "old(", "new(")
    with pytest.raises(NmtError, match=r"no a\.py in .*; delete that environment and run this again"):
        environments.apply(patch, tmp_path)
    (tmp_path / "a.py").write_text("x = old(1)")
    for _ in range(2):
        environments.apply(patch, tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = new(1)"
    (tmp_path / "a.py").write_text("x = other(1)")
    with pytest.raises(NmtError, match=r"a\.py is not as the patch for it expects; delete that environment"):
        environments.apply(patch, tmp_path)


def test_the_text_of_the_peers_comes_back(tmp_path: Path) -> None:
    pairs = [(f"{a}\xa0{a}", f"{b}\xa0\u2003{b} € ") for a, b in make_pairs(60)]
    prepared = prepare(
        text_data(tmp_path, pairs, dev_size=5, test_size=5), tokenizer_config(vocab_size=320), tmp_path / "cache"
    )
    tokenizer = prepared.tokenizers.src
    write_text(prepared, tokenizer, tmp_path / "text")
    text = Text(tmp_path / "text", "", 0, 0, 0, tokenizer)
    for split in SPLITS:
        table = getattr(prepared, split)
        for side in ("src", "tgt"):
            lines = (tmp_path / "text" / f"{split}.{side}").read_text("utf-8").splitlines()
            assert text.decode(lines) == [tokenizer.decode(ids) for ids in table[f"{side}_ids"]]
            assert [len(line.split()) for line in lines] == [len(ids) for ids in table[f"{side}_ids"]]
            assert not any("\xa0" in line for line in lines)
    for key, special in (("joeynmt", 4), ("opennmt", 0)):
        words = (tmp_path / "text" / f"vocabulary.{key}").read_text("utf-8").splitlines()
        assert len({word.split()[0] for word in words}) == len(words) == tokenizer.vocab_size - 4 + special


def test_converted_weights_are_the_same_function(tmp_path: Path) -> None:
    pieces, size = ["a", "b", "c"], 6
    known = ["<unk>", "<blank>", "<s>", "</s>", "c", "a", "b"]
    names = ["encoder.embeddings.make_embedding.emb_luts.0", "decoder.embeddings.make_embedding.emb_luts.0"]
    weights = {f"{name}.weight": torch.randn(len(known), 3) for name in names}
    weights |= {"decoder.attn.linear_in.weight": torch.randn(size, size), "encoder.rnn.bias_hh_l0": torch.randn(4)}
    weights |= {"decoder.attn.linear_out.weight": torch.randn(size, 2 * size)}
    output = torch.randn(len(known), size)
    torch.save({"model": weights, "generator": {"weight": output}, "vocab": {"src": known}}, tmp_path / "a")
    (tmp_path / "v").write_text("".join(f"{piece}\n" for piece in ["<unk>", "<pad>", "<s>", "</s>", *pieces]))
    joeynmt_weights.main(tmp_path / "a", tmp_path / "v", tmp_path / "b")
    converted = torch.load(tmp_path / "b")["model_state"]
    state, context = torch.randn(2, size)
    ours = converted["decoder.att_vector_layer.weight"] @ torch.cat([state, context])
    assert torch.allclose(ours, weights["decoder.attn.linear_out.weight"] @ torch.cat([context, state]), atol=1e-5)
    assert torch.equal(converted["trg_embed.lut.weight"][4:], weights[f"{names[1]}.weight"][[5, 6, 4]])
    assert torch.equal(converted["decoder.output_layer.weight"][1], output[1])
    assert torch.equal(converted["encoder.rnn.bias_hh_l0"], weights["encoder.rnn.bias_hh_l0"])


def test_our_training_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Trainer, "update", Trainer.update)  # brought back after the test
    data = corpus(tmp_path / "data")
    files = [f"data.train.{side}={data / 'train'}.{side}" for side in ("src", "tgt")]
    small = ["tokenizer.vocab_size=320", "model.d_embed=8", "encoder.d_hidden=8", "decoder.d_hidden=8"]
    rest = ["train.precision=fp32", "train.batch_tokens=300", f"runs_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}"]
    assert run_nmt.train(Meter(0.1, 2), ["data=text", *files, *small, *rest, "name=x"]) == 0
    figures = measured(capsys.readouterr().out, "ours")
    assert figures["tokens_per_s"] > 0
    assert figures["updates"] >= 1


def test_our_translation_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Translator, "translate", Translator.translate)
    run = make_run(tmp_path / "run")
    lines = sentences(9)
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    output = tmp_path / "out"
    assert run_nmt.translate([f"model={run}", f"input={tmp_path / 'in'}", f"output={output}", "precision=fp32"]) == 0
    figures = measured(capsys.readouterr().out, "ours")
    tokenizer = Translator.load(run).tokenizers.src
    assert len(output.read_text("utf-8").splitlines()) == len(lines)
    assert figures["src_pieces"] == sum(map(len, tokenizer.encode_batch(lines)))
    assert figures["tgt_pieces"] > 0
    assert figures["seconds"] > 0


def test_measurements_take_turns() -> None:
    order: list[str | None] = []

    def run(key: str | None) -> Training:
        order.append(key)
        return training(1.0, 1.0)

    assert len(compare.in_turn(run, "joeynmt", 3, "tokens_per_s")) == 3
    assert order == [None, "joeynmt"] * 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--peers", "joeynmt,marian"],
            "error: no peer 'marian' in --peers joeynmt,marian; choose from: joeynmt, opennmt",
        ),
        ([], "error: no train.en in --multi30k {folder}; name the folder with train, val and test_2016_flickr"),
    ],
)
def test_mistakes_are_one_line(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", PARTS, ["peers", "--multi30k", str(tmp_path), *words]) == 2
    assert capsys.readouterr().err == says.format(folder=tmp_path) + "\n"


def test_a_work_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stem in SPLITS.values():
        for side in ("en", "de"):
            (tmp_path / f"{stem}.{side}").touch()
    work = tmp_path / "train.en" / "work"
    assert run("bench", PARTS, ["peers", "--multi30k", str(tmp_path), "--work", str(work)]) == 2
    assert capsys.readouterr().err == f"error: cannot make --work {work} (Not a directory); name another folder\n"


def test_an_incomplete_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    with pytest.raises(DataError, match=r"no train\.de in --multi30k"):
        require_corpus(tmp_path)
