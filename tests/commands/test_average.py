"""`nmt average`: the weighted mean of runs that began with the same weights, and a refusal of all others."""

import shutil
from pathlib import Path

import pytest
import torch
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import make_run, sentences

from nmt.cli.main import main
from nmt.commands.average import cosine, mean
from nmt.data.train_tokenizers import train_tokenizer
from nmt.runs.folder import load_model, seen_file
from nmt.runs.tensors import read_tensors, write_tensors
from nmt.translation.translator import Translator


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def tuned(first: Path) -> Path:
    return changed(first, first.parent / "tuned", 0.1)


def changed(run: Path, folder: Path, size: float) -> Path:
    """A copy of the run with other weights; `size` of the change beside the weights."""
    shutil.copytree(run, folder)
    generator = torch.Generator().manual_seed(1)
    tensors = read_tensors(run / "model.safetensors")
    write_tensors(
        folder / "model.safetensors",
        {
            name: tensor + size * tensor.std(unbiased=False) * torch.randn(tensor.shape, generator=generator)
            for name, tensor in tensors.items()
        },
    )
    return folder


def average(tmp_path: Path, *words: str) -> int:
    return main(["average", f"runs_dir={tmp_path}", "name=mean", *words])


@pytest.mark.parametrize(
    ("weights", "shares"), [("", (0.5, 0.5)), ("weights=[1,9]", (0.1, 0.9)), ("weights=[2,0]", (1, 0))]
)
def test_weights_are_the_mean(
    first: Path,
    tuned: Path,
    tmp_path: Path,
    weights: str,
    shares: tuple[float, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert average(tmp_path, f"model=[{first},{tuned}]", *filter(None, [weights])) == 0
    ours, theirs, found = (read_tensors(run / "model.safetensors") for run in (first, tuned, tmp_path / "mean"))
    assert found.keys() == ours.keys()
    for name, tensor in found.items():
        expected = shares[0] * ours[name].double() + shares[1] * theirs[name].double()
        assert torch.equal(tensor, expected.float())
    said = capsys.readouterr().err
    assert f"{shares[0]:.0%} {first}, {shares[1]:.0%} {tuned}" in said
    assert f"next: nmt evaluate model={tmp_path}/mean" in said


def test_the_new_run_translates_and_knows_what_all_were_trained_on(first: Path, tuned: Path, tmp_path: Path) -> None:
    assert average(tmp_path, f"model=[{first},{tuned},{first}]") == 0
    run = tmp_path / "mean"
    assert load_model(run).config.name == "mean"
    assert seen_file(run).read_bytes() == b"".join(seen_file(each).read_bytes() for each in (first, tuned, first))
    assert Translator.load(run, device="cpu").translate(["a b"])
    assert main(["status", f"model={run}"]) == 0


def test_mean_and_cosine_are_those_of_the_whole_vector() -> None:
    left, right = ({"a": torch.randn(3, 4), "b": torch.randn(5)} for _ in range(2))
    flat = [torch.cat([each["a"].flatten(), each["b"]]) for each in (left, right)]
    assert cosine(left, right) == pytest.approx(torch.cosine_similarity(*flat, dim=0).item(), abs=1e-6)
    assert torch.allclose(mean([left, right], [0.3, 0.7])["a"], torch.lerp(left["a"], right["a"], 0.7))
    assert mean([{"a": torch.ones(2, dtype=torch.bfloat16)}] * 2, [0.5, 0.5])["a"].dtype == torch.bfloat16
    assert cosine({"a": torch.zeros(2)}, {"a": torch.zeros(2)}) == 1


def test_what_has_no_mean_is_refused(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = make_run(tmp_path / "wide", attention="additive")
    other = make_run(tmp_path / "other", seed=1)
    texts = iter(sentences(200, 9))
    tokenizer = train_tokenizer(texts, tokenizer_config("bpe", vocab_size=330, byte_fallback=True), 1, [])
    monkeypatch.setattr("helpers.small_runs.small_tokenizer", lambda: tokenizer)
    pieces = make_run(tmp_path / "pieces")
    for words, message in (
        ([f"model=[{first},{wide}]"], f"{wide} has weights of other names or sizes than {first}; only runs that began"),
        ([f"model=[{first},{pieces}]"], f"{pieces} has another src tokenizer than {first}; only runs that began"),
        ([f"model=[{first},{other}]"], f"the weights of {other} have little to do with those of {first} (cosine 0.0"),
        ([f"model=[{first}]"], "names fewer than two runs; give a list of them"),
        ([f"model=[{first},{first}]", "weights=[1]"], "weights=[1] has 1 number, model names 2 runs; give one for"),
        ([f"model=[{first},{first}]", "weights=[0,0]"], "weights=[0, 0] cannot be shares; give numbers of 0 or"),
        ([f"model=[{first},{first}]", "weights=[-1,2]"], "weights=[-1, 2] cannot be shares; give numbers of 0"),
        ([f"model=[{first},{tmp_path}/none]"], "none is not a folder; give a run folder"),
    ):
        assert average(tmp_path, *words) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "mean").exists()


def test_a_run_that_is_there_stays(first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(first, tmp_path / "mean")
    before = (tmp_path / "mean" / "model.safetensors").read_bytes()
    assert average(tmp_path, f"model=[{first},{first}]") == 2
    assert "mean already holds a run; " in capsys.readouterr().err
    assert (tmp_path / "mean" / "model.safetensors").read_bytes() == before
