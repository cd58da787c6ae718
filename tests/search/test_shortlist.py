"""Lexical shortlists: the search under them, what is learned, the file in the run folder, and the command line."""

import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.models import ATTENTIONS, VOCAB, random_batch, small_model
from helpers.small_corpora import load_yaml, make_pairs
from helpers.small_runs import make_run, sentences
from helpers.small_transformers import model_of
from helpers.training_runs import corpus, start, tensors, write_corpus
from torch import Tensor

from nmt.cli.main import main
from nmt.config.check import read
from nmt.config.sections import SearchConfig
from nmt.data.batch import Batch, make_batch
from nmt.data.prepare import Prepared, prepare
from nmt.data.tokenizer import BOS, EOS, PAD, UNK
from nmt.errors import CheckpointError, ConfigError
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.folder import load_model
from nmt.runs.shortlist_file import SHORTLIST_FILE, read_shortlist, write_shortlist
from nmt.runs.tensors import parameters_of, write_tensors
from nmt.scoring.alignment import SPACE
from nmt.search.beam import search
from nmt.search.hypotheses import Hypothesis
from nmt.search.shortlist import SPECIAL, Shortlist, Shortlisted
from nmt.translation.learn_shortlist import Pairs, coverage, drawn_pairs, learn
from nmt.translation.translator import Translator

CFG = read(SearchConfig, load_yaml("search", "beam"), "search")
CFG = replace(CFG, beam=4, n_best=3, max_length_a=3.0, max_length_b=0.5)
MODELS: dict[str, Callable[[], Seq2Seq]] = {
    **{name: lambda name=name: small_model(name) for name in ATTENTIONS},
    "two layers, input feeding": lambda: small_model("general", layers=2, input_feeding=True),
    "tied": lambda: small_model("general", tie="all"),
    "transformer": model_of,
}
WHOLE = Shortlist(torch.full((VOCAB, 1), PAD), torch.arange(VOCAB), float(VOCAB))


def random_list(seed: int = 0, best: int = 2, frequent: int = 3) -> Shortlist:
    """A list that has nothing to do with the model."""
    random = torch.Generator().manual_seed(seed)
    table = torch.randint(0, VOCAB, (VOCAB, best), generator=random)
    return Shortlist(table, torch.randint(4, VOCAB, (frequent,), generator=random), 0.0)


def own(shortlist: Shortlist, src: Tensor) -> set[int]:
    """The pieces that the translation of one sentence may use, in plain Python."""
    pieces = {int(piece) for token in src.tolist() for piece in shortlist.best[token].tolist()}
    return pieces | set(shortlist.frequent.tolist()) | set(SPECIAL)


def searched(model: Seq2Seq, shortlist: Shortlist, batch: Batch, cfg: SearchConfig = CFG) -> list[list[Hypothesis]]:
    """What the translator makes of it: hypotheses in the numbers of the whole vocabulary."""
    listed = Shortlisted(model, shortlist, batch.src, batch.src_mask)
    found = search(listed, batch.src, batch.src_mask, cfg, None)
    return [[replace(h, tokens=listed.whole(h.tokens)) for h in hypotheses] for hypotheses in found]


