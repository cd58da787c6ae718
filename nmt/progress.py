"""Where a training run stands: what, with weights and optimiser, makes it continue exactly."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from nmt.config import TrainConfig


@dataclass(frozen=True)
class Validation:
    """One look at the dev split."""

    update: int
    epoch: int
    loss: float  # label-smoothed, nats per token
    nll: float  # nats per token
    bleu: float | None


@dataclass
class Progress:
    """Position and history of a run. Random states are not here: every update is seeded by its own number."""

    update: int = 0  # optimiser steps done
    epoch: int = 0  # epochs done
    batch: int = 0  # batches of the current epoch done
    tokens: int = 0  # real target tokens seen
    validations: list[Validation] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)  # since the last log point (Reporter.sums)
    skipped: list[int] = field(default_factory=list)  # updates whose loss or gradient was no number
    halved: list[int] = field(default_factory=list)  # updates for which memory was too small
    finished: bool = False  # trained to its end, and the model chosen

    def goodness(self, metric: Literal["bleu", "loss"], validation: Validation) -> float:
        """Higher is better."""
        if metric == "bleu":
            return -math.inf if validation.bleu is None else validation.bleu
        return -validation.loss

    def ranked(self, metric: Literal["bleu", "loss"]) -> list[Validation]:
        """Validations, the best first, earlier ones first among equals."""
        return sorted(self.validations, key=lambda v: (-self.goodness(metric, v), v.update))

    def since_best(self, metric: Literal["bleu", "loss"]) -> int:
        """Validations after the best one."""
        if not self.validations:
            return 0
        best = self.ranked(metric)[0]
        return sum(v.update > best.update for v in self.validations)

    def is_at_end(self, settings: TrainConfig) -> bool:
        """Last update, last epoch, or patience at its end."""
        s = settings
        return (
            (s.max_updates is not None and self.update >= s.max_updates)
            or (s.max_epochs is not None and self.epoch >= s.max_epochs)
            or (s.patience is not None and self.since_best(s.metric) >= s.patience)
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Progress":
        """The progress that `to_json` wrote; what an older version did not keep is as at the start."""
        validations = [Validation(**v) for v in plain["validations"]]
        return cls(**{f.name: plain[f.name] for f in fields(cls) if f.name in plain} | {"validations": validations})
