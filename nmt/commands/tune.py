"""`nmt tune`: searches for good settings."""

import sys
import time

from nmt.config.identity import essence
from nmt.config.run import RunConfig
from nmt.errors import counted
from nmt.machine.claims import has_locks
from nmt.machine.digests import digest
from nmt.machine.safe_files import make_folder
from nmt.machine.signals import SAVED
from nmt.training.untrainable import refuse_untrainable
from nmt.tune.claims import alone_at
from nmt.tune.plan import Plan
from nmt.tune.study import (
    done,
    one_trial,
    opened_study,
    report,
)


def main(plan: Plan, config: RunConfig) -> int:
    """Runs the missing trials and draws the picture; `config` is that of the first trial."""
    refuse_untrainable(config)  # before the first trial
    make_folder(plan.folder)
    if not has_locks(plan.folder):
        print(
            f"note: {plan.folder} is on a file system without locks: do not start a second process for it",
            file=sys.stderr,
        )
    start = time.monotonic()
    made_of = digest([essence(config), [repr(each) for each in plan.space], plan.startup])
    with alone_at(plan.folder):
        study = opened_study(plan, made_of)
    out_of_time = False
    try:
        while not out_of_time and one_trial(plan, study):
            out_of_time = plan.time_limit_s is not None and time.monotonic() - start >= plan.time_limit_s
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return SAVED
    missing = plan.trials - done(study)
    if out_of_time and missing > 0:
        print(f"\ntime_limit is over after {counted(done(study), 'trial')} of {plan.trials}", file=sys.stderr)
    elif missing > 0:
        print(f"other processes run the last {counted(missing, 'trial')} of {plan.trials}", file=sys.stderr)
        return 0
    with alone_at(plan.folder):
        report(plan, study)
    return 0