@pytest.mark.parametrize("name", MODELS)
def test_with_the_whole_vocabulary_nothing_changes(name: str) -> None:
    model, batch = MODELS[name](), random_batch()
    beta = 0.2 if name != "none" else 0.0
    for cfg in (replace(CFG, beam=1, n_best=1), replace(CFG, no_repeat_ngram=2, coverage_penalty=beta)):
        whole = search(model, batch.src, batch.src_mask, cfg, None)
        for ours, theirs in zip(searched(model, WHOLE, batch, cfg), whole, strict=True):
            assert [h.tokens for h in ours] == [h.tokens for h in theirs]
            assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_has_the_scores_of_its_own_list(name: str) -> None:
    """Also in a batch: what the model gives each token among the sentence's own pieces, all others left out."""
    model, batch, shortlist = MODELS[name](), random_batch(), random_list()
    for row, hypotheses in enumerate(searched(model, shortlist, batch)):
        pieces = own(shortlist, batch.src[row][batch.src_mask[row]])
        bar = torch.tensor([0.0 if piece in pieces else -torch.inf for piece in range(VOCAB)])
        assert len(pieces) < VOCAB
        assert hypotheses
        for hypothesis in hypotheses:
            assert {*hypothesis.tokens} <= pieces - {PAD, BOS, EOS}
            given = batch.src[row][batch.src_mask[row]].tolist()[:-1]
            alone = make_batch([given], [hypothesis.tokens])
            with torch.no_grad():
                log_probs = (model.output(model(alone)) + bar).log_softmax(-1)
            expected = log_probs.gather(1, alone.tgt_out.T).sum()
            assert hypothesis.log_prob == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_a_translation_does_not_depend_on_its_batch_mates(seed: int) -> None:
    model, batch, shortlist = small_model(seed=seed), random_batch(seed, sentences=6), random_list(seed)
    together = searched(model, shortlist, batch)
    for row in range(len(batch.src)):
        alone = make_batch([batch.src[row][batch.src_mask[row]].tolist()[:-1]], [[]])
        [found] = searched(model, shortlist, alone)
        assert [h.tokens for h in found] == [h.tokens for h in together[row]]
        assert [h.score for h in found] == pytest.approx([h.score for h in together[row]], abs=1e-5)


def test_special_pieces_keep_their_numbers_and_an_empty_list_still_translates() -> None:
    empty = Shortlist(torch.full((VOCAB, 1), PAD), torch.zeros(0, dtype=torch.long), 0.0)
    batch = random_batch(sentences=6)
    for shortlist in (empty, random_list(), WHOLE):
        listed = Shortlisted(small_model(), shortlist, batch.src, batch.src_mask)
        assert tuple(listed.pieces[: len(SPECIAL)].tolist()) == SPECIAL == (PAD, UNK, BOS, EOS)
    for hypotheses in searched(small_model(), empty, batch):
        assert hypotheses
        assert all({*h.tokens} <= {UNK} for h in hypotheses)


