"""The counter and the clock in every measured process; the standard library alone, for the peers' environments."""

import json
import os
import platform
import resource
import time
from pathlib import Path

MARK = "MEASURED "  # begins the line that a measured process prints


class Enough(BaseException):
    """Ends a training from within; no handler of a toolkit's own mistakes catches it."""


class Usage:
    """What other processes take of the machine from now on."""

    def __init__(self) -> None:
        self.start = self.now()

    def others(self) -> float:
        """Their share of all cores' time so far; 0 where there is no /proc."""
        wall, busy, own = (now - before for now, before in zip(self.now(), self.start, strict=True))
        return max(0.0, (busy - own) / (wall * (os.cpu_count() or 1)))

    @staticmethod
    def now() -> tuple[float, float, float]:
        """Seconds: on the wall, of work of all cores, of our own work."""
        own = sum(os.times()[:4])
        stat, busy = Path("/proc/stat"), own
        if stat.exists():
            user, nice, system, _, _, *rest = map(int, stat.read_text().split(maxsplit=9)[1:9])
            busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy, own


class Meter:
    """Real target tokens per second of a training loop, between the beginnings of two updates."""

    def __init__(self, seconds: float, warm_up: int) -> None:
        self.seconds = seconds
        self.warm_up = warm_up  # updates before the clock starts
        self.updates = -1
        self.figures: dict[str, float] = {}

    def update(self, tokens: int) -> None:
        """To be called as an update begins; `tokens`: all that the updates before it have learned from."""
        self.updates += 1
        if self.updates < self.warm_up:
            return
        now = time.perf_counter()
        if self.updates == self.warm_up:
            self.start, self.first, self.usage = now, tokens, Usage()
        elif now - self.start >= self.seconds:
            self.figures = {
                "tokens_per_s": (tokens - self.first) / (now - self.start),
                "updates": self.updates - self.warm_up,
                "others": self.usage.others(),
            }
            raise Enough


class Census:
    """What a toolkit reads in one epoch: it must be what was written for it."""

    def __init__(self, sentences: int) -> None:
        self.sentences = sentences
        self.figures = {"sentences": 0, "tokens": 0, "unknown": 0}

    def batch(self, sentences: int, tokens: int, unknown: int) -> None:
        """Adds a batch; after the last one of the epoch ends the training."""
        for key, number in (("sentences", sentences), ("tokens", tokens), ("unknown", unknown)):
            self.figures[key] += number
        if self.figures["sentences"] >= self.sentences:
            raise Enough


class Clock:
    """Time inside a block, and what others used of the machine meanwhile."""

    def __enter__(self) -> "Clock":
        self.usage, self.start = Usage(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.figures = {"seconds": time.perf_counter() - self.start, "others": self.usage.others()}


def report(figures: dict[str, float], threads: int) -> None:
    """Prints what was measured, and the most resident memory that this process has had (MB of 1e6 bytes)."""
    unit = 1 if platform.system() == "Darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(MARK + json.dumps({**figures, "threads": threads, "peak_memory_mb": peak}), flush=True)
