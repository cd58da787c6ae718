"""One optimiser step: the gradient over a few batches, halved where memory does not hold one, then the update."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.config.sections import TrainConfig
from nmt.data.batch import Batch
from nmt.machine.allocator import lacks_memory
from nmt.machine.device import autocast
from nmt.model.seq2seq import Seq2Seq
from nmt.training.batches import RowNumbers
from nmt.training.loss import batch_loss

BatchPart = tuple[RowNumbers, Batch]  # a batch, and which rows of the training split it holds


class NoRoom(Exception):  # noqa: N818 (the trainer makes an error of it)
    """Memory does not hold the step of one sentence pair alone."""

    def __init__(self, part: BatchPart) -> None:
        self.rows, self.batch = part


@dataclass(frozen=True)
class Step:
    """What a step came to; means per real target token, tensors on the model's device."""

    tokens: int
    loss: Tensor  # as trained on, nats
    nll: Tensor
    norm: Tensor  # of the gradient, before clipping
    fine: Tensor  # are loss and norm finite? If not, weights and optimiser stayed as they were
    halved: int  # how often a batch was halved


class Stepper:
    """Takes steps. Nothing in one waits for the device."""

    def __init__(
        self, model: Seq2Seq, optimiser: torch.optim.Optimizer, settings: TrainConfig, device: torch.device,
        dtype: torch.dtype,
    ) -> None:  # fmt: skip
        self.model = model
        self.optimiser = optimiser
        self.settings = settings
        self.device = device
        self.dtype = dtype

    def __call__(self, parts: Sequence[BatchPart], rate: float, seed: int) -> Step:
        """A step at this learning rate over these batches, as if they were one large batch.

        Where memory does not hold a batch, everything is done again from `seed` with its two halves; `NoRoom` where
        it holds one pair.
        """
        parts, halved = list(parts), 0
        tokens = sum(batch.tokens for _, batch in parts)
        while isinstance(sums := self._gradient(parts, tokens, seed), int):
            parts[sums : sums + 1] = _halves(parts[sums])
            halved += 1
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        limit = math.inf if self.settings.clip_norm is None else self.settings.clip_norm
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True)
        loss, nll = sums.unbind()
        fine = loss.isfinite() & norm.isfinite()
        self._update(fine, rate)
        return Step(tokens, loss, nll, norm, fine, halved)

    def _gradient(self, parts: Sequence[BatchPart], tokens: int, seed: int) -> Tensor | int:
        """Adds up the gradient; loss and nll per token, or the number of the batch that memory does not hold."""
        torch.manual_seed(seed)
        self.optimiser.zero_grad()
        sums = torch.zeros(2, device=self.device)
        for number, (_, batch) in enumerate(parts):
            try:
                with autocast(self.device, self.dtype):
                    loss, nll = batch_loss(
                        self.model, batch.to(self.device), self.settings.label_smoothing, self.settings.consistency
                    )
                torch.autograd.backward(loss / tokens)
            except (MemoryError, RuntimeError) as error:
                if not lacks_memory(error):
                    raise
                return number
            sums += torch.stack([loss.detach(), nll]) / tokens
        return sums

    def _update(self, fine: Tensor, rate: float) -> None:
        """Changes the weights if all is fine."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        if self.optimiser.defaults.get("fused"):  # which leaves all as it is where this says so, as for a GradScaler
            self.optimiser.found_inf = (~fine).float()  # type: ignore[attr-defined]
            self.optimiser.step()
        elif bool(fine):
            self.optimiser.step()


def _halves(part: BatchPart) -> list[BatchPart]:
    """Two parts of half the pairs each."""
    rows, batch = part
    if len(rows) == 1:
        raise NoRoom(part)
    middle = len(rows) // 2
    every = torch.arange(len(rows))
    return [(rows[:middle], batch.select(every[:middle])), (rows[middle:], batch.select(every[middle:]))]
