"""Hashes of the sentence pairs that a model was trained on, so that an evaluation can tell if its pairs are among them.

runs/NAME/seen.bin has two hashes for each training pair, as unsigned 64-bit numbers, little-endian: one of its text,
and one of its letters and digits alone, in lower case. Among 10 million different pairs, two share a hash by chance in
one of 200,000 such files.
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
    """How many pairs of a test set are in the training data."""

    pairs: int
    exact: int
    normalised: int  # pairs that are there except for case, punctuation and spaces; includes `exact`


def hashes(sources: Iterable[str], targets: Iterable[str]) -> Hashes:
    """The two hashes of each pair, [pairs, 2]."""
    found = [(_pair_hash(s, t), _pair_hash(_letters(s), _letters(t))) for s, t in zip(sources, targets, strict=True)]
    return np.array(found, dtype="<u8").reshape(-1, 2)


def different_pairs(path: Path) -> int:
    """How many of the pairs in the file are different."""
    return len(np.unique(np.memmap(path, dtype="<u8", mode="r")[::2])) if path.stat().st_size else 0


def seen(path: Path, sources: Sequence[str], references: Sequence[Sequence[str]]) -> Seen:
    """Counts the test sentences that are in the file together with at least one of their references."""
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
    """The letters and digits of a text, in lower case; the text itself if it has none."""
    kept = "".join(c for c in normalize("NFKC", text).casefold() if c.isalnum())
    return kept or text


def _pair_hash(src: str, tgt: str) -> int:
    """A 64-bit hash of a pair. It covers the source's length, which tells where the target begins."""
    text = f"{len(src)}\t{src}{tgt}"
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
