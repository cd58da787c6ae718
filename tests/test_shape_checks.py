"""Where shapes and types are checked follows from a test's folder and mark; training and use are checked once."""

import io
from pathlib import Path
from types import SimpleNamespace

import jaxtyping
import pytest
import torch
from helpers.comparisons import words, write_splits

from nmt.cli.main import main
from nmt.model.scores import Dot

TESTS = Path(__file__).parent
UNCHECKED = {"commands", "compare", "end_to_end", "robustness", "scripts", "tune"}


@pytest.mark.parametrize("marked", [False, True])
def test_the_name_of_a_test_decides_nothing(marked: bool, pytestconfig: pytest.Config) -> None:
    conftest = pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    assert conftest is not None
    before = jaxtyping.config.jaxtyping_disable
    found: dict[str, set[bool]] = {}
    try:
        for path in TESTS.rglob("test_*.py"):
            for name in (f"test_{number}" for number in range(16)):
                item = SimpleNamespace(path=path, name=name, get_closest_marker=lambda _: marked or None)
                conftest.pytest_runtest_setup(item)
                checked = not jaxtyping.config.jaxtyping_disable
                found.setdefault(path.relative_to(TESTS).parts[0], set()).add(checked)
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)
    assert found.keys() > UNCHECKED
    assert found == {folder: {not marked and folder not in UNCHECKED} for folder in found}


def test_a_wrong_shape_is_refused_here() -> None:
    score, query, keys = Dot(4, 4), torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
    assert score(query, keys).shape == (2, 3, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        score(query, keys[:1])  # torch would repeat the keys of one sentence for the other


@pytest.mark.whole_training
def test_a_wrong_shape_passes_where_whole_trainings_are_marked() -> None:
    assert Dot(4, 4)(torch.zeros(2, 3, 4), torch.zeros(1, 5, 4)).shape == (2, 3, 5)


@pytest.mark.slow
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
