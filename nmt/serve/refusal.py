"""What a client is told where a request cannot be answered."""


class Refusal(Exception):  # noqa: N818  # no fault of the server
    """Answered with this status and {"error": message}, and with Retry-After where waiting helps."""

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after_s = retry_after_s
