"""Tells whether a client still waits for its translations, and until when."""

from time import monotonic


class Ticket:
    """The client of a request. Once it is gone, its work is dropped, even in the middle of a search."""

    def __init__(self, timeout_s: float, deadline: float | None = None) -> None:
        """`deadline` is a time of the monotonic clock; None is `timeout_s` from now."""
        self.deadline = monotonic() + timeout_s if deadline is None else deadline
        self.timeout_s = timeout_s
        self.hung_up = False

    def hang_up(self) -> None:
        """Notes that the client no longer waits."""
        self.hung_up = True

    @property
    def gone(self) -> bool:
        """Has the client hung up, or has the deadline passed?"""
        return self.hung_up or monotonic() > self.deadline

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - monotonic()
