"""Are two files parallel? Long sentences have long translations: lengths that do not go together show shifted lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 200  # neighbouring pairs that are judged together
FEWEST = 50  # pairs that can be judged
TOGETHER = 0.25  # correlation of a block below which its sides do not go together: 0.07 is the deviation of chance
SPREAD = 0.25  # of the logarithms of a side's lengths: where all lengths are alike, they say nothing
SHARE = 0.5  # of the blocks that can be judged, from the first bad one on, which must be bad
FEWEST_BLOCKS = 3  # or all there are


@dataclass
class LengthAgreement:
    """How the lengths of both sides go together, block by block, in the order of the files."""

    correlations: list[float | None] = field(default_factory=list)  # of each block; None: it cannot be judged
    _waiting: list[tuple[int, int]] = field(default_factory=list)

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """The next pairs; those with an empty side say nothing."""
        self._waiting += [(len(src), len(tgt)) for src, tgt in zip(sources, targets, strict=True) if src and tgt]
        whole = len(self._waiting) // BLOCK * BLOCK
        for start in range(0, whole, BLOCK):
            self.correlations.append(correlation(np.array(self._waiting[start : start + BLOCK])))
        del self._waiting[:whole]

    def caution(self, name: str) -> str | None:
        """A warning where the two sides are most likely no translations, and from which pair on; None: all is well."""
        if not self.correlations and len(self._waiting) >= FEWEST:
            found = [correlation(np.array(self._waiting))]
        else:
            found = self.correlations
        judged = [(number, value) for number, value in enumerate(found) if value is not None]
        bad = [number for number, value in judged if value < TOGETHER]
        if len(bad) < min(FEWEST_BLOCKS, len(found)) or not bad:
            return None
        first = bad[0]
        after = [(number, value) for number, value in judged if number >= first]
        if len(bad) < SHARE * len(after):
            return None
        middle = float(np.median([value for _, value in after]))
        where = f"from about pair {first * BLOCK + 1:,} on, " if first else ""
        return (
            f"caution: {name} does not look parallel: {where}lengths of the two sides do not go together (correlation "
            f"{middle:.2f}; translations have 0.5 to 1); is line N of one file the translation of line N of the other?"
        )


def correlation(lengths: NDArray[np.integer[Any]]) -> float | None:
    """Of the logarithms of both sides' lengths [pairs, 2]; None: they are too much alike on a side to say anything."""
    logarithms = np.log1p(lengths)
    if logarithms.std(0).min() < SPREAD:
        return None
    return float(np.corrcoef(logarithms.T)[0, 1])
