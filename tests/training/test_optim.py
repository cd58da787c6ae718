"""Schedules against their formulae, and what they refuse."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

from nmt.errors import ConfigError
from nmt.training.optim import AdamW, Constant, Cosine, InverseSqrt, Linear, Plateau


@given(st.integers(1, 500), st.integers(1, 3000))
def test_inverse_square_root_is_the_formula_of_its_paper(warmup: int, update: int) -> None:
    """Vaswani et al. 2017, eq. 3, scaled to 1 at the end of the warm-up."""
    found = InverseSqrt(None, warmup)(update, [])
    assert math.isclose(found, min(update**-0.5, update * warmup**-1.5) * warmup**0.5)


@given(st.integers(1, 100), st.integers(1, 200))
def test_constant_rises_then_stays(warmup: int, update: int) -> None:
    assert math.isclose(Constant(None, warmup)(update, []), min(1.0, update / warmup))


def test_linear_holds_then_falls_to_its_end() -> None:
    schedule = Linear(1000, 0, hold=0.5, end=0.1)
    shares = [schedule(update, []) for update in range(1, 1001)]
    assert shares[:500] == [1.0] * 500
    steps = [a - b for a, b in pairwise(shares[500:])]
    assert max(steps) - min(steps) < 1e-9
    assert math.isclose(shares[-1], 0.1)


def test_cosine_is_torchs() -> None:
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = CosineAnnealingLR(optimiser, T_max=90, eta_min=0.2)
    schedule = Cosine(100, 10, end=0.2)
    for update in range(10, 101):
        assert math.isclose(schedule(update, []), optimiser.param_groups[0]["lr"], abs_tol=1e-9)
        optimiser.step()
        reference.step()


@given(st.lists(st.floats(0.1, 9), max_size=40), st.integers(1, 5))
def test_plateau_is_torchs(losses: list[float], patience: int) -> None:
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = ReduceLROnPlateau(optimiser, factor=0.5, patience=patience - 1, threshold=0, eps=0)
    for loss in losses:
        reference.step(loss)
    found = Plateau(None, 0, factor=0.5, patience=patience)(1, losses)
    assert math.isclose(found, optimiser.param_groups[0]["lr"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(None, 0, 0.5, 0.0), r"train\.max_updates"),
        (lambda: Cosine(None, 0, 0.0), r"train\.max_updates"),
        (lambda: Linear(10, 0, 1.0, 0.0), r"schedule\.hold is 1\.0"),
        (lambda: Constant(None, -1), r"schedule\.warmup is -1"),
        (lambda: Plateau(None, 0, 1.0, 3), r"schedule\.factor is 1\.0"),
        (lambda: AdamW([], 0.0, 0.9, 0.98, 1e-8, 0.0), r"optimizer\.lr is 0\.0"),
        (lambda: AdamW([], math.inf, 0.9, 0.98, 1e-8, 0.0), r"optimizer\.lr is inf"),
        (lambda: AdamW([], 1e-3, 1.0, 0.98, 1e-8, 0.0), r"optimizer\.beta1 is 1\.0; it must lie in \[0, 1\)"),
        (lambda: AdamW([], 1e-3, 0.9, -0.1, 1e-8, 0.0), r"optimizer\.beta2 is -0\.1"),
        (lambda: AdamW([], 1e-3, 0.9, 0.98, -1.0, 0.0), r"optimizer\.eps is -1\.0; it must be at least 0"),
        (lambda: AdamW([], 1e-3, 0.9, 0.98, 1e-8, math.nan), r"optimizer\.weight_decay is nan"),
    ],
)
def test_impossible_values_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match=message):
        make()
