"""Seeds for the random choices of a run, each independent of all others."""

import hashlib
import json
from typing import Literal

Purpose = Literal["dropout", "source segmentation", "target segmentation", "lower case", "trial", "samples of a file"]


RUNS_APART = 1_000_003  # distance between the dropout seeds of two runs with consecutive seeds


def dropout_seed(run_seed: int, update: int, part: int) -> int:
    """The dropout seed for a part of an update; parts count from 0.

    Part 0 has the formula of the published scores, as long as that formula gives no seed twice.
    """
    if part == 0 and update < RUNS_APART:
        return run_seed * RUNS_APART + update
    return derived_seed(run_seed, "dropout", update, part)


def derived_seed(run_seed: int, purpose: Purpose, *numbers: int) -> int:
    """A 64-bit seed that follows from these values alone, the same on every machine: BLAKE2b over their JSON.

    `numbers` tell the choices of one purpose apart: first the update, then its part. Different values give the same
    seed with probability 2**-64, or 2**-32 if the consumer keeps 32 bits (SentencePiece, torch's CPU generator).
    """
    text = json.dumps([purpose, run_seed, *numbers])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
