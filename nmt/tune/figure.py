"""A picture of a study: how much of the score's variance each setting explains, and all scores over each setting."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial, TrialState

from nmt.figures.curves import LINE_COLORS
from nmt.figures.figure import dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_COLUMNS = 3
PANEL = (3.2, 2.5)  # inches
ENOUGH = 4  # complete trials, at least, for importances to mean anything


def importances(study: optuna.Study) -> dict[str, float]:
    """Each setting's share of importance, largest first (PED-ANOVA, Watanabe et al. 2023).

    All shares are 0 if there are fewer than `ENOUGH` complete trials, or if all have the same score.
    """
    complete = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    keys = sorted({key for trial in complete for key in trial.params})
    if len(complete) < ENOUGH or len({trial.value for trial in complete}) < 2:
        return dict.fromkeys(keys, 0.0)
    with warnings.catch_warnings(action="ignore", category=ExperimentalWarning):
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return dict(sorted(((key, found.get(key, 0.0)) for key in keys), key=lambda pair: -pair[1]))


def study_figure(study: optuna.Study, metric: str) -> Figure:
    """Bars of importance, then a panel for each setting with a point for each trial; the best trial is a star."""
    shares = importances(study)
    rows = -(-(len(shares) + 1) // FIGURE_COLUMNS)
    figure = new_figure(PANEL[0] * FIGURE_COLUMNS, PANEL[1] * rows)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, FIGURE_COLUMNS, squeeze=False).flatten()
    draw_bars(grid[0], shares)
    for axes, key in zip(grid[1:], shares, strict=False):
        draw_trials(axes, study, key, "dev BLEU" if metric == "bleu" else "dev loss")
    for axes in grid[len(shares) + 1 :]:
        axes.set_axis_off()
    return figure


def draw_bars(axes: Axes, shares: dict[str, float]) -> None:
    """Draws the importances, the largest on top; the title explains the points in the other panels."""
    names = list(shares)[::-1]
    axes.barh(range(len(names)), [shares[name] for name in names], color=LINE_COLORS[0])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, max(shares.values()) * 1.05 or 1.0)
    axes.tick_params(labelsize=7)
    known = "share of what mattered" if any(shares.values()) else f"what mattered: known from {ENOUGH} whole trials on"
    dress(axes.set_title(f"{known}\nbelow: star best, hollow stopped early", fontsize=8))


def draw_trials(axes: Axes, study: optuna.Study, key: str, score: str) -> None:
    """Draws the trials' scores over one setting; choices are columns, except for more than five numbers.

    A pruned trial is a hollow point, at the score of its last validation.
    """
    trials = [trial for trial in study.get_trials(deepcopy=False) if key in trial.params and trial.value is not None]
    values = [trial.params[key] for trial in trials]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    categories = sorted(set(values), key=(lambda v: v) if numeric else str)
    kind = trials[0].distributions[key]  # the same in every trial
    listed = isinstance(kind, CategoricalDistribution) and (not numeric or len(categories) <= 5)
    places = [float(categories.index(value)) for value in values] if listed else [float(value) for value in values]
    spread = np.random.default_rng(0).uniform(-0.15, 0.15, len(places)) if listed else np.zeros(len(places))
    for trial, x, shift in zip(trials, places, spread, strict=True):
        assert trial.value is not None  # failed trials have no value and are left out above
        axes.plot([x + shift], [trial.value], **style(trial, study))
    if listed:
        axes.set_xticks(range(len(categories)), [f"{v:g}" if isinstance(v, float) else str(v) for v in categories])
        axes.set_xlim(-0.5, len(categories) - 0.5)
    elif getattr(kind, "log", False):
        axes.set_xscale("log")
    axes.tick_params(which="both", labelsize=7)
    dress(axes.set_xlabel(key, fontsize=8))
    dress(axes.set_ylabel(score, fontsize=8))


def style(trial: FrozenTrial, study: optuna.Study) -> dict[str, Any]:
    """The marker and colour of a trial's point."""
    if trial.state == TrialState.PRUNED:
        return {"marker": "o", "markersize": 4, "markerfacecolor": "none", "color": "0.6"}
    if trial.number == study.best_trial.number:
        return {"marker": "*", "markersize": 12, "color": LINE_COLORS[1], "zorder": 3}
    return {"marker": "o", "markersize": 4, "color": LINE_COLORS[0]}
