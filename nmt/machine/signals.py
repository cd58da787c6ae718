"""Ctrl-C and SIGTERM while a run trains: the first asks for an orderly end, the second ends at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAVED = 75  # exit code of a run that was stopped and saved: try again later (EX_TEMPFAIL of sysexits.h)


class Interrupted(Exception):  # noqa: N818 (nothing is wrong)
    """The user asked the run to stop (Ctrl-C or SIGTERM)."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Inside the block, SIGTERM ends Python in order, so that temporary files are deleted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class StopRequest:
    """Inside the `with` block, the first signal is only noted; the second raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.made = False
        self._before: dict[int, signal.Handlers | int | None] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():  # Python allows no other thread to do this
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.made:
            raise KeyboardInterrupt
        self.made = True

    def check(self) -> None:
        """Raises `Interrupted` once the user has asked the run to stop."""
        if self.made:
            raise Interrupted
