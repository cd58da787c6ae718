"""Seeds for the random choices of a run, each independent of all others."""

import hashlib
import json
from typing import Literal

Purpose = Literal["dropout", "source segmentation", "target segmentation", "lower case", "trial", "samples of a file"]


RUNS_APART = 1_000_003  # the dropout seeds of two runs are so far apart


def dropout_seed(run_seed: int, update: int, part: int) -> int:
    """The seed of the dropout of a part of an update, from 0.

    Of part 0 by the formula of the published scores as far as no two of its seeds meet.
    """
    if part == 0 and update < RUNS_APART:
        return run_seed * RUNS_APART + update
    return derived_seed(run_seed, "dropout", update, part)


def derived_seed(run_seed: int, purpose: Purpose, *numbers: int) -> int:
    """A 64-bit seed that follows from these values alone, the same on every machine: BLAKE2b over their JSON.

    `numbers` say which choice it is of its purpose: the update, then the part of it. Different values meet with
    probability 2**-64; 2**-32 where the consumer keeps 32 bits, as SentencePiece and torch's CPU generator do.
    """
    text = json.dumps([purpose, run_seed, *numbers])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
