"""The optimiser, and learning-rate schedules as functions of the update number (and of the dev history)."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import nn

from nmt.errors import ConfigError


class AdamW(torch.optim.AdamW):
    """AdamW (Loshchilov & Hutter 2019), fused."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], lr: float, beta1: float, beta2: float, eps: float, weight_decay: float
    ) -> None:
        if not lr > 0:
            raise ConfigError(f"optimizer.lr is {lr}; it must be above 0")
        super().__init__(parameters, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, fused=True)


class Schedule:
    """Share of the full learning rate at an update.

    Called with the update (from 1) and the dev losses so far; `total` is the last update, None when only early
    stopping ends the run.
    """

    def __init__(self, total: int | None, warmup: int) -> None:
        if warmup < 0:
            raise ConfigError(f"schedule.warmup is {warmup}; it must be at least 0")
        self.total = total
        self.warmup = warmup

    def __call__(self, update: int, dev_losses: Sequence[float]) -> float:
        """The warm-up's linear rise, times what the schedule does after it."""
        rise = min(1.0, update / self.warmup) if self.warmup else 1.0
        return rise * self.after_warmup(update, dev_losses)

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        """Share of the full rate were there no warm-up."""
        raise NotImplementedError

    def last_update(self) -> int:
        """The run's length, which a decaying schedule must know."""
        if self.total is None:
            raise ConfigError(
                f"schedule {type(self).__name__} falls until the end of the run, but train.max_updates and "
                "train.max_epochs are null; set one of them, or use schedule=inverse_sqrt"
            )
        return self.total


class Constant(Schedule):
    """The full rate."""

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        return 1.0


class InverseSqrt(Schedule):
    """√(warmup / update) (Vaswani et al. 2017, §5.3, with the rate at the warm-up's end as the full rate)."""

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        start = max(self.warmup, 1)
        return math.sqrt(start / max(update, start))


class Linear(Schedule):
    """Full until `hold` of the run, then straight down to `end`."""

    def __init__(self, total: int | None, warmup: int, hold: float, end: float) -> None:
        super().__init__(total, warmup)
        if not 0 <= hold < 1:
            raise ConfigError(f"schedule.hold is {hold}; it must lie in [0, 1)")
        self.last_update()
        self.hold = hold
        self.end = end

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        done = min(1.0, update / self.last_update())
        return 1.0 - (1.0 - self.end) * max(0.0, done - self.hold) / (1.0 - self.hold)


class Cosine(Schedule):
    """Half a cosine from the warm-up's end to the last update (Loshchilov & Hutter 2017, without restarts)."""

    def __init__(self, total: int | None, warmup: int, end: float) -> None:
        super().__init__(total, warmup)
        self.last_update()
        self.end = end

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        length = max(1, self.last_update() - self.warmup)
        done = min(1.0, max(0, update - self.warmup) / length)
        return self.end + (1.0 - self.end) * 0.5 * (1.0 + math.cos(math.pi * done))


class Plateau(Schedule):
    """Multiplied by `factor` after every `patience` validations in a row without a new lowest dev loss."""

    def __init__(self, total: int | None, warmup: int, factor: float, patience: int) -> None:
        super().__init__(total, warmup)
        if not 0 < factor < 1 or patience < 1:
            raise ConfigError(
                f"schedule.factor is {factor} and schedule.patience {patience}; "
                "the factor must lie between 0 and 1 and the patience be at least 1"
            )
        self.factor = factor
        self.patience = patience

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        best, waited, cuts = math.inf, 0, 0
        for loss in dev_losses:
            waited = 0 if loss < best else waited + 1
            best = min(best, loss)
            if waited == self.patience:
                cuts, waited = cuts + 1, 0
        return float(self.factor**cuts)
