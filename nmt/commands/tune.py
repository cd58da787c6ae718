"""`nmt tune`: searches for good settings."""

import sys

from nmt.config.identity import essence
from nmt.config.run import RunConfig
from nmt.machine.digests import digest
from nmt.machine.signals import SAVED
from nmt.runs.lock import hold_run
from nmt.training.parts import refuse_untrainable
from nmt.tune.plan import Plan
from nmt.tune.study import (
    done,
    one_trial,
    opened_study,
    report,
)


def main(plan: Plan, config: RunConfig) -> int:
    """Runs the trials that are missing and draws the picture; `config` is of one trial, with the first values."""
    refuse_untrainable(config)  # before the first trial
    plan.folder.mkdir(parents=True, exist_ok=True)
    with hold_run(plan.folder):
        study = opened_study(plan, digest([essence(config), [repr(each) for each in plan.space], plan.startup]))
        try:
            while (missing := plan.trials - done(study)) > 0:
                print(f"\n{missing} of {plan.trials} trials to go, in {plan.folder}", file=sys.stderr)
                one_trial(plan, study)
        except KeyboardInterrupt:
            print("stopped; the same words go on", file=sys.stderr)
            return SAVED
        report(plan, study)
    return 0
