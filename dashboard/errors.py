"""What can go wrong between a page and the API?"""

from __future__ import annotations


class ApiError(Exception):
    """A request that got no figures. Attributes: status: None where no answer came; field, value: at fault, where known."""

    def __init__(
        self, message: str, status: int | None = None, field: str | None = None, value: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.field, self.value = message, status, field, value


class Unreachable(ApiError):
    """Nothing answers at the API's address, or it took too long."""


class SignedOut(ApiError):
    """The key or token is not good (any more)."""


class NotAllowed(ApiError):
    """The scope does not reach it."""


class NotThere(ApiError):
    """No such thing for this tenant."""


class Refused(ApiError):
    """What was asked can't be used; `field` and `value` say what."""


class BusyNow(ApiError):
    """Too much in hand, or the database is away: the same may work in a moment."""


class Cancelled(ApiError):
    """The reader stopped waiting."""
