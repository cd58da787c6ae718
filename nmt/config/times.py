"""Durations as they are typed."""

import re
from math import inf

from nmt.errors import ConfigError


def seconds_of(key: str, typed: str | int | float) -> float:
    """The seconds of a duration such as 30m, 2h, 1h30m or 90s, typed for `key`; refuses a number without a unit."""
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", str(typed))
    hours, minutes, seconds = (float(each or 0) for each in found.groups()) if found else (0.0, 0.0, 0.0)
    total = 3600 * hours + 60 * minutes + seconds
    if not 0 < total < inf:
        raise ConfigError(f"{key}={typed} is not a length of time; give one such as 30m, 2h, 1h30m or 90s")
    return total
