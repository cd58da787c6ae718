"""Several measurements of one thing in one cell."""

import statistics
from collections.abc import Sequence


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median, and from least to most where there are several."""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}} to {max(values):{form}})"
