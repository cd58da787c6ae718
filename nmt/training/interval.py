"""Measurements between two log points of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.training.progress import SUMS


@dataclass
class LogInterval:
    """Sums over the updates since the last log point; tensors stay on their device until `settle`."""

    updates: int = 0
    fine: int | Tensor = 0  # updates that changed the weights
    tokens: int | Tensor = 0
    loss: float | Tensor = 0.0  # per token, times tokens
    nll: float | Tensor = 0.0  # per token, times tokens
    grad_norm: float | Tensor = 0.0
    learning_rate: float = 0.0  # at the last update
    timed_updates: int = 0
    timed_tokens: int | Tensor = 0
    seconds: float = 0.0
    waited_s: float = 0.0  # part of `seconds` in which the run waited for data

    def settle(self) -> None:
        """Turns the tensors into numbers. Only this method waits for the device."""
        self.loss, self.nll, self.grad_norm = float(self.loss), float(self.nll), float(self.grad_norm)
        self.tokens, self.timed_tokens, self.fine = int(self.tokens), int(self.timed_tokens), int(self.fine)

    def sums(self) -> dict[str, float]:
        """The sums that a resumed run needs to continue this interval: all except the times. Empty without updates."""
        return {name: float(getattr(self, name)) for name in SUMS} if self.updates else {}

    def means(self) -> dict[str, float]:
        """Means over a settled interval, without speed and waiting time if no update was timed."""
        tokens = int(self.tokens) or math.nan  # NaN: every update was skipped
        perplexity = math.exp(min(float(self.nll) / tokens, 700.0))
        values = {"loss": float(self.loss) / tokens, "perplexity": perplexity}
        values["grad_norm"] = float(self.grad_norm) / max(int(self.fine), 1)
        if self.updates > self.fine:
            values["skipped"] = self.updates - int(self.fine)
        if self.seconds > 0:
            values["tokens_per_s"] = int(self.timed_tokens) / self.seconds
            values["data_waiting_share"] = self.waited_s / self.seconds
        return values


def _interval(sums: Mapping[str, float]) -> LogInterval:
    """An interval that continues from these sums, again in float32; without sums, a new one."""
    if not sums:
        return LogInterval()
    loss, nll, grad_norm = (torch.tensor(sums[name]) for name in ("loss", "nll", "grad_norm"))
    updates, fine, tokens = (int(sums[name]) for name in ("updates", "fine", "tokens"))
    return LogInterval(updates, fine, tokens, loss, nll, grad_norm, sums["learning_rate"])


def _if_fine(value: float | Tensor, fine: bool | Tensor) -> float | Tensor:
    """The value if the update was fine, else 0."""
    if isinstance(value, Tensor):
        value = value.detach().float()
        return value if fine is True else value.where(torch.as_tensor(fine, device=value.device), 0.0)
    return value if fine else 0.0
