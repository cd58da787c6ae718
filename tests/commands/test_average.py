"""`nmt average`: the weighted mean of runs that began with the same weights, and a refusal of all others."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import CHINESE, make_run, sentences

from nmt.cli.main import main
from nmt.commands.average import cosine, mean
from nmt.data.letter_case import LetterCase
from nmt.data.train_hashes import hashes, seen
from nmt.data.train_tokenizers import train_tokenizer
from nmt.runs.folder import load_model, seen_file
from nmt.runs.learned import Learned, write_learned
from nmt.runs.parts_of_mean import read_parts
from nmt.runs.tensors import read_tensors, write_tensors
from nmt.translation.translator import Translator


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "seen").write_bytes(hashes(["a"], ["b"]).tobytes())
    return make_run(folder / "first", letter_case=LetterCase({"hund": "Hund", "mann": "Mann"}), known=[folder / "seen"])


@pytest.fixture(scope="module")
def tuned(first: Path) -> Path:
    """The same weights with noise of a tenth of their size; everything else is different."""
    (first.parent / "more").write_bytes(hashes(["c"], ["d"]).tobytes())
    run = make_run(
        first.parent / "tuned",
        letter_case=LetterCase({"hund": "HUND"}), usual_sentences=3, known=[first.parent / "more"], beam=2,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    tensors = read_tensors(run / "model.safetensors")
    noise = {name: torch.randn(tensor.shape, generator=generator) for name, tensor in tensors.items()}
    write_tensors(
        run / "model.safetensors",
        {name: tensor + 0.1 * tensor.std(unbiased=False) * noise[name] for name, tensor in tensors.items()},
    )
    return run


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
    flat = [torch.cat([tensor.flatten() for _, tensor in sorted(each.items())]).double() for each in (ours, theirs)]
    assert f"{tuned} and {first}: cosine of the weights {torch.cosine_similarity(*flat, dim=0):.3f}\n" in said


def test_the_new_run_is_the_last_one_with_what_all_have_learned(
    first: Path, tuned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert average(tmp_path, f"model=[{first},{tuned}]", "weights=[1,3]") == 0
    run = tmp_path / "mean"
    found = load_model(run)
    assert (found.config.name, found.config.search.beam, found.usual_sentences) == ("mean", 2, 3)
    assert found.letter_case.forms == {"hund": "HUND", "mann": "Mann"}
    assert seen(seen_file(run), ["a", "c", "e"], [["b", "d", "f"]]).exact == 2
    assert [(part.model, part.share) for part in read_parts(run)] == [(str(first), 0.25), (str(tuned), 0.75)]
    assert [part.checksum for part in read_parts(run)] == [load_model(each).checksum for each in (first, tuned)]
    assert Translator.load(run, device="cpu").translate(["a b"])
    capsys.readouterr()
    assert main(["status", f"model={run}"]) == 0
    assert f"mean of   25% {first}, 75% {tuned}\n" in capsys.readouterr().out
    (run / "model.safetensors").unlink()
    assert main(["status", f"model={run}"]) == 2
    assert f"{run}/model.safetensors is missing; " in capsys.readouterr().err


def test_a_part_that_has_learned_nothing_is_told(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(first, tmp_path / "weak")
    write_learned(tmp_path / "weak", Learned(0.1, 5.0, 5.0, 6.0, 5.0, 30, 10, 20, 0.9, 0.0))
    assert average(tmp_path, f"model=[{first},{tmp_path}/weak]") == 0
    assert f"caution: {tmp_path}/weak: the model has learned next to nothing: " in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "3", '[{"model": "a"}]', '[{"model": "a", "checksum": "b", "share": "x"}]'])
def test_a_damaged_record_of_the_parts_is_one_line(
    first: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(first, tmp_path / "run")
    (tmp_path / "run" / "average.json").write_text(content)
    assert main(["status", f"model={tmp_path}/run"]) == 2
    assert "average.json is not what nmt writes; restore it from a copy, or delete it" in capsys.readouterr().err


def test_mean_and_cosine_are_those_of_the_whole_vector() -> None:
    left, right = ({"a": torch.randn(3, 4), "b": torch.randn(5)} for _ in range(2))
    flat = [torch.cat([each["a"].flatten(), each["b"]]) for each in (left, right)]
    assert cosine(left, right) == pytest.approx(torch.cosine_similarity(*flat, dim=0).item(), abs=1e-6)
    assert torch.allclose(mean([left, right], [0.3, 0.7])["a"], torch.lerp(left["a"], right["a"], 0.7))
    assert mean([{"a": torch.ones(2, dtype=torch.bfloat16)}] * 2, [0.5, 0.5])["a"].dtype == torch.bfloat16
    assert cosine({"a": torch.zeros(2)}, {"a": torch.zeros(2)}) == 1


@pytest.mark.slow
def test_what_has_no_mean_is_refused(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    additive = make_run(tmp_path / "additive", attention="additive")
    french = make_run(tmp_path / "french", data={"src_lang": "fr"})
    target = make_run(tmp_path / "target")
    other = make_run(tmp_path / "other", seed=1)
    texts = iter(sentences(200, 9) + sentences(200, 9, CHINESE[::-1], ""))
    tokenizer = train_tokenizer(texts, tokenizer_config("bpe", vocab_size=340, byte_fallback=True), 1, [])
    monkeypatch.setattr("helpers.small_runs.small_tokenizer", lambda: tokenizer)
    pieces = make_run(tmp_path / "pieces")
    manifest = json.loads((target / "manifest.json").read_text())
    (target / "tgt.spm").write_bytes(tokenizer.bytes)
    manifest["sha256"]["tgt.spm"] = hashlib.sha256(tokenizer.bytes).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest))
    for words, message in (
        (
            [f"model=[{first},{additive}]"],
            f"{additive} has attention.class=Additive, and {first} has General; only runs",
        ),
        (
            [f"model=[{first},{french}]"],
            f"{french} has data.src_lang=fr, and {first} has en; only runs that began with",
        ),
        ([f"model=[{first},{target}]"], f"{target} has another tgt tokenizer than {first}; only runs that began"),
        ([f"model=[{first},{first}]", "weights=[1e308,1e308]"], "1e+308] cannot be shares; give numbers of 0 or more"),
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


@pytest.mark.parametrize("there", ["a run", "another file", "a link"])
def test_what_is_there_stays(first: Path, tmp_path: Path, there: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "mean"
    if there == "a run":
        shutil.copytree(first, place)
    elif there == "another file":
        place.mkdir()
        (place / "note").write_text("mine")
    else:
        (tmp_path / "empty").mkdir()
        place.symlink_to(tmp_path / "empty")
    before = sorted(path.name for path in place.iterdir())
    assert average(tmp_path, f"model=[{first},{first}]") == 2
    assert f"error: {place} is there already; name a new or empty folder, or delete it\n" in capsys.readouterr().err
    assert sorted(path.name for path in place.iterdir()) == before
