"""Updates in parts: any number of threads gives the same bits, and the parts together are the batch."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.models import NEEDS_BF16
from helpers.training_runs import corpus, metrics, resume, same, signals_after, start, tensors

from nmt.errors import ConfigError
from nmt.machine.signals import SAVED
from nmt.model import seq2seq

DRAWING = {"encoder__dropout": 0.3, "decoder__dropout": 0.2, "model__word_dropout": 0.1}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "precision"), [(2, "fp32"), (3, "fp32"), pytest.param(4, "bf16", marks=NEEDS_BF16)])
def test_any_number_of_threads_gives_the_same_bits(data: Path, tmp_path: Path, parts: int, precision: str) -> None:
    words = {"train__parts": parts, "train__precision": precision, "train__accumulate": 2, **DRAWING}
    words |= {"train__metric": "loss", "train__bleu_sentences": 0}  # translations take longer than the updates
    for threads in (1, 2, 4):
        assert start(data, tmp_path / str(threads), train__workers=threads, **words) == 0
    one, *others = (tmp_path / name / "run" for name in ("1", "2", "4"))
    for other in others:
        assert same(tensors(one / "model.safetensors"), tensors(other / "model.safetensors"))
        assert metrics(one) == metrics(other)


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_threads(data: Path, tmp_path: Path) -> None:
    words = {"train__parts": 3, **DRAWING}
    assert start(data, tmp_path / "whole", train__workers=1, **words) == 0
    with signals_after({6}):
        assert start(data, tmp_path / "halves", train__workers=3, **words) == SAVED
    assert resume(tmp_path / "halves" / "run", train__workers=2) == 0
    whole, halves = (tensors(tmp_path / name / "run" / "model.safetensors") for name in ("whole", "halves"))
    assert same(whole, halves)


@pytest.mark.parametrize("parts", [2, 5, 1000])
def test_the_parts_together_are_the_batch(data: Path, tmp_path: Path, parts: int) -> None:
    words = {"train__max_updates": 3, "train__validate_every": 3}
    assert start(data, tmp_path / "one", **words) == 0
    assert start(data, tmp_path / "many", train__parts=parts, **words) == 0
    one, many = (tensors(tmp_path / name / "run" / "model.safetensors") for name in ("one", "many"))
    for name, weight in one.items():
        torch.testing.assert_close(many[name], weight, rtol=1e-3, atol=1e-5)


def test_draws_that_threads_would_share_are_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seq2seq, "kept", lambda like, share: torch.empty_like(like).bernoulli_(share))
    assert start(data, tmp_path / "one", train__max_updates=1, train__workers=2, **DRAWING) == 0
    with pytest.raises(ConfigError, match=r"^a part of the model draws .*; draw with nmt.model.dropout, or set train"):
        start(data, tmp_path / "two", train__max_updates=1, train__workers=2, train__parts=2, **DRAWING)
