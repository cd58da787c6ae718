"""The optimiser, and learning-rate schedules as functions of the update number (and of the dev history)."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from nmt.config.keys import Count, Fraction, Limits, NotNegative, Positive, Share, Whole
from nmt.config.parts import OPTIMIZERS, SCHEDULES, Part
from nmt.errors import CheckpointError, ConfigError
from nmt.runs.tensors import Form


@runtime_checkable
class Optimiser(Protocol):
    """What a training needs of an optimiser; those of torch.optim have it."""

    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]  # each with "params" and the learning rate "lr"
    state: defaultdict[Tensor, Any]

    def step(self) -> Any:
        """Changes every parameter that has a gradient."""


@OPTIMIZERS.register
class AdamW:
    """AdamW (Loshchilov & Hutter 2019, algorithm 2), by torch's fused kernel.

    torch.optim.AdamW gives the same bits, but imports torch's compiler first, which no training needs.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: Positive,
        beta1: Share,
        beta2: Share,
        eps: NotNegative,
        weight_decay: NotNegative,
    ) -> None:
        self.defaults: dict[str, Any] = {"lr": lr, "fused": True}
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": lr}]
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.constants = {"beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": weight_decay}
        self.found_inf: Tensor | None = None  # 1.0: the gradient is not finite, so that a step changes nothing

    @torch.no_grad()
    def step(self) -> None:
        """Changes every parameter that has a gradient; its state begins with its first gradient."""
        for group in self.param_groups:
            parameters = [each for each in group["params"] if each.grad is not None]
            if not parameters:
                continue
            for each in parameters:
                if not self.state[each]:
                    self.state[each]["step"] = torch.zeros((), device=each.device)
                    self.state[each]["exp_avg"] = torch.zeros_like(each)
                    self.state[each]["exp_avg_sq"] = torch.zeros_like(each)
            gradients = [each.grad for each in parameters]
            steps, means, squares = (
                [self.state[each][key] for each in parameters] for key in ("step", "exp_avg", "exp_avg_sq")
            )
            torch._foreach_add_(steps, 1)
            torch._fused_adamw_(
                parameters, gradients, means, squares, [], steps, lr=group["lr"], **self.constants,
                amsgrad=False, maximize=False, grad_scale=None, found_inf=self.found_inf,
            )  # fmt: skip
            if self.found_inf is not None:
                torch._foreach_sub_(steps, [self.found_inf] * len(steps))


class Schedule:
    """Share of the full learning rate at an update.

    Called with the update (from 1) and the dev losses so far; `total` is the last update, None when only early
    stopping ends the run.
    """

    needs_dev = False  # does it wait for dev losses?

    def __init__(self, total: int | None, warmup: Whole) -> None:
        self.total = total
        self.warmup = warmup

    def __call__(self, update: int, dev_losses: Sequence[float]) -> float:
        """The linear rise of the warm-up, times `after_warmup`."""
        rise = min(1.0, update / self.warmup) if self.warmup else 1.0
        return rise * self.after_warmup(update, dev_losses)

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        """Share of the full rate, without the rise of the warm-up."""
        raise NotImplementedError

    def last_update(self) -> int:
        """The number of updates, which a decaying schedule needs; refuses a run that only early stopping ends."""
        if self.total is None:
            raise ConfigError(
                f"schedule {type(self).__name__} falls until the end of the run, which is unknown: train.max_updates "
                "and "
                "train.max_epochs are null; set one of them, or use schedule=inverse_sqrt"
            )
        return self.total


@SCHEDULES.register
class Constant(Schedule):
    """The full rate."""

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        return 1.0


@SCHEDULES.register
class InverseSqrt(Schedule):
    """√(warmup / update) (Vaswani et al. 2017, §5.3, with the rate at the warm-up's end as the full rate)."""

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        start = max(self.warmup, 1)
        return math.sqrt(start / max(update, start))


@SCHEDULES.register
class Linear(Schedule):
    """The full rate for the share `hold` of the run, then a straight line down to the share `end` of the rate."""

    def __init__(self, total: int | None, warmup: Whole, hold: Share, end: Fraction) -> None:
        super().__init__(total, warmup)
        self.last_update()
        self.hold = hold
        self.end = end

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        done = min(1.0, update / self.last_update())
        return 1.0 - (1.0 - self.end) * max(0.0, done - self.hold) / (1.0 - self.hold)


@SCHEDULES.register
class Cosine(Schedule):
    """Half a cosine from the warm-up's end to the last update (Loshchilov & Hutter 2017, without restarts)."""

    def __init__(self, total: int | None, warmup: Whole, end: Fraction) -> None:
        super().__init__(total, warmup)
        self.last_update()
        self.end = end

    def after_warmup(self, update: int, dev_losses: Sequence[float]) -> float:
        length = max(1, self.last_update() - self.warmup)
        done = min(1.0, max(0, update - self.warmup) / length)
        return self.end + (1.0 - self.end) * 0.5 * (1.0 + math.cos(math.pi * done))


@SCHEDULES.register
class Plateau(Schedule):
    """The rate, multiplied by `factor` after every `patience` validations in a row without a new lowest dev loss."""

    needs_dev = True

    def __init__(
        self, total: int | None, warmup: Whole, factor: Annotated[float, Limits(above=0, below=1)], patience: Count
    ) -> None:
        super().__init__(total, warmup)
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


def state_of(optimiser: Optimiser, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's state: KEY/PARAMETER -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {f"{key}/{names[p]}": value for p, own in optimiser.state.items() for key, value in own.items()}


def set_state(optimiser: Optimiser, model: nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Restores a state from `state_of`, which covers every parameter; before the first update, it is empty."""
    parameters = dict(model.named_parameters())
    found: dict[str, set[str]] = {}
    for entry, value in tensors.items():
        key, _, name = entry.partition("/")
        fits = name in parameters and value.dtype == torch.float32
        if not fits or value.shape not in (torch.Size([]), parameters[name].shape):
            raise CheckpointError(f"{where} does not fit the model ({entry!r}); both must come from one run")
        found.setdefault(key, set()).add(name)
        optimiser.state[parameters[name]][key] = value.to(parameters[name].device)  # fused: `step` must be there too
    for key, names in found.items():
        if names != set(parameters):
            missing = min(set(parameters) - names)
            raise CheckpointError(f"{where} lacks {key}/{missing}; both must come from one run")


def optimiser_forms(optimizer: Part, model: nn.Module) -> dict[str, Form]:
    """The optimiser's state after its first step: KEY/PARAMETER -> type and shape."""
    probe = nn.Parameter(torch.zeros(2, 3))
    probe.grad = torch.zeros_like(probe)
    optimiser = optimizer([probe])
    optimiser.step()
    return {
        f"{key}/{name}": (value.dtype, tuple(parameter.shape if value.shape == probe.shape else value.shape))
        for key, value in optimiser.state[probe].items()
        for name, parameter in model.named_parameters()
    }