@torch.no_grad()
def test_probabilities_of_a_model_in_bfloat16_are_in_float32() -> None:
    batch = random_batch(1)
    listed = Shortlisted(model_of().bfloat16(), WHOLE, batch.src, batch.src_mask)
    source, state = listed.start(batch.src, batch.src_mask, wants_weights=False)
    log_probs, _, _ = listed.step(torch.full((len(batch.src), 1), BOS), source, state)
    assert log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(len(log_probs)), atol=1e-5, rtol=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("data"), 120)


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few updates on 120 pairs, 10 of them dev; its sides share the vocabulary."""
    runs = tmp_path_factory.mktemp("runs")
    assert start(data, runs, train__validate_every=None) == 0
    return runs / "run"


def prepared_for(translator: Translator, cache: Path) -> Prepared:
    return prepare(translator.config.data, translator.config.tokenizer, cache, translator.tokenizers)


def linked(translator: Translator, rows: list[dict[str, Any]]) -> Counter[tuple[int, int]]:
    """Each target piece with the source piece that it attends to most, one pair at a time."""
    found: Counter[tuple[int, int]] = Counter()
    for row in rows:
        [weights] = translator.forced([row["src_ids"]], [row["tgt_ids"]])[1]
        for piece, attention in zip(row["tgt_ids"], weights.mean((0, 1)), strict=True):
            found[row["src_ids"][int(attention.argmax())], piece] += 1
    return found


@pytest.mark.slow
def test_what_is_learned_is_what_slow_counting_finds(trained: Path, data: Path) -> None:
    translator = Translator.load(trained, device="cpu", precision="fp32")
    split = prepared_for(translator, data / "cache").train
    pairs = drawn_pairs(split, None, 1)
    shortlist = learn(translator, pairs, best=3, frequent=5)
    found = linked(translator, list(split))
    occurrences = Counter(piece for row in split for piece in row["tgt_ids"])
    assert len(shortlist.frequent) == 5
    least = min(occurrences[piece] for piece in shortlist.frequent.tolist())
    assert [n for _, n in occurrences.most_common(5)][-1] == least
    for piece, (*learned, itself) in enumerate(shortlist.best.tolist()):
        assert itself == piece
        counts = {tgt: n for (src, tgt), n in found.items() if src == piece}
        expected = sorted(counts, key=lambda tgt: (-counts[tgt], tgt))[:3]
        assert learned == expected + [PAD] * (3 - len(expected))
    sizes, held = [], []
    for row in split:
        pieces = own(shortlist, torch.tensor([*row["src_ids"], EOS]))
        sizes.append(len(pieces))
        held += [piece in pieces for piece in row["tgt_ids"]]
    found_sizes, found_held = coverage(shortlist, pairs, translator.tokenizers.tgt.vocab_size)
    assert found_sizes == pytest.approx(sum(sizes) / len(sizes))
    assert found_held == pytest.approx(sum(held) / len(held))


def test_links_are_merged_and_pairs_are_drawn_the_same_every_time(
    trained: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(trained, device="cpu", precision="fp32")
    split = prepared_for(translator, data / "cache").train
    once = learn(translator, drawn_pairs(split, 40, 1), best=3, frequent=5)
    monkeypatch.setattr("nmt.translation.learn_shortlist.PENDING", 1)
    monkeypatch.setattr("nmt.translation.learn_shortlist.TOKENS", 64)
    again = learn(translator, drawn_pairs(split, 40, 1), best=3, frequent=5)
    assert torch.equal(once.best, again.best)
    assert torch.equal(once.frequent, again.frequent)
    rows = drawn_pairs(split, 40, 1).rows.tolist()
    assert len(set(rows)) == 40
    assert rows == sorted(rows)
    assert rows != list(range(40))
    every = drawn_pairs(split, None, 1)
    few = Pairs(every.src, every.tgt, drawn_pairs(split, 40, 1).rows, 1)
    assert coverage(once, few, 60) == coverage(once, drawn_pairs(split, 40, 1), 60)
    assert rows != drawn_pairs(split, 40, 2).rows.tolist()
    assert len(drawn_pairs(split, 1000, 1).rows) == len(split)


def listed_run(folder: Path, frequent: int = 60) -> Path:
    """A run of a random model, with a shortlist of its most frequent pieces."""
    make_run(folder)
    loaded = load_model(folder)
    sizes = loaded.tokenizers.src.vocab_size, loaded.tokenizers.tgt.vocab_size
    shortlist = Shortlist(torch.arange(sizes[0])[:, None], torch.arange(sizes[1] - frequent, sizes[1]), 412.4)
    write_shortlist(folder, shortlist, loaded.checksum)
    return folder


def test_the_file_holds_what_was_written(tmp_path: Path) -> None:
    loaded = load_model(listed_run(tmp_path / "run"))
    found = read_shortlist(tmp_path / "run", loaded, "auto")
    assert found is not None
    assert torch.equal(found.best, torch.arange(len(found.best))[:, None])
    assert found.candidates == pytest.approx(412.4)
    assert read_shortlist(tmp_path / "run", loaded, False) is None
    assert read_shortlist(make_run(tmp_path / "other"), loaded, "auto") is None


def test_a_translator_uses_it_and_forced_scores_do_not(tmp_path: Path) -> None:
    run = listed_run(tmp_path / "run", frequent=10)
    listed, full = (Translator.load(run, device="cpu", precision="fp32", shortlist=use) for use in ("auto", False))
    assert listed.shortlist is not None
    assert full.shortlist is None
    texts = sentences(5, seed=3)
    found = listed.translate(texts, attention=True)
    assert [t.text for t in found] != [t.text for t in full.translate(texts)]
    pieces = listed.tokenizers.tgt
    frequent = set(pieces.pieces(listed.shortlist.frequent.tolist())) | set(pieces.pieces(SPECIAL))
    for translation in found:
        assert {*translation.tgt_pieces} <= {*translation.src_pieces} | frequent | {SPACE}  # where sentences are joined
        assert translation.attention is not None
        assert translation.attention.shape[-2:] == (len(translation.tgt_pieces), len(translation.src_pieces))
    targets = [t.text for t in found]
    assert listed.forced_scores(texts, targets) == full.forced_scores(texts, targets)
    sampling = replace(listed.settings, sample=True)
    assert listed.translate(texts, settings=sampling) == full.translate(texts, settings=sampling)


def test_other_weights_and_damage_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = listed_run(tmp_path / "run")
    path, loaded = run / SHORTLIST_FILE, load_model(run)
    good = tensors(path)
    moved = {name: value + 1 for name, value in parameters_of(loaded.model).items()}
    write_tensors(run / "model.safetensors", moved)
    assert read_shortlist(run, load_model(run), "auto") is None
    assert capsys.readouterr().err == (
        f"note: {path} was learned with other weights than those of {run}/model.safetensors and is not used; "
        f"make it anew with nmt shortlist model={run}\n"
    )
    with pytest.raises(CheckpointError, match=r"other weights .* shortlist=true; make it anew with nmt shortlist"):
        read_shortlist(run, load_model(run), True)
    wrong: dict[str, dict[str, Tensor]] = {
        "fewer tensors": {"best": good["best"]},
        "another vocabulary": good | {"best": good["best"][1:]},
        "pieces that do not exist": good | {"frequent": good["frequent"] + 1},
        "pieces below 0": good | {"best": good["best"] - 1},
        "no numbers of pieces": good | {"best": good["best"].float(), "frequent": good["frequent"].float()},
        "another shape": good | {"best": good["best"][0]},
    }
    for content in wrong.values():
        write_tensors(path, content)
        for use in ("auto", True):
            with pytest.raises(CheckpointError, match="does not hold a shortlist of this model's pieces; make it anew"):
                read_shortlist(run, loaded, use)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match=f"{SHORTLIST_FILE} is damaged; make it anew with nmt shortlist model="):
        read_shortlist(run, loaded, "auto")
    assert read_shortlist(run, loaded, False) is None
    path.unlink()
    with pytest.raises(
        ConfigError, match=f"shortlist=true, but .*{SHORTLIST_FILE} does not exist; create it with nmt shortlist"
    ):
        read_shortlist(run, loaded, True)


def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str, int]:
    """What a command prints on both streams, three sentences on its standard input, and its exit code."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Dea 12\nBad 12\n\n")))
    code = main(words)
    return *capsys.readouterr(), code


