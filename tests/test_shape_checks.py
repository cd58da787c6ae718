"""With --shapes, a wrong shape is refused, and training and use pass with every shape checked."""

import io
from pathlib import Path

import jaxtyping
import pytest
import torch
from helpers.comparisons import words, write_splits

from nmt.cli.main import main
from nmt.model.scores import Dot


@pytest.fixture(autouse=True)
def _shapes(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("shapes"):
        pytest.skip("shapes are checked with --shapes")


def test_a_wrong_shape_is_refused_here() -> None:
    score, query, keys = Dot(4, 4), torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
    assert score(query, keys).shape == (2, 3, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        score(query, keys[:1])  # torch would repeat the keys of one sentence for the other


def test_what_is_trained_is_used_with_every_shape_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_splits(tmp_path / "data")
    run, fast = "model=runs/run", ["precision=fp32", "device=cpu"]
    text = "".join((data / "test.src").read_text().splitlines(True)[:2])
    files = [f"src={data}/test.src", f"tgt={data}/test.tgt"]
    assert main(["train", *words(data, tmp_path / "runs"), "name=run", "attention=multi_head"]) == 0
    assert main(["train", "resume=runs/run", "train.max_updates=7", "resume_with=train.max_updates"]) == 0
    assert main(["shortlist", run, *fast]) == 0
    for verb, *more in (
        ["translate", "shortlist=true"], ["translate", "search=sample"], ["evaluate"], ["align", *files],
        ["visualise", "output=pictures"], ["interactive", "history=history"], ["status"],
    ):  # fmt: skip
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        capsys.readouterr()
        assert main([verb, run, *(fast if verb != "status" else []), *more]) == 0
        assert capsys.readouterr().out
