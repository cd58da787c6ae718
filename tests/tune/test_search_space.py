"""Spaces of `nmt tune`: what they may hold, and what a trial gets of them."""

from typing import Any

import optuna
import pytest
from hydra import compose
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config.compose import CONFIGS, loader, unknown_key
from nmt.config.overrides import parse
from nmt.config.plain import plain
from nmt.errors import ConfigError
from nmt.tune.search_space import Choices, Range, read_space, word


def drawn(section: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """What one trial gets."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
    trial = study.ask()
    return {each.key: each.suggest(trial) for each in read_space(section)}


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-4, 1), st.floats(1.1, 100), st.integers(0, 99), st.booleans())
def test_a_trial_stays_within_the_range(low: float, times: float, seed: int, log: bool) -> None:
    value = drawn({"optimizer": {"lr": {"low": low, "high": low * times, "log": log}}}, seed)["optimizer.lr"]
    assert isinstance(value, float)
    assert low <= value <= low * times


@pytest.mark.parametrize("seed", range(10))
def test_steps_whole_numbers_and_choices(seed: int) -> None:
    section = {
        "a": {"b": {"low": 2, "high": 8, "step": 3}, "c": {"low": 0.1, "high": 0.5, "step": 0.2}},
        "d": {"low": 0.5, "high": 3.5, "step": 1},
        "attention": {"choices": ["dot", None, True, 3]},
    }
    found = drawn(section, seed)
    assert list(found) == ["a.b", "a.c", "attention", "d"]
    assert found["d"] in (0.5, 1.5, 2.5, 3.5)
    assert found["a.b"] in (2, 5, 8)
    assert isinstance(found["a.b"], int)
    assert round(found["a.c"], 9) in (0.1, 0.3, 0.5)
    assert found["attention"] in ("dot", None, True, 3)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.tuples(st.integers(1, 50), st.integers(1, 50), st.one_of(st.none(), st.integers(1, 60))),
        st.tuples(st.floats(0.1, 5), st.floats(0.1, 5), st.one_of(st.none(), st.floats(0.01, 5), st.integers(1, 5))),
    ),
    st.floats(-10, 120),
)
@pytest.mark.filterwarnings("error:Fixed parameter")
@pytest.mark.filterwarnings("ignore:The distribution is specified by")  # where the steps do not reach `high`
def test_the_nearest_number_of_a_range_is_one_that_a_trial_can_have(sizes: tuple[Any, Any, Any], value: float) -> None:
    low, width, step = sizes
    step = None if step is None else min(step, (low + width) - low)
    (space,) = read_space({"key": {"low": low, "high": low + width, "step": step}})
    nearest = space.nearest(value)
    study = optuna.create_study()
    study.enqueue_trial({"key": nearest})
    assert space.suggest(study.ask()) == nearest
    drawn = [space.suggest(optuna.create_study(sampler=optuna.samplers.RandomSampler(n)).ask()) for n in range(5)]
    assert all(abs(nearest - value) <= abs(other - value) + 1e-6 for other in drawn)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("choices", "value", "nearest"),
    [
        ([600, 1250, 2500], 625, 600),
        ([1, 2], 2, 2),
        ([0.0, 2.0], 2, 2.0),
        (["general", "dot"], {"class": "Dot"}, "general"),
        (["unigram", "bpe"], "bpe", "bpe"),
        ([None, 0.5], None, None),
        ([False, True], True, True),
    ],
)
def test_the_nearest_choice(choices: list[Any], value: Any, nearest: Any) -> None:
    (space,) = read_space({"key": {"choices": choices}})
    assert space.nearest(value) == nearest


@pytest.mark.parametrize(
    ("value", "typed"), [(None, None), (True, True), (0.30000000000000004, 0.3), (5, 5), ("dot", "dot"), (1e-5, 1e-5)]
)
def test_words_mean_the_value(value: Any, typed: Any) -> None:
    assert parse(word("key", value)).value() == typed


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"lr": 3}, r"space\.lr=3 is not a range; write \{low: …, high: …\} or \{choices: \[A, B\]\}"),
        ({"lr": {"low": 2, "high": 1}}, r"space\.lr goes from 2 to 1; give numbers, low below high"),
        ({"lr": {"low": 1}}, r"space\.lr goes from 1 to None; give numbers, low below high"),
        ({"lr": {"low": 0, "high": 1, "log": True}}, r"space\.lr\.log=True with low=0 is not possible"),
        ({"lr": {"low": 0, "high": 1, "log": "yes"}}, r"space\.lr\.log=yes with low=0 is not possible"),
        (
            {"lr": {"low": 1, "high": 2, "step": 3}},
            r"space\.lr\.step=3 is not possible; give a number up to 1, without",
        ),
        ({"lr": {"low": 1, "high": 2, "step": 1, "log": True}}, r"space\.lr\.step=1 is not possible"),
        ({"a": {"choices": "dot"}}, r"space\.a\.choices=dot is not a list of values; write choices: \[A, B\]"),
        ({"a": {"choices": []}}, r"space\.a\.choices=\[\] is not a list of values"),
        ({"a": {"choices": [1], "low": 1}}, r"unknown key 'space\.a\.low'; it has low, high, step and log, or choices"),
        ({"a": {"low": 1, "high": 2, "steps": 1}}, r"unknown key 'space\.a\.steps'; it has"),
    ],
)
def test_refusals(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_space(section)


@pytest.mark.parametrize("path", sorted((CONFIGS / "space").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_key_of_our_spaces_exists(path: Any) -> None:
    with loader():
        config = compose("tune", [f"space={path.stem}"], return_hydra_config=True)
        groups = config.hydra.runtime.choices
        for each in read_space(plain(config.space)):
            assert isinstance(each, Choices | Range)
            if each.key in groups:
                assert isinstance(each, Choices)
                assert all((CONFIGS / each.key / f"{value}.yaml").is_file() for value in each.values)
            else:
                assert unknown_key(each.key, config) is None
