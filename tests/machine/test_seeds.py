"""Seeds: no two choices of any runs share one, and every machine derives the same."""

import json
import os
import random
import subprocess
import sys
from typing import Any, get_args

import pytest

from nmt.machine.seeds import RUNS_APART, Purpose, derived_seed, dropout_seed

PURPOSES = get_args(Purpose)


def choices(count: int) -> set[tuple[Any, ...]]:
    """Random ones, and for each its neighbours: next runs, updates and parts, by steps at which sums would meet."""
    chance = random.Random(1)
    found: set[tuple[Any, ...]] = set()
    for _ in range(count):
        run, update, part = chance.randrange(2**32), chance.randrange(2**40), chance.randrange(10_000)
        for purpose in PURPOSES:
            found |= {(run, purpose), (run, purpose, update), (run, purpose, update, part)}
            found |= {(run + 1, purpose, update, part), (run, purpose, update + 1_000_003, part)}
            found |= {(run, purpose, update + 1, part), (run, purpose, update, part + 500)}
            found |= {(run, purpose, update, part + 1000), (run, purpose, part, update), (update, purpose, run, part)}
            found |= {(run, purpose, update * 10 + 1, 2), (run, purpose, update, 12)}  # the same digits in a row
    return found


@pytest.mark.slow
def test_no_two_choices_share_a_seed() -> None:
    found = choices(2000)
    assert len(found) > 60_000
    seeds = {derived_seed(*choice) for choice in found}
    assert len(seeds) == len(found)
    assert min(seeds) >= 0
    assert max(seeds) < 2**64
    low = {seed % 2**32 for seed in seeds}  # what SentencePiece and torch's CPU generator keep
    assert len(low) >= len(found) - 10  # by chance 1 or 2 meet


DERIVING = """
import json, sys
from nmt.machine.seeds import derived_seed
print(json.dumps([derived_seed(*choice) for choice in json.load(sys.stdin)]))
"""


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_every_process_derives_the_same(hash_seed: str) -> None:
    listed = sorted(choices(20), key=str)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DERIVING]
    told = subprocess.run(
        command, input=json.dumps(listed), env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout) == [derived_seed(*choice) for choice in listed]


def test_no_two_parts_of_updates_share_their_dropout() -> None:
    chance = random.Random(1)
    updates = [chance.randrange(1, RUNS_APART) for _ in range(2000)]
    updates += [update + RUNS_APART for update in updates] + [1, RUNS_APART - 1, RUNS_APART, RUNS_APART + 1]
    choices = {(run, update, part) for run in (0, 1, 2, 7, 2**32 - 1) for update in updates for part in (0, 1, 2, 500)}
    assert len({dropout_seed(*choice) for choice in choices}) == len(choices)


def test_published_scores_keep_their_dropout() -> None:
    assert [dropout_seed(1, update, 0) for update in (1, 2, 1000)] == [1_000_004, 1_000_005, 1_001_003]