@pytest.mark.slow
def test_the_verb_learns_and_the_others_use_it(
    trained: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, "run")
    (Path("run") / "learned.json").unlink()  # a caution, and rightly
    capsys.readouterr()
    words = ["model=run", "device=cpu", "precision=fp32", "workers=1"]
    here = [*words, f"cache_dir={data / 'cache'}"]
    out, err, code = typed(monkeypatch, capsys, "shortlist", *here, "best=4", "frequent=6")
    assert (out, code) == ("", 0)
    assert err.count("\n") == 1
    assert "of 60 pieces; they hold" in err
    assert "of the dev targets; 110 pairs read in" in err
    assert err.endswith(f"it is in run/{SHORTLIST_FILE}\n")
    assert not list(Path("run").glob(".*writing"))
    path = Path("run") / SHORTLIST_FILE
    first = {name: tensor.clone() for name, tensor in tensors(path).items()}  # not the mapped file
    translator = Translator.load("run", device="cpu", precision="fp32")
    assert translator.shortlist is not None
    assert translator.shortlist.best.shape == (60, 5)
    about = f"shortlist (about {translator.shortlist.candidates:.0f} of 60 pieces)"
    out, err, code = typed(monkeypatch, capsys, "translate", *words)
    assert (out.count("\n"), err, code) == (3, f"fp32, 1 worker, beam 1, {about}\n", 0)
    assert typed(monkeypatch, capsys, "translate", *words, "shortlist=true")[:2] == (out, err)
    assert typed(monkeypatch, capsys, "translate", *words, "shortlist=false")[1] == "fp32, 1 worker, beam 1\n"
    drawn = typed(monkeypatch, capsys, "translate", *words, "search=sample", "seed=5")
    assert drawn[1] == "fp32, 1 worker, 1 sample with seed=5\n"
    for use, expected in (("auto", True), ("false", False)):
        scored = ["evaluate", *here, "split=dev", "intervals=false", "output=out", f"shortlist={use}"]
        assert typed(monkeypatch, capsys, *scored)[1].startswith("fp32, 1 worker, beam 1" + f", {about}" * expected)
        assert json.loads(Path("out/scores.json").read_text())["shortlist"] is expected
    path.write_bytes(b"damaged")  # is put right by the verb that the message names
    assert typed(monkeypatch, capsys, "translate", *words)[2] == 2
    typed(monkeypatch, capsys, "shortlist", *here, "best=4", "frequent=6", "data.root=" + str(data))
    again = tensors(path)
    assert again.keys() == first.keys()
    for name, tensor in first.items():
        assert torch.equal(again[name], tensor), name
    out, err, code = typed(monkeypatch, capsys, "shortlist", *here, "sentences=30")
    assert "30 pairs read" in err


