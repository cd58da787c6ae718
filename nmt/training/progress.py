"""Position and history of a training run. With weights and optimiser, they let the run continue exactly."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Any, Literal

from nmt.config.check import read, read_known
from nmt.config.sections import TrainConfig
from nmt.errors import CheckpointError, ConfigError
from nmt.runs.learned import LEAST_BLEU

MOST_COUNTED = 10**15  # highest count that a record may hold
SUMS = ("updates", "fine", "tokens", "loss", "nll", "grad_norm", "learning_rate")  # since the last log point


@dataclass(frozen=True)
class Validation:
    """Scores of one validation on the dev split."""

    update: int
    epoch: int
    loss: float  # label-smoothed, nats per token
    nll: float  # nats per token
    bleu: float | None
    checksum: str | None = None  # of the model's weights
    least_bleu: float = LEAST_BLEU  # from which BLEU on it decides

    def goodness(self, metric: Literal["bleu", "loss"]) -> tuple[float, float]:
        """Higher is better. BLEU decides from `least_bleu` on; below that, and between equals, dev loss decides."""
        bleu = self.bleu if metric == "bleu" and self.bleu is not None else 0.0
        return (bleu if bleu >= self.least_bleu else 0.0), -self.loss


@dataclass
class Progress:
    """Position and history of a run. Random states are not here: every update is seeded by its own number."""

    update: int = 0  # optimiser steps done
    epoch: int = 0  # epochs done
    batch: int = 0  # batches of the current epoch done
    tokens: int = 0  # real target tokens seen
    validations: list[Validation] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)  # since the last log point (Reporter.sums)
    skipped: list[int] = field(default_factory=list)  # updates whose loss or gradient was infinite or NaN
    halved: list[int] = field(default_factory=list)  # updates that did not fit in memory as a whole
    finished: bool = False  # training has ended, and the model is chosen

    def ranked(self, metric: Literal["bleu", "loss"]) -> list[Validation]:
        """Validations, the best first; of equal ones, the earlier first."""
        return sorted(self.validations, key=lambda v: (v.goodness(metric), -v.update), reverse=True)

    def since_gain(self, metric: Literal["bleu", "loss"], warmup: int = 0) -> int:
        """Validations after the last gain: a new best, a new lowest dev loss, or the end of the warm-up."""
        if not self.validations:
            return 0
        gain = max(warmup, self.ranked(metric)[0].update, self.ranked("loss")[0].update)
        return sum(v.update > gain for v in self.validations)

    def is_at_end(self, settings: TrainConfig, warmup: int) -> bool:
        """Is the last update or epoch done, or has patience run out? `warmup`: updates while the rate rises."""
        s = settings
        return (
            (s.max_updates is not None and self.update >= s.max_updates)
            or (s.max_epochs is not None and self.epoch >= s.max_epochs)
            or (s.patience is not None and self.since_gain(s.metric, warmup) >= s.patience)
        )

    def to_json(self) -> dict[str, Any]:
        """The progress as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any], folder: Path) -> "Progress":
        """The progress in a checkpoint's record; fields that an older version did not write have their defaults.

        Refuses a record that nmt cannot have written into that folder; the error names the file.
        """
        path = folder / "training.json"
        try:
            progress = cls(**_checked_fields(cls, record))
        except ConfigError as error:
            what = str(error).partition("; ")[0]
            raise CheckpointError(f"{path} is not what nmt writes: {what}; restore it from a copy") from None
        wrong = next(progress._impossible(), None)
        if wrong is None and progress.update != int(folder.name):
            wrong = f"update is {progress.update}"
        if wrong is not None:
            raise CheckpointError(f"{path} is not what nmt writes: {wrong}; restore it from a copy")
        return progress

    def _impossible(self) -> Iterator[str]:
        """Describes each value that no run can reach."""
        for name in ("update", "epoch", "batch", "tokens"):
            if not 0 <= getattr(self, name) <= MOST_COUNTED:
                yield f"{name} is {getattr(self, name)}"
        for name, value in self.sums.items():
            if not math.isfinite(value):
                yield f"sums.{name} is {value}"
        updates = [v.update for v in self.validations]
        for name, numbers in (("validations", updates), ("skipped", self.skipped), ("halved", self.halved)):
            if numbers != sorted(set(numbers)) or not all(0 <= number <= self.update for number in numbers):
                yield f"{name} are of the updates {numbers!s:.60}"
        for v in self.validations:
            if not all(math.isfinite(value) for value in (v.loss, v.nll, v.bleu or 0.0)):
                yield f"loss, nll and bleu of update {v.update} are {v.loss}, {v.nll} and {v.bleu}"


def _checked_fields(cls: type[Progress], record: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a record has for fields of `cls`; refuses one of the wrong type."""
    read_known(_Record, record)
    if not all(isinstance(value, str | int) for value in record["made_by"].values()):
        raise ConfigError(f"made_by={record['made_by']!r:.60} is not possible")
    if record["sums"]:
        read(_Sums, record["sums"], "sums")
    validations = []
    for plain in record["validations"]:
        late = {f.name: f.default for f in fields(Validation) if f.default is not MISSING}
        validations.append(read(Validation, late | plain, "validations"))
    values = {f.name: record[f.name] for f in fields(cls) if f.name in record} | {"validations": validations}
    values["sums"] = {name: float(value) for name, value in record["sums"].items()}
    read_known(cls, vars(cls()) | values)
    return values


_Sums = make_dataclass("_Sums", [(name, float) for name in SUMS])


@dataclass(frozen=True)
class _Record:
    """Keys that every record has."""

    update: int
    epoch: int
    batch: int
    tokens: int
    validations: list[dict]  # type: ignore[type-arg]  # the check does not look into the dicts
    sums: dict[str, float]
    data: str
    made_by: dict[str, str | int]
