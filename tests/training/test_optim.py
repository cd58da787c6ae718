"""AdamW against torch's, schedules against their formulae, and what they refuse."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

from nmt.config.parts import OPTIMIZERS, SCHEDULES, Part, read_part
from nmt.errors import CheckpointError, ConfigError
from nmt.training.optim import AdamW, Constant, Cosine, InverseSqrt, Linear, Optimiser, Plateau, set_state, state_of


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


def schedule(name: str, **changes: float) -> Part:
    return read_part({"class": name, "warmup": 0} | changes, "schedule", SCHEDULES, [])


def adamw(**changes: float) -> Part:
    usual = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.98, "eps": 1e-8, "weight_decay": 0.0}
    return read_part({"class": "AdamW"} | usual | changes, "optimizer", OPTIMIZERS, [])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(None, 0, 0.5, 0.0), r"train\.max_updates"),
        (lambda: Cosine(None, 0, 0.0), r"train\.max_updates"),
        (lambda: schedule("Linear", hold=1.0, end=0.0), r"schedule\.hold is 1\.0"),
        (lambda: schedule("Constant", warmup=-1), r"schedule\.warmup is -1"),
        (lambda: schedule("Plateau", factor=1.0, patience=3), r"schedule\.factor is 1\.0"),
        (lambda: schedule("Plateau", factor=0.5, patience=0), r"schedule\.patience is 0"),
        (lambda: adamw(lr=0.0), r"optimizer\.lr is 0\.0; it must be above 0"),
        (lambda: adamw(lr=math.inf), r"optimizer\.lr is inf"),
        (lambda: adamw(beta1=1.0), r"optimizer\.beta1 is 1\.0; it must be at least 0 and below 1"),
        (lambda: adamw(beta2=-0.1), r"optimizer\.beta2 is -0\.1"),
        (lambda: adamw(eps=-1.0), r"optimizer\.eps is -1\.0; it must be at least 0"),
        (lambda: adamw(weight_decay=math.nan), r"optimizer\.weight_decay is nan"),
    ],
)
def test_impossible_values_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_schedule_without_warm_up_starts_at_the_full_rate() -> None:
    assert Constant(None, 0)(1, []) == InverseSqrt(None, 0)(1, []) == Linear(10, 0, 0.5, 0.0)(1, []) == 1.0
    assert InverseSqrt(None, 0)(4, []) == 0.5


def test_after_the_last_update_a_falling_rate_stays_at_its_end() -> None:
    for schedule in (Linear(10, 2, 0.5, 0.25), Cosine(10, 2, 0.25)):
        assert [schedule(update, []) for update in (10, 11, 50)] == [0.25] * 3
    assert Cosine(3, 3, 0.25)(3, []) == 1.0  # all of it warm-up
    assert Cosine(4, 3, 0.25)(4, []) == 0.25  # one update after it


def test_the_warm_up_multiplies_what_follows() -> None:
    falling, rising = Linear(10, 0, 0.0, 0.0), Linear(10, 4, 0.0, 0.0)
    for update in range(1, 11):
        assert math.isclose(rising(update, []), falling(update, []) * min(1.0, update / 4))
    assert [Cosine(12, 4, 0.5)(update, []) for update in (1, 2, 4)] == [0.25, 0.5, 1.0]


def test_a_plateau_counts_from_every_new_lowest_loss() -> None:
    schedule = Plateau(None, 0, factor=0.5, patience=2)
    losses = [3.0, 3.0, 2.0, 2.0, 2.5, 2.0, 1.9, 2.0, 2.0]  # equal is not lower
    assert [schedule(1, losses[:n]) for n in range(10)] == [1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_losses_beyond_all_numbers_are_no_new_lowest() -> None:
    schedule = Plateau(None, 0, factor=0.5, patience=3)
    assert [schedule(1, [math.inf] * n) for n in range(5)] == [1, 1, 1, 0.5, 0.5]


def small(seed: int = 0) -> torch.nn.Linear:
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 2)


def updated(model: torch.nn.Linear, optimiser: Optimiser, inputs: torch.Tensor) -> None:
    model.zero_grad()
    model(inputs).square().sum().backward()
    optimiser.step()


def test_adamw_is_torchs_with_the_given_values() -> None:
    ours, theirs, inputs = small(), small(), torch.randn(3, 5, 3)
    mine = AdamW(ours.parameters(), 0.03, 0.7, 0.8, 1e-3, 0.2)
    assert mine.defaults["fused"] is True  # several times faster
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.03, betas=(0.7, 0.8), eps=1e-3, weight_decay=0.2)
    for each in inputs:
        updated(ours, mine, each)
        updated(theirs, reference, each)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())


@pytest.mark.parametrize("seed", range(5))
def test_adamw_has_the_bits_of_torchs_fused_one(seed: int) -> None:
    """Some updates have another rate, a gradient that is not finite, or none for the bias."""
    ours, theirs = small(seed), small(seed)
    mine = AdamW(ours.parameters(), 0.03, 0.9, 0.98, 1e-8, 0.01)
    options: Any = {"lr": 0.03, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": 0.01, "fused": True}
    reference: Any = torch.optim.AdamW(theirs.parameters(), **options)
    drawn = torch.rand(8, 3, generator=torch.Generator().manual_seed(seed))
    for rate, bad, none in drawn.tolist():
        for model, optimiser in ((ours, mine), (theirs, reference)):
            optimiser.param_groups[0]["lr"] = rate
            optimiser.found_inf = torch.tensor(float(bad < 0.3))
            gradients = torch.full((2, 3), rate - 0.5), torch.tensor([none, -rate])
            model.weight.grad, model.bias.grad = gradients[0], gradients[1] if none > 0.4 else None
            optimiser.step()
        assert all(map(torch.equal, ours.parameters(), theirs.parameters()))
    states = state_of(mine, ours), state_of(reference, theirs)
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_an_optimiser_goes_on_from_its_state() -> None:
    inputs, model = torch.randn(4, 5, 3), small()
    optimiser = AdamW(model.parameters(), 0.03, 0.7, 0.8, 1e-3, 0.2)
    for each in inputs[:2]:
        updated(model, optimiser, each)
    other = small(1)
    other.load_state_dict(model.state_dict())
    later = AdamW(other.parameters(), 0.03, 0.7, 0.8, 1e-3, 0.2)
    state = {name: value.clone() for name, value in state_of(optimiser, model).items()}
    assert set(state) == {f"{key}/{name}" for key in ("step", "exp_avg", "exp_avg_sq") for name in ("weight", "bias")}
    set_state(later, other, state, Path("x"))
    for each in inputs[2:]:
        updated(model, optimiser, each)
        updated(other, later, each)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step/gain": torch.zeros(())}, r"x does not fit the model \('step/gain'\); both must come from one run"),
        ({"step/bias": torch.zeros((), dtype=torch.float64)}, r"x does not fit the model \('step/bias'\)"),
        ({"exp_avg/bias": torch.zeros(3)}, r"x does not fit the model \('exp_avg/bias'\)"),
        ({"exp_avg/bias": None}, r"x lacks exp_avg/bias; both must come from one run"),
        ({"step/weight": None, "step/bias": torch.zeros(())}, r"x lacks step/weight; both must come from one run"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(changes: dict[str, torch.Tensor | None], message: str) -> None:
    model = small()
    optimiser = AdamW(model.parameters(), 0.03, 0.7, 0.8, 1e-3, 0.2)
    updated(model, optimiser, torch.randn(5, 3))
    state = {key: value for key, value in (state_of(optimiser, model) | changes).items() if value is not None}
    with pytest.raises(CheckpointError, match=f"^{message}"):
        set_state(optimiser, model, state, Path("x"))


def test_before_an_update_an_optimiser_remembers_nothing() -> None:
    model = small()
    optimiser = AdamW(model.parameters(), 0.03, 0.7, 0.8, 1e-3, 0.2)
    set_state(optimiser, model, state_of(optimiser, model), Path("x"))
    assert state_of(optimiser, model) == {}


def test_a_state_goes_where_its_parameters_are() -> None:
    model, state = small(), {"momentum_buffer/weight": torch.ones(2, 3), "momentum_buffer/bias": torch.ones(2)}
    model.to("meta")
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    set_state(optimiser, model, state, Path("x"))
    assert {value.device.type for value in state_of(optimiser, model).values()} == {"meta"}
