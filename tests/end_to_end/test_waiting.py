"""An update never waits for the device: it reads nothing back between two log points. A search waits once a step."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.models import ATTENTIONS, random_batch, section, small_model
from helpers.training_runs import corpus, start
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.config.check import read
from nmt.config.sections import SearchConfig
from nmt.model.interfaces import Source, State
from nmt.model.seq2seq import Seq2Seq
from nmt.search.beam import search
from nmt.training.loss import batch_loss
from nmt.training.trainer import Trainer

WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2", "unique_dim"}


class Waits(TorchDispatchMode):
    """Notes the operations for which a GPU must have finished: their result's size or value is wanted on the host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        indices = args[1] if name in ("index", "index_put", "index_put_", "_index_put_impl_") else []
        by_mask = any(isinstance(index, Tensor) and index.dtype == torch.bool for index in indices)
        if name in WAITING or by_mask:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def waits_of_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[str]:
    """What the updates of a run wait for, without its log points and its end."""
    update, waits = Trainer.update, Waits()

    def watched(trainer: Trainer) -> None:
        with waits:
            update(trainer)

    monkeypatch.setattr(Trainer, "update", watched)
    short = {"train__max_updates": 3, "train__log_every": 100, "train__validate_every": 100, "train__bleu_sentences": 1}
    assert start(corpus(tmp_path / "data"), tmp_path / "runs", **short | changes) == 0
    return waits.found


@pytest.mark.parametrize("feeding", [False, True])
def test_updates_wait_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, feeding: bool) -> None:
    changes = {"decoder__input_feeding": feeding, "train__accumulate": 2, "train__precision": "auto"}
    assert waits_of_updates(tmp_path, monkeypatch, **changes) == []


def test_a_value_that_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "_local_scalar_dense" in waits_of_updates(tmp_path, monkeypatch, train__log_every=1)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_model_waits_for_nothing(attention: str) -> None:
    model, batch = small_model(attention).train(), random_batch(1)
    with Waits() as waits:
        loss, _ = batch_loss(model, batch, 0.1)
        torch.autograd.backward(loss)
    assert waits.found == []


class Counting:
    """A model that counts the steps of its search."""

    max_length = None

    def __init__(self, model: Seq2Seq) -> None:
        self.model, self.start, self.steps = model, model.start, 0

    def step(self, tokens: Tensor, source: Source, state: State) -> tuple[Tensor, Tensor, State]:
        self.steps += 1
        return self.model.step(tokens, source, state)


@pytest.mark.parametrize("attention", ["general", "none"])
def test_a_search_waits_once_a_step_and_where_sentences_leave(attention: str) -> None:
    model, batch = Counting(small_model(attention)), random_batch(1)
    settings = read(SearchConfig, section("search", "beam"), "search")
    with Waits() as waits:
        search(model, batch.src, batch.src_mask, settings, None)
    limits = 2  # the shortest and the longest are read
    assert model.steps > 1
    assert model.steps + limits <= len(waits.found) <= model.steps + limits + len(batch.src)
