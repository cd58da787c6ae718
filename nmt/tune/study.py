"""`nmt tune`: trains with settings from a space, which Optuna's TPE picks near those of the best trials so far.

The first trial has the settings of the recipe or experiment itself, or the nearest that the space has.

The study is runs_dir/studies/NAME/study.db (SQLite); the runs of its trials are in the same folder. A suggestion
depends only on the seed, the trial's number and the trials before it, so an interrupted study goes on as if it had
never stopped. If several processes train trials of one study, it also depends on which of these trials have ended.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import optuna
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import URL

from nmt.config.run import RunConfig
from nmt.errors import ConfigError, DataError, NmtError
from nmt.figures.figure import save_figure
from nmt.machine.seeds import derived_seed
from nmt.machine.signals import SAVED
from nmt.training.progress import Progress, Validation
from nmt.training.run import resume, start
from nmt.tune.claims import alone_at, claimed
from nmt.tune.figure import study_figure
from nmt.tune.plan import Plan
from nmt.tune.search_space import Value, word

WARM_UP = 3  # validations before a trial may be pruned
TRIALS_SHOWN = 5  # best trials that the report lists
REASON = "error"  # of a trial that failed: the name of its attribute in the study
HOPELESS_TRIALS = 3  # once so many trials have failed, and all have failed, the study ends with the last error


def opened_study(plan: Plan, made_of: str) -> optuna.Study:
    """The study in the plan's folder, created or reopened; `made_of` is a digest of its settings.

    Raises ConfigError for a study that was begun with other settings, and DataError for one that cannot be read.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = plan.folder / "study.db"
    try:
        study = optuna.create_study(
            storage=URL.create("sqlite", database=str(path)).render_as_string(),
            study_name=plan.folder.name,
            load_if_exists=True,
            direction="maximize" if plan.metric == "bleu" else "minimize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=plan.startup, n_warmup_steps=WARM_UP),
        )
    except Exception as error:  # SQLite and SQLAlchemy raise many kinds
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{path} is not a study that can be read ({reason}); restore it, or choose another name="
        ) from None
    if "made_of" not in study.user_attrs:
        study.set_user_attr("made_of", made_of)
    if study.user_attrs["made_of"] != made_of:
        raise ConfigError(
            f"{plan.folder} holds a study that was begun with other words or another space; choose another name="
        )
    return study


def done(study: optuna.Study) -> int:
    """The number of trials that are complete, pruned or failed."""
    return sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))


def one_trial(plan: Plan, study: optuna.Study) -> bool:
    """Trains an interrupted trial, or else a new one, and tells the study how it ended; False: no trial is left."""
    with alone_at(plan.folder):
        next_one = begun_trial(plan, study)
    if next_one is None:
        return False
    trial, chosen, claim = next_one
    name = trial_name(trial.number)
    print(f"\n{name} of {plan.trials}, in {plan.folder}: {settings_text(chosen)}", file=sys.stderr)
    try:
        train_trial(plan, study, trial, chosen)
        with alone_at(plan.folder):
            drop_weights(plan, study)
    finally:
        os.close(claim)
    print(f"{name}: {ending(plan, study.get_trials(deepcopy=False)[trial.number])}", file=sys.stderr)
    return True


def begun_trial(plan: Plan, study: optuna.Study) -> tuple[optuna.Trial, dict[str, Value], int] | None:
    """A trial to train, its settings and the claim on it: an interrupted trial, or else a new one; None: none left."""
    if not study.get_trials(deepcopy=False):
        study.enqueue_trial(dict(plan.first))
    there = study.get_trials(deepcopy=False)
    numbers = [trial.number for trial in there if not trial.state.is_finished()]
    for number in [*numbers, *([len(there)] if len(there) < plan.trials else [])]:
        claim = claimed(plan.folder, trial_name(number))
        if claim is None:
            continue
        seed = derived_seed(plan.seed, "trial", number) % 2**32  # numpy's RandomState takes 32 bits at most
        study.sampler = optuna.samplers.TPESampler(n_startup_trials=plan.startup, seed=seed)
        begun = number < len(there) and there[number].state == TrialState.RUNNING
        trial = optuna.Trial(study, there[number]._trial_id) if begun else study.ask()
        return trial, {each.key: each.suggest(trial) for each in plan.space}, claim
    return None