def test_a_corpus_without_dev_pairs_and_separate_vocabularies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, [("", "ab"), *make_pairs(60)])
    sizes = {"data__dev_size": 0, "tokenizer__joint": False, "train__max_updates": 2, "train__metric": "loss"}
    start(tmp_path, tmp_path / "runs", **sizes, data__filters__empty=False)
    run = tmp_path / "runs" / "run"
    capsys.readouterr()
    err = typed(monkeypatch, capsys, "shortlist", f"model={run}", f"cache_dir={tmp_path / 'cache'}", "best=2")[1]
    assert "of the training targets; 61 pairs read" in err
    assert Translator.load(run, shortlist=True).shortlist.best.shape[1] == 2


@pytest.mark.slow
def test_mistakes_get_one_line(
    trained: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = make_run(tmp_path / "blind", "none")
    here = f"model={trained}"
    for words, message in {
        ("shortlist", here, "best=0"): "best is 0; it must be at least 1 (target pieces kept",
        ("shortlist", here, "frequent=-1"): "frequent is -1; it must be at least 0 (most",
        ("shortlist", here, "sentences=0"): "sentences is 0; it must be at least 1, or null",
        ("shortlist", here, "bst=3"): "unknown key 'bst'; did you mean 'best'?",
        ("shortlist", here, "data.root=nowhere"): "file nowhere/train.src does not exist",
        ("shortlist", f"model={blind}"): f"the model has no attention to learn a shortlist from, model={blind}; name",
        ("shortlist", "model=nowhere"): "nowhere is not a folder",
        (
            "translate",
            here,
            "shortlist=true",
        ): "shortlist.safetensors does not exist; create it with nmt shortlist model",
        ("translate", here, "shortlist=ture"): "shortlist='ture' is not possible; did you mean 'true'?",
        ("translate", here, "shortlist=true", "search=sample"): "shortlist=true and search.sample=true are both given",
        ("align", here, "src=a", "tgt=b", "shortlist=true"): "unknown key 'shortlist'",
    }.items():
        out, err, code = typed(monkeypatch, capsys, *words)
        assert (out, code) == ("", 2)
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert message in err, words
