"""Who waits for a request's translations, and until when."""

from time import monotonic


class Ticket:
    """Work for a ticket that is gone is dropped, before the search or in the middle of it."""

    def __init__(self, timeout_s: float, deadline: float | None = None) -> None:
        """The deadline is by the monotonic clock; None: the time begins now."""
        self.deadline = monotonic() + timeout_s if deadline is None else deadline
        self.timeout_s = timeout_s
        self.hung_up = False

    def hang_up(self) -> None:
        """The client does not wait any more."""
        self.hung_up = True

    @property
    def gone(self) -> bool:
        """Does nobody wait?"""
        return self.hung_up or monotonic() > self.deadline

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - monotonic()
