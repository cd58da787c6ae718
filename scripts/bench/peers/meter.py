"""The counter and the clock in every measured process; the standard library alone, for the peers' environments."""

import json
import time

from bench.usage import Usage, peak_memory_mb

MARK = "MEASURED "  # begins the line that a measured process prints


class Enough(BaseException):
    """Ends a training from within; no handler of a toolkit's own mistakes catches it."""


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
                "others": self.usage.end().others,
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


class Clock(Usage):
    """Time inside a block, and what others used of the machine meanwhile."""

    @property
    def figures(self) -> dict[str, float]:
        """When the block has ended."""
        return {"seconds": self.wall_s, "others": self.others}


def report(figures: dict[str, float], threads: int) -> None:
    """Prints what was measured, and the most resident memory that this process has had."""
    print(MARK + json.dumps({**figures, "threads": threads, "peak_memory_mb": peak_memory_mb()}), flush=True)
