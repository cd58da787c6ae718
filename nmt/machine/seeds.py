"""Seeds for the random choices of a run, each independent of all others."""

import hashlib
import json
from typing import Literal

Purpose = Literal["dropout", "source segmentation", "target segmentation", "trial"]


def derived_seed(run_seed: int, purpose: Purpose, *numbers: int) -> int:
    """A 64-bit seed that follows from these values alone, the same on every machine: BLAKE2b over their JSON.

    `numbers` say which choice it is of its purpose: the update, then the part of it. Different values meet with
    probability 2**-64; 2**-32 where the consumer keeps 32 bits, as SentencePiece and torch's CPU generator do.
    """
    text = json.dumps([purpose, run_seed, *numbers])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