def train_trial(plan: Plan, study: optuna.Study, trial: optuna.Trial, chosen: Mapping[str, Value]) -> None:
    """Trains the trial with the `chosen` settings and tells the study how it ended."""
    name, number = trial_name(trial.number), trial.number
    try:
        trained(plan.folder / name, plan.config(chosen, name), plan.trust, partial(watch, plan, trial))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except NmtError as error:  # it diverged, or its vocabulary is too large for the corpus: other trials may succeed
        trial.set_user_attr(REASON, str(error))
        study.tell(trial, state=TrialState.FAIL)
        if number + 1 >= HOPELESS_TRIALS and all(t.state == TrialState.FAIL for t in study.get_trials(deepcopy=False)):
            raise
        print(f"{name}: {error}", file=sys.stderr)
    else:
        values = study.get_trials(deepcopy=False)[number].intermediate_values.values()
        study.tell(trial, max(values) if plan.metric == "bleu" else min(values))


def trained(folder: Path, config: RunConfig, trust: Sequence[str], watcher: Callable[[Progress], None]) -> None:
    """Trains a trial's run to its end; resumes it if it was interrupted."""
    begun = (folder / "manifest.json").exists()
    code = resume(folder, trust=trust, watch=watcher) if begun else start(config, trust=trust, watch=watcher)
    if code == SAVED:
        raise KeyboardInterrupt


def watch(plan: Plan, trial: optuna.Trial, progress: Progress) -> None:
    """Reports each new validation to the study; raises TrialPruned if the trial is worse than the others' median."""
    known = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    for step, validation in enumerate(progress.validations):
        if step not in known:
            trial.report(value_of(plan.metric, validation), step)
    if progress.validations and trial.should_prune():
        raise optuna.TrialPruned


def value_of(metric: Literal["bleu", "loss"], validation: Validation) -> float:
    """What a study compares: dev loss, or dev BLEU; where BLEU is no signal, minus the loss, below any BLEU."""
    bleu, minus_loss = validation.goodness(metric)
    return bleu or (minus_loss if metric == "bleu" else -minus_loss)


def value_text(metric: Literal["bleu", "loss"], value: float) -> str:
    """The value for people."""
    is_bleu = metric == "bleu" and value >= 0
    return f"dev BLEU {value:.2f}" if is_bleu else f"dev loss {abs(value):.4f}"


def drop_weights(plan: Plan, study: optuna.Study) -> None:
    """Deletes the weights of all ended trials except the best; their records stay."""
    complete = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    for trial in study.get_trials(deepcopy=False):
        folder = plan.folder / trial_name(trial.number)
        if trial.state.is_finished() and not (complete and trial.number == study.best_trial.number):
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
            (folder / "model.safetensors").unlink(missing_ok=True)


def report(plan: Plan, study: optuna.Study) -> None:
    """Prints the best trials and the command for the best settings, and saves a picture of what mattered."""
    complete = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if not complete:
        failed = [trial for trial in study.get_trials(deepcopy=False) if REASON in trial.user_attrs]
        if not failed:
            raise ConfigError(f"no trial of {plan.folder} has finished; type more trials=")
        last = f"{trial_name(failed[-1].number)}: {failed[-1].user_attrs[REASON]}"
        remedy = "change the words or the space, and the name="
        raise ConfigError(f"no trial of {plan.folder} has finished ({last}); {remedy}")
    sign = -1 if plan.metric == "bleu" else 1
    ranked = sorted(complete, key=lambda trial: (sign * (trial.value or 0.0), trial.number))
    for ending_of in (".png", ".svg"):
        save_figure(study_figure(study, plan.metric), plan.folder / f"study{ending_of}")
    for trial in ranked[:TRIALS_SHOWN]:
        print(f"{trial_name(trial.number)}  {ending(plan, trial)}  {settings_text(trial.params)}")
    best = ranked[0]
    own = [] if plan.config_dir is None else ["--config-dir", plan.config_dir]
    words = shlex.join([*own, *plan.words, *(word(key, value) for key, value in best.params.items())])
    print(f"\nnmt train {words}")
    print(f"nmt evaluate model={plan.folder / trial_name(best.number)}")
    print(f"what mattered: {plan.folder / 'study.png'}; every trial: {plan.folder / 'study.db'}", file=sys.stderr)


def trial_name(number: int) -> str:
    """The name of a trial's run."""
    return f"trial-{number:04d}"


def settings_text(chosen: Mapping[str, Value]) -> str:
    """The settings as words of a command line."""
    return " ".join(word(key, value) for key, value in chosen.items())


def ending(plan: Plan, trial: FrozenTrial) -> str:
    """How a trial ended, as text for the user."""
    if trial.state == TrialState.FAIL:
        return "failed"
    assert trial.value is not None
    reached = value_text(plan.metric, trial.value)
    if trial.state == TrialState.PRUNED:
        return f"pruned after {len(trial.intermediate_values)} validations, below the median ({reached})"
    return reached
