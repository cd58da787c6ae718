"""What this process was given when it was started: cores, and others that train with it; and when that was.

Imports nothing heavy.
"""

import os
import time

from nmt.errors import ConfigError

BEGAN = time.monotonic()  # a command imports this first


def since_start_s() -> float:
    """Seconds since the command began."""
    return time.monotonic() - BEGAN


def cores() -> int:
    """Of this machine, as far as this process may use them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes() -> int:
    """How many train together, this one included; torchrun says so in WORLD_SIZE."""
    return _number("WORLD_SIZE", 1)


def machines() -> int:
    """On how many machines they are."""
    return max(1, processes() // _number("LOCAL_WORLD_SIZE", processes()))


def refuse_several(what: str) -> None:
    """Refuses what one process does alone where several were started."""
    if processes() > 1:
        raise ConfigError(f"WORLD_SIZE={processes()}, but {what} is one process; start it without torchrun")


def _number(name: str, otherwise: int) -> int:
    """A variable's value."""
    text = os.environ.get(name, str(otherwise))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{name}={text} is no number of processes; torchrun sets it, otherwise unset it")
    return int(text)
