"""Exceptions that end a request: it is refused, or its client is gone."""


class Refusal(Exception):  # noqa: N818 (an answer, and no fault)
    """A refused request: the HTTP status, and one clear sentence for the client."""

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after_s = retry_after_s


class Gone(Exception):  # noqa: N818
    """The client has hung up: there is nobody to answer."""
