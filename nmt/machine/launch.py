"""Facts about this process: when it started, its cores, and the processes that train with it.

Imports nothing heavy.
"""

import os
import time

from nmt.errors import ConfigError

began = time.monotonic()  # every command imports this module first


def begin_anew() -> None:
    """Lets the time of a command begin now: that of the next job of a sweep."""
    global began
    began = time.monotonic()


def since_start_s() -> float:
    """Seconds since the command began, or this job of a sweep."""
    return time.monotonic() - began


def cores() -> int:
    """How many cores of this machine the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes() -> int:
    """How many processes train together, this one included; torchrun sets WORLD_SIZE."""
    return number("WORLD_SIZE", 1)


def quiet_torch() -> None:
    """Keeps torch from printing frames of C++ where a process is lost. Call it before torch is imported."""
    if processes() > 1:
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def machines() -> int:
    """How many machines run these processes."""
    return max(1, processes() // number("LOCAL_WORLD_SIZE", processes()))


def refuse_several(what: str) -> None:
    """Refuses a command that needs a single process if several were started."""
    if processes() > 1:
        raise ConfigError(f"WORLD_SIZE={processes()}, but {what} is one process; start it without torchrun")


def number(name: str, otherwise: int, least: int = 1) -> int:
    """The number in an environment variable; `otherwise` if it is not set."""
    text = os.environ.get(name, str(otherwise))
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(
            f"{name}={text} is not a whole number from {least}; torchrun sets it, so unset it without torchrun"
        )
    return int(text)
