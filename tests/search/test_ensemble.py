"""Several models that choose each token together: laws of their probabilities, and what users see of them."""

import json
import math
from pathlib import Path

import pytest
import torch
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import GERMAN, make_run, sentences

from nmt.cli.main import main
from nmt.data.batch import Batch, make_batch
from nmt.data.train_tokenizers import train_tokenizer
from nmt.errors import ConfigError
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.folder import load_model
from nmt.search.beam import search
from nmt.search.ensemble import Ensemble, member_layers
from nmt.translation.translator import Translator

FAST = ["device=cpu", "precision=fp32", "workers=1"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three random models, the last without attention, over the same pieces."""
    folder = tmp_path_factory.mktemp("runs")
    kinds = {"a": "general", "b": "multi_head", "c": "none"}
    return [make_run(folder / name, kind, seed) for seed, (name, kind) in enumerate(kinds.items())]


@pytest.fixture(scope="module")
def models(runs: list[Path]) -> list[Seq2Seq]:
    return [load_model(run).model for run in runs]


@pytest.fixture
def pairs(runs: list[Path]) -> Batch:
    tokenizer = load_model(runs[0]).tokenizers.src
    src, tgt = (tokenizer.encode_batch(sentences(7, seed)) for seed in (1, 2))
    return make_batch(src, tgt)


@torch.no_grad()
def test_forced_probabilities_are_the_mean(models: list[Seq2Seq], pairs: Batch) -> None:
    together, _ = Ensemble(models).forced(pairs)
    each = torch.stack([model.forced(pairs)[0].exp() for model in models])
    torch.testing.assert_close(together.exp(), each.mean(0))
    assert (together[~pairs.tgt_mask] == 0).all()


@torch.no_grad()
def test_steps_are_forced_decoding(models: list[Seq2Seq], pairs: Batch) -> None:
    ensemble = Ensemble(models)
    forced, weights = ensemble.forced(pairs)
    source, state = ensemble.start(pairs.src, pairs.src_mask, wants_weights=True)
    for t in range(pairs.tgt_in.shape[1]):
        log_probs, attention, state = ensemble.step(pairs.tgt_in[:, t : t + 1], source, state)
        torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(len(log_probs)), atol=1e-5, rtol=0)
        real = pairs.tgt_mask[:, t]
        chosen = log_probs.gather(1, pairs.tgt_out[:, t, None])[:, 0]
        torch.testing.assert_close(chosen[real], forced[real, t])
        torch.testing.assert_close(attention[real, :, :, 0], weights[real, :, :, t])


@torch.no_grad()
def test_attention_has_a_layer_for_each_model_that_has_any(models: list[Seq2Seq], pairs: Batch) -> None:
    _, weights = Ensemble(models).forced(pairs)
    for layer, model in enumerate(models[:2]):
        torch.testing.assert_close(weights[:, layer, 0], model.forced(pairs)[1].mean((1, 2)))
    assert weights.shape[1:3] == (2, 1)
    assert Ensemble([models[2], models[2]]).forced(pairs)[1].shape[1] == 0


def test_without_any_attention_there_is_a_head_and_no_layer() -> None:
    assert member_layers([torch.zeros(2, 0, heads, 3, 5) for heads in (4, 1)]).shape == (2, 0, 1, 3, 5)


def test_copies_of_one_model_translate_like_it(runs: list[Path]) -> None:
    lines = sentences(9, 3)
    one, three = (Translator.load(given, device="cpu", precision="fp32") for given in (runs[1], [runs[1]] * 3))
    for mine, theirs in zip(one.translate(lines), three.translate(lines), strict=True):
        assert mine.text == theirs.text
        assert mine.score == pytest.approx(theirs.score, abs=1e-4)
    assert one.forced_scores(lines, lines) == pytest.approx(three.forced_scores(lines, lines), abs=1e-3)


@torch.no_grad()
def test_the_search_finds_what_is_likely_together(models: list[Seq2Seq], runs: list[Path], pairs: Batch) -> None:
    ensemble = Ensemble(models)
    settings = Translator.load(runs[0]).settings
    found = search(ensemble, pairs.src, pairs.src_mask, settings, None)
    best = [hypotheses[0] for hypotheses in found]
    src = [row[mask][:-1].tolist() for row, mask in zip(pairs.src, pairs.src_mask, strict=True)]
    forced, _ = ensemble.forced(make_batch(src, [hypothesis.tokens for hypothesis in best]))
    torch.testing.assert_close(forced.sum(1), torch.tensor([hypothesis.log_prob for hypothesis in best]))


def test_order_does_not_matter(runs: list[Path]) -> None:
    lines = sentences(5, 4)
    there, back = (
        Translator.load(given, device="cpu", precision="fp32").forced_scores(lines, lines)
        for given in (runs, runs[::-1])
    )
    assert there == pytest.approx(back, abs=1e-3)
    assert all(math.isfinite(score) for score in there)


@pytest.mark.slow
def test_words_of_the_command_line(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_text("".join(f"{line}\n" for line in sentences(4)))
    model = f"model=[{','.join(map(str, runs))}]"
    assert main(["translate", model, "input=in", "output=out", "sentences=keep", *FAST]) == 0
    assert capsys.readouterr().err == "3 models together, fp32, 1 worker, beam 5\n"
    expected = Translator.load(runs, device="cpu", precision="fp32", sentences="keep").translate(sentences(4))
    assert Path("out").read_text() == "".join(f"{translation.text}\n" for translation in expected)
    words = ["src=in", "ref=in", "intervals=false", f"compare_with={runs[1]}"]
    assert main(["evaluate", model, *words, *FAST]) == 0
    out, err = capsys.readouterr()
    assert f"first: {model.removeprefix('model=')}    second: {runs[1]}    (paired bootstrap)" in out
    assert "compare_with: fp32, 1 worker, beam 5\n" in err
    folder = runs[0] / "evaluations" / "in+b+c"
    assert json.loads((folder / "scores.json").read_text())["model"] == [str(run) for run in runs]
    assert (folder / "hypotheses.txt").read_bytes() == Path("out").read_bytes()


def test_other_pieces_are_refused(runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(sentences(200, 9, GERMAN[::-1]))
    pieces = train_tokenizer(texts, tokenizer_config("bpe", vocab_size=330, byte_fallback=True), 1, [])
    monkeypatch.setattr("helpers.small_runs.small_tokenizer", lambda: pieces)
    other = make_run(tmp_path / "other")
    with pytest.raises(ConfigError, match=r"other has another src tokenizer than .*/a; models that choose each token"):
        Translator.load([*runs, other])


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "model is an empty list; name one or more run folders, model=[runs/a,runs/b]"),
        (2, "shortlist=true, but several models have no common shortlist; leave it out, or name one model"),
    ],
)
def test_refusals(runs: list[Path], count: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = f"model=[{','.join(map(str, runs[:count]))}]"
    assert main(["translate", model, "shortlist=true", *FAST]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
