"""Which sentence pairs a model was trained on, as 64-bit hashes, so that an evaluation can tell when it asks for them.

runs/NAME/seen.bin: two unsigned 64-bit numbers, little-endian, for each training pair: of its text, and of its letters
and digits alone, in lower case. Two different pairs of 10 million share one by chance once in 200,000 such files.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nmt.data.text import normalize
from nmt.errors import CheckpointError

HASHES_FILE = "seen.bin"
CHUNK_PAIRS = 1 << 20  # pairs compared at a time
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Seen:
    """How many pairs of a test set stand in the training data."""

    pairs: int
    exact: int
    normalised: int  # but for case, punctuation and spaces; those of `exact` among them


def hashes(sources: Iterable[str], targets: Iterable[str]) -> Hashes:
    """[pairs, 2]"""
    found = [(_pair_hash(s, t), _pair_hash(_letters(s), _letters(t))) for s, t in zip(sources, targets, strict=True)]
    return np.array(found, dtype="<u8").reshape(-1, 2)


def seen(path: Path, sources: Sequence[str], references: Sequence[Sequence[str]]) -> Seen:
    """Counts the pairs of a source with any of its references that the file knows."""
    try:
        known = (
            np.memmap(path, dtype="<u8", mode="r").reshape(-1, 2) if path.stat().st_size else np.empty((0, 2), "<u8")
        )
    except (OSError, ValueError):
        raise CheckpointError(f"{path} is damaged; restore it from a copy") from None
    wanted = np.stack([hashes(sources, reference) for reference in references])  # [references, pairs, 2]
    there = np.zeros(wanted.shape, np.bool_)
    for start in range(0, len(known), CHUNK_PAIRS):
        part = known[start : start + CHUNK_PAIRS]
        for column in (0, 1):
            there[..., column] |= np.isin(wanted[..., column], part[:, column])
    exact, normalised = there.any(0).sum(0)
    return Seen(len(sources), int(exact), int(normalised))


def _letters(text: str) -> str:
    """Letters and digits in lower case; of a text without any, the text."""
    kept = "".join(c for c in normalize("NFKC", text).casefold() if c.isalnum())
    return kept or text


def _pair_hash(src: str, tgt: str) -> int:
    """The source's length says where the target begins, whatever characters they have."""
    text = f"{len(src)}\t{src}{tgt}"
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
