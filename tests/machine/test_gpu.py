"""A GPU computes what a processor does, the same bits each time; a run goes on there, and with its memory short."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.models import ATTENTIONS, random_batch, small_model
from helpers.small_runs import make_run, sentences
from helpers.small_transformers import model_of
from helpers.training_runs import assert_same, corpus, metrics, resume, run_config, same, signals_after, start, tensors

from nmt.machine.signals import SAVED
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import batch_loss
from nmt.training.step import Step, Stepper
from nmt.translation.translator import Translator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
GPU = torch.device("cuda")
DRAWING = {"encoder__dropout": 0.3, "decoder__dropout": 0.2, "model__word_dropout": 0.1}


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 products with all their bits: cuDNN may leave some out by default."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def losses_and_gradients(model: Seq2Seq, device: torch.device) -> list[torch.Tensor]:
    model.to(device).train().zero_grad()
    loss, nll = batch_loss(model, random_batch(3).to(device), 0.1, 1.0)
    torch.autograd.backward(loss)
    return [each.detach().cpu() for each in (loss, nll, *(p.grad for p in model.parameters() if p.grad is not None))]


@pytest.mark.parametrize("model", [*ATTENTIONS, "transformer", "gru", "feeding"])
def test_loss_and_gradients_are_those_of_a_processor(model: str) -> None:
    made = {
        "transformer": lambda: model_of(encoder="transformer", decoder="transformer"),
        "gru": lambda: small_model("general", cell="gru", layers=2),
        "feeding": lambda: small_model("additive", input_feeding=True),
    }.get(model, lambda: small_model(model, layers=2))()
    wanted, found = losses_and_gradients(made, torch.device("cpu")), losses_and_gradients(made, GPU)
    assert len(wanted) == len(found) > 5
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(other, one, atol=2e-4, rtol=2e-4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_has_the_same_bits_again_and_after_a_stop(data: Path, tmp_path: Path, precision: str) -> None:
    words = {"train__device": "cuda", "train__precision": precision, **DRAWING}
    assert start(data, tmp_path / "once", **words) == 0
    assert start(data, tmp_path / "again", **words) == 0
    with signals_after([5]):
        assert start(data, tmp_path / "stopped", **words) == SAVED
    assert resume(tmp_path / "stopped" / "run") == 0
    assert_same(tmp_path / "once" / "run", tmp_path / "again" / "run")
    assert_same(tmp_path / "once" / "run", tmp_path / "stopped" / "run")


def test_a_run_learns_what_it_learns_on_a_processor(data: Path, tmp_path: Path) -> None:
    for device in ("cuda", "cpu"):
        assert start(data, tmp_path / device, train__device=device) == 0
    there, here = (metrics(tmp_path / device / "run", "dev") for device in ("cuda", "cpu"))
    assert [each["loss"] for each in there] == pytest.approx([each["loss"] for each in here], abs=2e-3)
    weights, wanted = (tensors(tmp_path / device / "run" / "model.safetensors") for device in ("cuda", "cpu"))
    assert weights.keys() == wanted.keys()
    assert not same(weights, wanted), "both ran on the same device"


@pytest.mark.parametrize("attention", ["general", "multi_head", "none"])
def test_translations_are_those_of_a_processor(tmp_path: Path, attention: str) -> None:
    run, texts = make_run(tmp_path / "run", attention, beam=4, n_best=3), sentences(30, seed=3)
    here, there = (Translator.load(run, device=device, precision="fp32") for device in ("cpu", "cuda"))
    for one, other in zip(here.translate(texts), there.translate(texts), strict=True):
        assert other.text == one.text
        assert other.score == pytest.approx(one.score, abs=1e-3)
    targets = sentences(30, seed=4)
    assert there.forced_scores(texts, targets) == pytest.approx(here.forced_scores(texts, targets), abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_translations_in_bf16_are_the_same_each_time(tmp_path: Path) -> None:
    translator = Translator.load(make_run(tmp_path / "run"), device="cuda", precision="bf16")
    once, again = ([each.text for each in translator.translate(sentences(30))] for _ in range(2))
    assert once == again


def test_a_part_that_the_memory_does_not_hold_is_halved() -> None:
    """The limit is three quarters of what the whole part needs."""
    part = np.arange(1024), random_batch(1, sentences=1024, longest=30)

    def step() -> Step:
        model = small_model("additive", d_hidden=128, d_attention=128).train().to(GPU)
        settings = run_config(Path(), Path()).train
        return Stepper(model, torch.optim.AdamW(model.parameters()), settings, GPU, torch.float32)(
            {0: part}, 1, 0.01, lambda number: number
        )

    torch.cuda.reset_peak_memory_stats()
    whole = step()
    total = torch.cuda.get_device_properties(GPU).total_memory
    share = 0.75 * torch.cuda.max_memory_allocated() / total
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(share)
    try:
        halved = step()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert whole.halved == 0 < halved.halved
    torch.testing.assert_close(halved.loss, whole.loss)
    torch.testing.assert_close(halved.norm, whole.norm, rtol=1e-3, atol=1e-5)
